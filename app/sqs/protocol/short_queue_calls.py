"""The hot calls of SQS's newer protocol by the short way: messages are sent, received, deleted and hidden.

They are encoders before the same calls as the front door's. What is not taken is left to the door: who is not let in,
what is signed in the URL, what goes by the older protocol, and whatever is traced.
"""

from functools import partial
from typing import Any

import msgspec

from app.auth.principal import ANYONE, Principal
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_standing import RequestStanding
from app.http.exchange.http_services import HttpServices
from app.http.exchange.responses import BytesResponse
from app.http.protocol.answer_watch import AnswerWatch
from app.http.protocol.request_head import RequestHead
from app.http.protocol.short_calls import CallRoute, ShortCalls
from app.http.protocol.short_exchange import ShortExchange, ShortOutcome
from app.http.protocol.short_way import ASK_FOR_MORE, Answer, ShortRequest, length_of
from app.sqs.calls.call_table import HANDLERS, RECEIVE
from app.sqs.calls.receive_call import receive_message, received_result
from app.sqs.calls.sqs_services import CallContext, SqsServices
from app.sqs.protocol.body_sizes import body_bytes_max_of
from app.sqs.protocol.dialect import JSON_TYPE, REQUEST_ID, JsonDialect
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.input_faults import missing
from app.sqs.protocol.json_input import TARGET_PREFIX, parse_json
from app.sqs.protocol.request_id import new_request_id
from app.sqs.protocol.request_trace import TRACE_NAMES
from app.sqs.protocol.single_queue_sends import METHOD, SEND, SingleQueueSends
from app.sqs.protocol.sqs_audit import OK, SqsAudit
from app.sqs.protocol.sqs_callers_port import CallerClaim, CallerClaims
from app.sqs.protocol.sqs_request import TARGET, base_url_of
from app.sqs.protocol.sqs_route import ROUTES, unwatched
from app.sqs.sqs_error import SqsError
from cluster.errors import ServerError
from cluster.model.sqs_queue import group_name_of

ROOT = b"/"
"""The path that it is for."""
HOT_CALLS = (
    SEND,
    "SendMessageBatch",
    RECEIVE,
    "DeleteMessage",
    "DeleteMessageBatch",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
)
"""None of them is an administrative act, which the audit log would have to know of before it is done."""
_TARGET = TARGET.encode()
_ASK_FOR_MORE = ASK_FOR_MORE | TRACE_NAMES
_encode = msgspec.json.Encoder().encode


class ShortQueueCalls:
    """`app.http.protocol.short_way.ShortWay`, for POSTs to the root."""

    def __init__(
        self, http: HttpServices, services: SqsServices, claims: CallerClaims, single_sends: SingleQueueSends
    ) -> None:
        self._http = http
        self._claims = claims
        calls = ShortCalls(http, unwatched)
        self._by_target = {
            f"{TARGET_PREFIX}{operation}".encode(): _HotCall(operation, http, services, calls, single_sends)
            for operation in HOT_CALLS
        }

    def takes(self, head: RequestHead) -> ShortRequest | None:
        by_name = head.by_name
        call = self._by_target.get(by_name.get(_TARGET, b""))
        if call is None or head.query or len(by_name) < len(head.headers):
            return None
        if length_of(by_name, bytes_max=call.body_bytes_max) is None or not _ASK_FOR_MORE.isdisjoint(by_name):
            return None
        try:
            claim = self._claims.claim_of(METHOD, ROOT, b"", head.headers, certificate=head.connection.certificate)
        except SqsError:
            return None
        return ShortRequest(self._http.bytes_in_flight.hold(ANYONE), partial(call.begin, head, claim))


class _HotCall:
    """One of the operations."""

    def __init__(
        self,
        operation: str,
        http: HttpServices,
        services: SqsServices,
        calls: ShortCalls,
        single_sends: SingleQueueSends,
    ) -> None:
        self.body_bytes_max = body_bytes_max_of(operation)
        self._operation = operation
        self._http = http
        self._services = services
        self._calls = calls
        self._single_sends = single_sends if operation == SEND else None
        self._audit = SqsAudit(http)
        self._dialect = JsonDialect(f"{TARGET_PREFIX}{operation}")
        self._route = CallRoute(METHOD, ROUTES[operation].path, ROUTES[operation])

    def begin(self, head: RequestHead, claim: CallerClaim, body: bytes, arriving: Hold, answer: Answer) -> bool:
        try:
            hold = self._held(claim(body), body, arriving)
        except (SqsError, ServerError):
            return False
        if self._single_sends is not None and self._single_sends.begin(body, hold, answer):
            return True
        exchange = ShortExchange(head, body, hold, answer)
        request_id = new_request_id(self._http.gateway.entropy)
        do = partial(self._received, claim) if self._operation == RECEIVE else self._done
        return self._calls.begin(exchange, self._route, partial(do, request_id), partial(self._failed, request_id))

    def _held(self, principal: Principal, body: bytes, arriving: Hold) -> Hold:
        """From here on it is known whose they are. Raises ServerError."""
        if principal is ANYONE:
            return arriving
        arriving.release()
        hold = self._http.bytes_in_flight.hold(principal)
        hold.take_whole(len(body))
        return hold

    async def _done(self, request_id: str, exchange: ShortExchange) -> ShortOutcome:
        """Raises SqsError, ServerError."""
        asked, context = self._asked(exchange)
        result = await HANDLERS[self._operation](asked, context)
        failed = getattr(result, "failed", None)
        if failed:
            self._audit.refused_in_part(exchange.scope_of(self._route.route), exchange.principal, failed)
        return ShortOutcome(_response(b"{}" if result is None else _encode(result), request_id))

    async def _received(self, claim: CallerClaim, request_id: str, exchange: ShortExchange) -> ShortOutcome:
        """Raises SqsError, ServerError."""
        asked, context = self._asked(exchange)

        def standing() -> RequestStanding:
            judged = partial(claim, exchange.body)
            return RequestStanding(judged, self._http.callers, first=exchange.principal, refusals=(SqsError,))

        watch = AnswerWatch(exchange.answer, self._http.gateway.shutdown, standing)
        received = await receive_message(asked, context, watch)
        return ShortOutcome(_response(_encode(received_result(received)), request_id), received.release)

    def _asked(self, exchange: ShortExchange) -> tuple[Any, CallContext]:
        """The call's input. Raises SqsError."""
        head = exchange.head
        asked: Any = parse_json(self._operation, exchange.body)
        if asked.queue_url is None:
            raise missing("QueueUrl")
        host = head.by_name.get(b"host")
        base_url = base_url_of(
            head.connection.scheme, head.connection.server, None if host is None else host.decode("latin-1")
        )
        context = CallContext(exchange.principal, base_url, self._services)
        name = context.named(asked.queue_url)
        exchange.about = {"topic": name, "group": group_name_of(name)}
        return asked, context

    def _failed(self, request_id: str, exchange: ShortExchange, error: Exception) -> BytesResponse:
        failure = sqs_error_of(error)
        self._audit.refused(exchange.scope_of(self._route.route), exchange.principal, failure)
        return self._dialect.failure(failure, request_id)


def _response(body: bytes, request_id: str) -> BytesResponse:
    return BytesResponse(body, OK, {REQUEST_ID: request_id}, JSON_TYPE)
