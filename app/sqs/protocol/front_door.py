"""SQS on the gateway's port: from a request to a call, and from its result to the answer."""

from collections.abc import Mapping
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.http.answers.receive import LeasedResponse
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_standing import RequestStanding
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.observation import ObservedApplication
from app.http.exchange.request import RequestHeaders
from app.http.exchange.request_body import drop_rest, read_sent_body, unpacked
from app.http.exchange.responses import BytesResponse
from app.http.protocol.short_way import ShortWays
from app.sqs.calls.call_table import HANDLERS, RECEIVE
from app.sqs.calls.receive_call import receive_message, received_result
from app.sqs.calls.sqs_services import CallContext, SqsServices
from app.sqs.protocol.body_sizes import BODY_BYTES_MAX, body_bytes_max_of
from app.sqs.protocol.dialect import REQUEST_ID, AskedCall, Dialect, dialect_of
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.input_faults import missing
from app.sqs.protocol.request_id import new_request_id
from app.sqs.protocol.request_trace import request_trace_of
from app.sqs.protocol.sqs_audit import OK, SqsAudit
from app.sqs.protocol.sqs_callers_port import CallerClaims
from app.sqs.protocol.sqs_request import TARGET, base_url_of, is_of_sqs, queue_url_of_path
from app.sqs.protocol.sqs_route import ROUTES, UNKNOWN, unwatched
from app.sqs.protocol.sqs_tracing import Do, SqsTracing
from app.sqs.shapes import ReceiveMessageInput
from app.sqs.signature.refused_sqs_caller import RefusedSqsCallerError
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.sqs_queue import group_name_of


