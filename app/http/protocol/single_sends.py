"""Single sends without a task, a scope and a response object for each.

A lone durable send costs the server three times as much through ASGI as it costs in the services. `SingleSends` takes
the plain ones: one JSON message, one answer, nothing in the head that asks for more. What it does not take, and every
fault, is left to the application, so there is one place that says what is wrong with a request.
"""

import asyncio
from typing import Protocol

from acklog.wire.problems import ProblemCode
from app.auth.client_certificate import ClientCertificate
from app.auth.principal import Principal
from app.calls.send_result import Placed
from app.http.answers.send import placed_text
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CallerRefusal, refusal_of
from app.http.exchange.http_services import HttpServices
from app.http.exchange.problems import problem_of
from app.http.parsing.single import parse_single
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Topic

ROUTE = "/messages"
METHOD = "POST"
BODY_BYTES_MAX = 64 * 1024  # beyond it the layers around a send cost little beside the send

_CONTENT_TYPES = frozenset(
    {
        b"",
        b"application/json",
        b"application/json; charset=utf-8",
        b"application/json;charset=utf-8",
        b"application/x-www-form-urlencoded",
    }
)
_ASK_FOR_MORE = frozenset(
    {
        b"transfer-encoding",
        b"content-encoding",
        b"idempotency-key",
        b"producer-id",
        b"producer-epoch",
        b"producer-sequence",
        b"traceparent",
        b"tracestate",
        b"origin",  # a page's, whose browser wants to know by the answer who may read it
    }
)

Headers = list[tuple[bytes, bytes]]


class Answer(Protocol):
    """Where the answer to one request goes. Exactly one of the two is called, once."""

    def write(self, status: int, headers: Headers, body: bytes) -> None: ...

    def drop(self) -> None:
        """There will be none: the server is being stopped."""


class SingleSends:
    """`takes` looks at a request's headers, `begin` at its body; where either declines nothing has happened."""

    def __init__(self, services: HttpServices) -> None:
        self._send = services.send
        self._metrics = services.metrics
        self._callers = services.callers
        self._bytes_in_flight = services.bytes_in_flight

    def takes(self, headers: dict[bytes, bytes], certificate: ClientCertificate | None) -> Hold | CallerRefusal | None:
        """What the request's body is to be counted in as it comes, if it may be a plain single send of somebody who
        may send. Who may not is told so by the application, which does not wait for the body either; that somebody is
        not let in is returned, so that it is not found out again.

        `headers` are those of a `POST /messages` without a query, by lower-case name; `certificate` is that of its
        connection.
        """
        length = headers.get(b"content-length", b"")
        if not length.isdigit() or len(length) > 5 or not 0 < int(length) <= BODY_BYTES_MAX:
            return None
        if headers.get(b"content-type", b"").lower() not in _CONTENT_TYPES:
            return None
        if not _ASK_FOR_MORE.isdisjoint(headers):
            return None
        try:
            principal = self._principal_of(headers, certificate)
        except ServerError as error:
            return refusal_of(error)
        return self._bytes_in_flight.hold(principal) if principal.may_somewhere(Action.SEND) else None

    def begin(self, body: bytes, hold: Hold, answer: Answer) -> bool:
        """Send the message; `answer` gets what became of it and `hold` is given back then.

        False where it is for the application to answer: the hold is the caller's as before.
        """
        single = parse_single(body)
        if single is None:
            return False
        send = SingleSend(self, hold, answer)
        try:
            # Strict: a right on trial that is missing would be counted here, and again by the application, to which it
            # is left to create the topic or to say what is wrong.
            topic = self._send.begin(single, hold.principal.strict(), send)
        except ServerError:
            return False
        if topic is None:
            return False
        send.topic = topic
        return True

    def count(self, topic: Topic, status: int, seconds: float) -> None:
        self._metrics.count_request(ROUTE, METHOD, status, seconds)
        if status < 300:
            self._metrics.count_sent(topic.name, 1)

    def count_refused(self, code: ProblemCode) -> None:
        self._metrics.count_refused(code.name)

    def _principal_of(self, headers: dict[bytes, bytes], certificate: ClientCertificate | None) -> Principal:
        authorization = headers.get(b"authorization")
        return self._callers.of(None if authorization is None else authorization.decode("latin-1"), certificate)


class SingleSend:
    """One message on its way; the coalescer tells it what became of it, and it answers."""

    __slots__ = ("_answer", "_begin", "_hold", "_is_done", "_loop", "_sends", "topic")
    topic: Topic

    def __init__(self, sends: SingleSends, hold: Hold, answer: Answer) -> None:
        self._sends = sends
        self._hold = hold
        self._answer = answer
        self._is_done = False
        self._loop = asyncio.get_running_loop()
        self._begin = self._loop.time()

    def done(self) -> bool:
        return self._is_done

    def set_result(self, placed: Placed, /) -> None:
        text = placed_text(self.topic.id, placed)
        body = f"{text}\n".encode()
        self._finish(201, [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")], body)

    def set_exception(self, error: BaseException, /) -> None:
        if isinstance(error, ServerError):
            self._sends.count_refused(error.code)
        if not isinstance(error, Exception):
            self.cancel()
            return
        response = problem_of(error)
        self._finish(response.status_code, response.raw_headers, bytes(response.body))

    def cancel(self) -> bool:
        self._end()
        self._answer.drop()
        return True

    def _finish(self, status: int, headers: Headers, body: bytes) -> None:
        self._end()
        self._sends.count(self.topic, status, self._loop.time() - self._begin)
        self._answer.write(status, headers, body)

    def _end(self) -> None:
        self._is_done = True
        self._hold.release()
