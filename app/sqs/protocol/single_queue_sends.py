"""`SendMessage` of the newer protocol without a task for each: as single sends of our own API go.

It is an encoder before the same calls as the front door's. What it does not take, and every fault, is left to who asks
it.
"""

from typing import NamedTuple, Protocol, cast

import msgspec

from app.auth.principal import Principal
from app.calls.send_result import Placed
from app.gateway.batching.coalescer import Waiter
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.http_services import HttpServices
from app.http.protocol.begun_send import BegunSend, EncodedAnswer
from app.http.protocol.short_way import Answer
from app.sqs.calls.send_calls import outgoing_of, sent_result
from app.sqs.calls.sqs_services import QueueAddresses
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.protocol.dialect import JSON_TYPE, REQUEST_ID, JsonDialect
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.json_input import TARGET_PREFIX, parse_json
from app.sqs.protocol.request_id import new_request_id
from app.sqs.protocol.sqs_audit import OK
from app.sqs.protocol.sqs_route import ROUTES
from app.sqs.queue import Queue
from app.sqs.shapes import SendMessageInput
from app.sqs.sqs_error import SqsError
from cluster.errors import ServerError

METHOD = "POST"
SEND = "SendMessage"
_DIALECT = JsonDialect(f"{TARGET_PREFIX}{SEND}")
_CONTENT_TYPE = (b"content-type", JSON_TYPE.encode())
_NOT_STORED = (b"cache-control", b"no-store")
_REQUEST_ID = REQUEST_ID.encode()
_encode = msgspec.json.Encoder().encode


class KnownQueues(Protocol):
    def standing(self, name: str) -> Queue | None: ...


class BegunSends(Protocol):
    def begin_send(self, queue: Queue, message: OutgoingMessage, principal: Principal, waiter: Waiter) -> bool:
        """False, with nothing begun, where it cannot be done without a task. Raises SqsError, ServerError."""
        ...

    def placed(self, queue: Queue, message: OutgoingMessage, placed: Placed) -> SentMessage: ...


class QueueSends(NamedTuple):
    """What a single send to a queue needs."""

    queues: KnownQueues
    names: QueueAddresses
    messages: BegunSends


class SingleQueueSends:
    def __init__(self, http: HttpServices, sends: QueueSends) -> None:
        self._sends = sends
        self._metrics = http.metrics
        self._entropy = http.gateway.entropy
        self._route = ROUTES[SEND].path

    def begin(self, body: bytes, hold: Hold, answer: Answer) -> bool:
        """Send the message; `answer` gets what became of it and `hold` is given back then. False, with nothing done,
        where that cannot be begun: the hold is the caller's as before."""
        try:
            return self._is_begun(body, hold, answer)
        except (SqsError, ServerError):
            return False

    def _is_begun(self, body: bytes, hold: Hold, answer: Answer) -> bool:
        """Raises what decoding and the services do."""
        asked = cast(SendMessageInput, parse_json(SEND, body))
        if asked.queue_url is None:
            return False
        queue = self._sends.queues.standing(self._sends.names.name_of_url(asked.queue_url))
        if queue is None:
            return False
        send = QueueSend(self, queue, outgoing_of(asked, {}), hold, answer)
        # Strict: a right on trial that is missing would be counted here, and again by who says what is wrong.
        return self._sends.messages.begin_send(queue, send.message, hold.principal.strict(), send)

    def encoded(self, send: "QueueSend", placed: Placed) -> EncodedAnswer:
        body = _encode(sent_result(self._sends.messages.placed(send.queue, send.message, placed)))
        length = (b"content-length", b"%d" % len(body))
        headers = [length, _CONTENT_TYPE, _NOT_STORED, (_REQUEST_ID, self._request_id().encode())]
        return EncodedAnswer(OK, headers, body)

    def failure(self, error: Exception) -> EncodedAnswer:
        if isinstance(error, ServerError):
            self._metrics.count_refused(error.code.name)
        response = _DIALECT.failure(sqs_error_of(error), self._request_id())
        return EncodedAnswer(response.status_code, response.raw_headers, bytes(response.body))

    def count(self, queue: Queue, status: int, seconds: float) -> None:
        self._metrics.count_request(self._route, METHOD, status, seconds)
        if status == OK:
            self._metrics.count_sent(queue.topic.name, 1)

    def _request_id(self) -> str:
        return new_request_id(self._entropy)


class QueueSend(BegunSend):
    __slots__ = ("_sends", "message", "queue")

    def __init__(
        self, sends: SingleQueueSends, queue: Queue, message: OutgoingMessage, hold: Hold, answer: Answer
    ) -> None:
        super().__init__(hold, answer)
        self._sends = sends
        self.queue = queue
        self.message = message

    def _encoded(self, placed: Placed) -> EncodedAnswer:
        return self._sends.encoded(self, placed)

    def _failure(self, error: Exception) -> EncodedAnswer:
        return self._sends.failure(error)

    def _count(self, status: int, seconds: float) -> None:
        self._sends.count(self.queue, status, seconds)