class SqsFrontDoor:
    """`app.http.protocol.front_doors.FrontDoor`. `short_ways` are encoders before the same calls."""

    def __init__(
        self,
        http: HttpServices,
        calls: SqsServices,
        claims: CallerClaims,
        short_ways: ShortWays | None = None,
    ) -> None:
        self.short_ways = short_ways or {}
        self._http = http
        self._calls = calls
        self._claims = claims
        self._audit = SqsAudit(http)
        tracer = http.gateway.tracer
        self._tracing = None if tracer is None else SqsTracing(tracer)
        self._observed = ObservedApplication(self._serve, metrics=http.metrics, on_refused=unwatched)

    def takes(self, scope: Scope) -> bool:
        return is_of_sqs(scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = UNKNOWN
        await self._observed(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(scope, receive, self._http)
        response: Response
        try:
            response = await self._answer(exchange)
        except Exception as error:
            failure = sqs_error_of(error)
            who = failure.principal if isinstance(failure, RefusedSqsCallerError) else exchange.principal
            self._audit.refused(scope, who, failure)
            response = exchange.dialect.failure(failure, exchange.request_id)
            del failure  # with its frames it holds the body, and this frame would hold it: nobody would let either go
        await response(scope, receive, send)

    async def _answer(self, exchange: "_Exchange") -> Response:
        scope = exchange.scope
        operation = exchange.dialect.operation_of()
        if operation is not None:
            scope["route"] = ROUTES[operation]
        claim = self._claims.claim_of(
            scope["method"],
            scope.get("raw_path") or scope["path"].encode(),
            scope["query_string"],
            scope["headers"],
            certificate=exchange.headers.certificate,
        )
        with self._http.bytes_in_flight.hold(ANYONE) as arriving:
            sent = await self._sent_body_of(exchange, arriving)
            standing = RequestStanding(partial(claim, sent), self._http.callers, refusals=(SqsError,))
            exchange.principal = standing.principal
            hold = self._http.bytes_in_flight.hold(standing.principal)
            arriving.release()  # from here on it is known whose they are
            with hold:
                hold.take_whole(len(sent))
                body = await unpacked(sent, exchange.headers, hold, self._http.turns, bytes_max=BODY_BYTES_MAX)
                asked = await exchange.asked(body)
                _check_size(asked.operation, body)
                self._refuse_links(exchange, asked)
                do = self._received if asked.operation == RECEIVE else self._done
                return await self._traced(exchange, asked, partial(do, exchange, asked, standing))

    async def _traced(self, exchange: "_Exchange", asked: AskedCall, do: Do) -> Response:
        trace = request_trace_of(exchange.scope["headers"])
        if self._tracing is None:
            return await do(trace)
        return await self._tracing.recorded(exchange.scope, asked.operation, trace, do)

    async def _sent_body_of(self, exchange: "_Exchange", hold: Hold) -> bytes:
        """Raises ServerError."""
        request, headers, timeout_ms = exchange.request, exchange.headers, self._http.settings.body_timeout_ms
        try:
            return await read_sent_body(request, headers, hold, timeout_ms=timeout_ms, bytes_max=BODY_BYTES_MAX)
        except ServerError as error:
            if error.code is ProblemCode.REQUEST_TOO_LARGE:
                await drop_rest(request, headers, timeout_ms=timeout_ms)
            raise

    def _context(
        self, exchange: "_Exchange", asked: AskedCall, principal: Principal, trace: Mapping[str, str]
    ) -> CallContext:
        """Raises SqsError of a queue's URL that is none."""
        context = CallContext(principal, exchange.base_url, self._calls, trace)
        name = getattr(asked.input, "queue_name", None)
        url = getattr(asked.input, "queue_url", None)
        if url is not None:
            name = context.named(url)
        if name is not None:
            # What the audit log says that it is done to.
            exchange.scope["path_params"] = {"topic": name, "group": group_name_of(name)}
        return context

    def _refuse_links(self, exchange: "_Exchange", asked: AskedCall) -> None:
        """A page of any site may show a picture whose address is such a call, and its browser says nothing of the page:
        where nobody is asked who they are, addresses change nothing. Raises SqsError UNSUPPORTED_OPERATION."""
        if (
            exchange.scope["method"] == "GET"
            and self._http.callers.asks_nobody
            and not ROUTES[asked.operation].only_looks
        ):
            detail = "A server that asks nobody for a signature takes this call by POST only."
            raise SqsError(SqsErrorCode.UNSUPPORTED_OPERATION, detail)

    async def _done(
        self, exchange: "_Exchange", asked: AskedCall, standing: RequestStanding, trace: Mapping[str, str]
    ) -> Response:
        context = self._context(exchange, asked, standing.principal, trace)
        route = ROUTES[asked.operation]
        do = partial(HANDLERS[asked.operation], asked.input, context)
        result = await self._audit.done(exchange.scope, route, context.principal, asked.input, do)
        self._audit.refused_in_part(exchange.scope, context.principal, getattr(result, "failed", None) or ())
        body = await exchange.dialect.answer(asked.operation, result, exchange.request_id)
        return BytesResponse(body, OK, {REQUEST_ID: exchange.request_id}, exchange.dialect.media_type)

    async def _received(
        self, exchange: "_Exchange", asked: AskedCall, standing: RequestStanding, trace: Mapping[str, str]
    ) -> Response:
        """Its messages are leased: if the answer cannot be written, the leases go back."""
        assert isinstance(asked.input, ReceiveMessageInput)
        context = self._context(exchange, asked, standing.principal, trace)
        async with ClientWatch(exchange.request.receive, self._http.gateway.shutdown, standing) as watch:
            received = await receive_message(asked.input, context, watch)
            result = received_result(received)
            body = await exchange.dialect.answer(asked.operation, result, exchange.request_id)
            return LeasedResponse(
                body,
                exchange.dialect.media_type,
                {REQUEST_ID: exchange.request_id},
                watch=watch.hand_over(),
                release=received.release,
                write_timeout_ms=self._http.settings.write_timeout_ms,
            )


def _check_size(operation: str, body: bytes) -> None:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    most = body_bytes_max_of(operation)
    if len(body) > most:
        detail = f"The request has {len(body)} bytes. Calls that send no messages have {most} at most."
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)


class _Exchange:
    """One request, as far as it is known: whose it is only after a while."""

    def __init__(self, scope: Scope, receive: Receive, http: HttpServices) -> None:
        self.scope = scope
        self.request = Request(scope, receive)
        self.headers = RequestHeaders(self.request)
        self.dialect: Dialect = dialect_of(self.headers.get(TARGET.encode()), http.turns)
        self.request_id = new_request_id(http.gateway.entropy)
        self.base_url = base_url_of(scope["scheme"], scope.get("server"), self.headers.get(b"host"))
        self.principal: Principal | None = None

    async def asked(self, body: bytes) -> AskedCall:
        """With the queue that the path names, where nothing else does. Raises SqsError."""
        asked = await self.dialect.asked(self.scope["query_string"], body)
        self.scope["route"] = ROUTES[asked.operation]
        if getattr(asked.input, "queue_url", "") is None:
            url = queue_url_of_path(self.scope, self.base_url)
            if url is None:
                raise missing("QueueUrl")
            asked = AskedCall(asked.operation, msgspec.structs.replace(asked.input, queue_url=url))
        return asked
