"""`SendMessage` of the newer protocol without a task, a scope and a response object for each: as plain sends go.

It is an encoder before the same calls as the front door's. What it does not take, and every fault, is left to the door,
so there is one place that says what is wrong with a request.
"""

import asyncio
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from app.auth.client_certificate import ClientCertificate
from app.auth.principal import ANYONE, Principal
from app.calls.send_result import Placed
from app.gateway.batching.coalescer import Waiter
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.http_services import HttpServices
from app.http.protocol.short_way import ShortRequest
from app.http.protocol.single_sends import BODY_BYTES_MAX, METHOD, Answer, Headers
from app.sqs.calls.send_calls import outgoing_of, sent_result
from app.sqs.calls.sqs_services import QueueAddresses
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.protocol.dialect import JSON_TYPE, REQUEST_ID, JsonDialect
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.json_input import TARGET_PREFIX
from app.sqs.protocol.request_id import new_request_id
from app.sqs.protocol.sqs_audit import OK
from app.sqs.protocol.sqs_callers_port import CallerClaim, CallerClaims
from app.sqs.protocol.sqs_request import TARGET
from app.sqs.protocol.sqs_route import ROUTES
from app.sqs.queue import Queue
from app.sqs.shapes import SendMessageInput
from app.sqs.sqs_error import SqsError
from cluster.errors import ServerError

ROOT = b"/"
"""The URL that it is for."""
_OPERATION = "SendMessage"
_ASKED = f"{TARGET_PREFIX}{_OPERATION}".encode()
_TARGET = TARGET.encode()
_ASK_FOR_MORE = frozenset(
    {b"transfer-encoding", b"content-encoding", b"origin", b"traceparent", b"tracestate", b"x-amzn-trace-id"}
)
_DIALECT = JsonDialect(_ASKED.decode())
_CONTENT_TYPE = (b"content-type", JSON_TYPE.encode())
_NOT_STORED = (b"cache-control", b"no-store")
_REQUEST_ID = REQUEST_ID.encode()
_decode = msgspec.json.Decoder(SendMessageInput).decode
_encode = msgspec.json.Encoder().encode


class KnownQueues(Protocol):
    def standing(self, name: str) -> Queue | None: ...


class BegunSends(Protocol):
    def begin_send(self, queue: Queue, message: OutgoingMessage, principal: Principal, waiter: Waiter) -> bool:
        """False, with nothing begun, where it cannot be done without a task. Raises SqsError, ServerError."""
        ...

    def placed(self, queue: Queue, message: OutgoingMessage, placed: Placed) -> SentMessage: ...


class ShortCalls(NamedTuple):
    queues: KnownQueues
    names: QueueAddresses
    messages: BegunSends


class ShortSends:
    """`app.http.protocol.short_way.ShortWay`."""

    def __init__(self, http: HttpServices, calls: ShortCalls, claims: CallerClaims) -> None:
        self._calls = calls
        self._claims = claims
        self._bytes_in_flight = http.bytes_in_flight
        self._metrics = http.metrics
        self._entropy = http.gateway.entropy
        self._route = ROUTES[_OPERATION].path

    def takes(
        self, headers: Headers, by_name: dict[bytes, bytes], certificate: ClientCertificate | None
    ) -> ShortRequest | None:
        if by_name.get(_TARGET) != _ASKED or len(by_name) < len(headers):
            return None
        length = by_name.get(b"content-length", b"")
        if not length.isdigit() or len(length) > 5 or not 0 < int(length) <= BODY_BYTES_MAX:
            return None
        if not _ASK_FOR_MORE.isdisjoint(by_name):
            return None
        try:
            claim = self._claims.claim_of(METHOD, ROOT, b"", headers, certificate=certificate)
        except SqsError:
            return None
        return ShortRequest(self._bytes_in_flight.hold(ANYONE), partial(self._begin, claim))

    def _begin(self, claim: CallerClaim, body: bytes, arriving: Hold, answer: Answer) -> bool:
        try:
            hold = self._held(claim(body), body, arriving)
        except (SqsError, ServerError):
            return False
        try:
            is_begun = self._is_begun(body, hold, answer)
        except (SqsError, ServerError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            is_begun = False
        if not is_begun:
            hold.release()
        return is_begun

    def _held(self, principal: Principal, body: bytes, arriving: Hold) -> Hold:
        """From here on it is known whose they are. Raises ServerError."""
        if principal is ANYONE:
            return arriving
        arriving.release()
        hold = self._bytes_in_flight.hold(principal)
        hold.take_whole(len(body))
        return hold

    def _is_begun(self, body: bytes, hold: Hold, answer: Answer) -> bool:
        """Raises what decoding and the services do."""
        asked = _decode(body)
        if asked.queue_url is None:
            return False
        queue = self._calls.queues.standing(self._calls.names.name_of_url(asked.queue_url))
        if queue is None:
            return False
        send = ShortSend(self, queue, outgoing_of(asked, {}), hold, answer)
        # Strict: a right on trial that is missing would be counted here, and again at the door.
        return self._calls.messages.begin_send(queue, send.message, hold.principal.strict(), send)

    def answer_of(self, send: "ShortSend", placed: Placed) -> tuple[Headers, bytes]:
        body = _encode(sent_result(self._calls.messages.placed(send.queue, send.message, placed)))
        length = (b"content-length", b"%d" % len(body))
        return [length, _CONTENT_TYPE, _NOT_STORED, (_REQUEST_ID, self._request_id().encode())], body

    def failure_of(self, error: Exception) -> tuple[int, Headers, bytes]:
        if isinstance(error, ServerError):
            self._metrics.count_refused(error.code.name)
        response = _DIALECT.failure(sqs_error_of(error), self._request_id())
        return response.status_code, response.raw_headers, bytes(response.body)

    def count(self, queue: Queue, status: int, seconds: float) -> None:
        self._metrics.count_request(self._route, METHOD, status, seconds)
        if status == OK:
            self._metrics.count_sent(queue.topic.name, 1)

    def _request_id(self) -> str:
        return new_request_id(self._entropy)


class ShortSend:
    """One message on its way; the coalescer tells it what became of it, and it answers."""

    __slots__ = ("_answer", "_begin", "_hold", "_is_done", "_loop", "_sends", "message", "queue")

    def __init__(self, sends: ShortSends, queue: Queue, message: OutgoingMessage, hold: Hold, answer: Answer) -> None:
        self._sends = sends
        self.queue = queue
        self.message = message
        self._hold = hold
        self._answer = answer
        self._is_done = False
        self._loop = asyncio.get_running_loop()
        self._begin = self._loop.time()

    def done(self) -> bool:
        return self._is_done

    def set_result(self, placed: Placed, /) -> None:
        headers, body = self._sends.answer_of(self, placed)
        self._finish(OK, headers, body)

    def set_exception(self, error: BaseException, /) -> None:
        if isinstance(error, Exception):
            self._finish(*self._sends.failure_of(error))
        else:
            self.cancel()

    def cancel(self) -> bool:
        self._end()
        self._answer.drop()
        return True

    def _finish(self, status: int, headers: Headers, body: bytes) -> None:
        self._end()
        self._sends.count(self.queue, status, self._loop.time() - self._begin)
        self._answer.write(status, headers, body)

    def _end(self) -> None:
        self._is_done = True
        self._hold.release()
