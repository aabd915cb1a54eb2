"""Single sends without a task for each.

A lone durable send costs the server three times as much through ASGI as it costs in the services. `SingleSends` begins
the plain ones: one JSON message, and nothing that has to be waited for before it is stored. What it does not begin, and
every fault, is left to who asks it.
"""

from acklog.wire.problems import ProblemCode
from app.calls.send_result import Placed
from app.http.answers.send import placed_text
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.http_services import HttpServices
from app.http.exchange.problems import problem_of
from app.http.parsing.single import parse_single
from app.http.protocol.begun_send import BegunSend, EncodedAnswer
from app.http.protocol.short_way import Answer
from cluster.errors import ServerError
from cluster.model.values import Topic

ROUTE = "/messages"
METHOD = "POST"
SINGLE_BYTES_MAX = 64 * 1024
"""Beyond it a task costs little beside the send."""
_JSON = (b"content-type", b"application/json")
_NOT_STORED = (b"cache-control", b"no-store")


class SingleSends:
    def __init__(self, services: HttpServices) -> None:
        self._send = services.send
        self._metrics = services.metrics

    def begin(self, body: bytes, hold: Hold, answer: Answer) -> bool:
        """Send the message; `answer` gets what became of it and `hold` is given back then.

        False, with nothing done, where it is not such a message or there is something wrong: the hold is the caller's
        as before.
        """
        single = parse_single(body) if len(body) <= SINGLE_BYTES_MAX else None
        if single is None:
            return False
        send = SingleSend(self, hold, answer)
        try:
            # Strict: a right on trial that is missing would be counted here, and again by whoever creates the topic or
            # says what is wrong.
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


class SingleSend(BegunSend):
    """To `topic`, which is known once it is begun."""

    __slots__ = ("_sends", "topic")
    topic: Topic

    def __init__(self, sends: SingleSends, hold: Hold, answer: Answer) -> None:
        super().__init__(hold, answer)
        self._sends = sends

    def _encoded(self, placed: Placed) -> EncodedAnswer:
        body = f"{placed_text(self.topic.id, placed)}\n".encode()
        return EncodedAnswer(201, [(b"content-length", b"%d" % len(body)), _JSON, _NOT_STORED], body)

    def _failure(self, error: Exception) -> EncodedAnswer:
        if isinstance(error, ServerError):
            self._sends.count_refused(error.code)
        response = problem_of(error)
        return EncodedAnswer(response.status_code, response.raw_headers, bytes(response.body))

    def _count(self, status: int, seconds: float) -> None:
        self._sends.count(self.topic, status, seconds)
