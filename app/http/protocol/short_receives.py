"""`GET /messages` by the short way: the messages that are there, and those that come while it waits."""

from functools import partial

from app.http.answers.receive import RECEIVE_TYPES, received_steps
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CallerRefusal, refusal_of
from app.http.exchange.caller_standing import RequestStanding
from app.http.exchange.http_services import HttpServices
from app.http.exchange.responses import BytesResponse
from app.http.parsing.accept import chosen_type
from app.http.parsing.receive import parse_receive
from app.http.protocol.answer_watch import AnswerWatch
from app.http.protocol.request_head import RequestHead
from app.http.protocol.short_calls import CallRoute, ShortCalls
from app.http.protocol.short_exchange import ShortExchange, ShortOutcome
from app.http.protocol.short_way import ASK_FOR_MORE, Answer, ShortRequest
from cluster.errors import ServerError

_BRINGS_A_BODY = b"content-length"


class ShortReceives:
    """`app.http.protocol.short_way.ShortWay`."""

    def __init__(self, services: HttpServices, calls: ShortCalls, route: CallRoute) -> None:
        self._services = services
        self._calls = calls
        self._route = route

    def takes(self, head: RequestHead) -> ShortRequest | CallerRefusal | None:
        if _BRINGS_A_BODY in head.by_name or not ASK_FOR_MORE.isdisjoint(head.by_name):
            return None
        callers = self._services.callers
        try:
            principal = callers.of(head.authorization, head.connection.certificate)
        except ServerError as error:
            return refusal_of(error)
        return ShortRequest(self._services.bytes_in_flight.hold(principal), partial(self._begin, head))

    def _begin(self, head: RequestHead, body: bytes, hold: Hold, answer: Answer) -> bool:
        return self._calls.begin(ShortExchange(head, body, hold, answer), self._route, self._received)

    async def _received(self, exchange: ShortExchange) -> ShortOutcome:
        services = self._services
        accept = exchange.head.by_name.get(b"accept")
        media_type = chosen_type(None if accept is None else accept.decode("latin-1"), RECEIVE_TYPES)
        command = parse_receive(exchange.head.query)
        watch = AnswerWatch(exchange.answer, services.gateway.shutdown, partial(self._standing_of, exchange))
        received = await services.receive.receive(command, exchange.principal, watch)
        body, headers = await services.turns.take(received_steps(received, media_type))
        response = BytesResponse(body, 200, headers, media_type)
        return ShortOutcome(response, partial(services.receive.release, received))

    def _standing_of(self, exchange: ShortExchange) -> RequestStanding:
        head, callers = exchange.head, self._services.callers
        judged = partial(callers.of, head.authorization, head.connection.certificate)
        return RequestStanding(judged, callers, first=exchange.principal)
