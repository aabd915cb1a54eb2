"""`POST /messages` by the short way: one message, or a batch of them as JSON."""

from functools import partial

from acklog.wire.limits import REQUEST_BODY_BYTES_MAX
from app.http.answers.send import send_response
from app.http.audit.refusal_watch import RefusalWatch
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CallerRefusal, refusal_of
from app.http.exchange.http_services import HttpServices
from app.http.parsing.send import send_steps
from app.http.protocol.request_head import RequestHead
from app.http.protocol.short_calls import CallRoute, ShortCalls
from app.http.protocol.short_exchange import ShortExchange, ShortOutcome
from app.http.protocol.short_way import ASK_FOR_MORE, Answer, ShortRequest, length_of
from app.http.protocol.single_sends import SingleSends
from cluster.errors import ServerError
from cluster.model.action import Action

_CONTENT_TYPES = frozenset(
    {
        b"",
        b"application/json",
        b"application/json; charset=utf-8",
        b"application/json;charset=utf-8",
        b"application/x-www-form-urlencoded",
    }
)
_ASK_FOR_MORE = ASK_FOR_MORE | {
    b"idempotency-key",
    b"producer-id",
    b"producer-epoch",
    b"producer-sequence",
    b"traceparent",
    b"tracestate",
}


class ShortSends:
    """`app.http.protocol.short_way.ShortWay`. Who may not send is told so by the application, which does not wait for
    the body either."""

    def __init__(self, services: HttpServices, calls: ShortCalls, route: CallRoute, singles: SingleSends) -> None:
        self._services = services
        self._calls = calls
        self._route = route
        self._singles = singles
        self._watch = RefusalWatch(services)

    def takes(self, head: RequestHead) -> ShortRequest | CallerRefusal | None:
        by_name = head.by_name
        if head.query or length_of(by_name, bytes_max=REQUEST_BODY_BYTES_MAX) is None:
            return None
        if by_name.get(b"content-type", b"").lower() not in _CONTENT_TYPES or not _ASK_FOR_MORE.isdisjoint(by_name):
            return None
        try:
            principal = self._services.callers.of(head.authorization, head.connection.certificate)
        except ServerError as error:
            return refusal_of(error)
        if not principal.may_somewhere(Action.SEND):
            return None
        return ShortRequest(self._services.bytes_in_flight.hold(principal), partial(self._begin, head))

    def _begin(self, head: RequestHead, body: bytes, hold: Hold, answer: Answer) -> bool:
        if self._singles.begin(body, hold, answer):
            return True
        return self._calls.begin(ShortExchange(head, body, hold, answer), self._route, self._sent)

    async def _sent(self, exchange: ShortExchange) -> ShortOutcome:
        services = self._services
        content_type = exchange.head.by_name.get(b"content-type", b"").decode("latin-1")
        steps = send_steps(exchange.body, content_type=content_type, query_string=b"")
        produce = await services.turns.take(steps)
        exchange.about = {"queue": produce.queue}
        sent = await services.send.send(produce, exchange.principal)
        if sent.faults:
            self._watch.sent_in_part(exchange.scope_of(self._route.route), sent)
        return ShortOutcome(send_response(sent))
