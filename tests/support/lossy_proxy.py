"""A proxy before a server that does to requests what networks do: answers get lost, or come from somebody else."""

import http.client
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Literal, Self

Fate = Literal["pass", "lose the answer", "refuse"]
_KEPT_HEADERS = ("Content-Type", "Idempotency-Key")


class LossyProxy:
    """Forwards POSTs to `url`. `fates` says what becomes of each, one after the other; then all pass.

    "lose the answer": the server gets the request, and the connection ends without an answer. "refuse": 503, and the
    server gets nothing.
    """

    def __init__(self, host: str, port: int, fates: list[Fate]) -> None:
        self.keys: list[str] = []
        """The idempotency keys of all requests, as they came."""
        self._fates = iter(fates)
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._answer))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._target = (host, port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> tuple[int, bytes] | None:
        """Status and body; None for an answer that gets lost."""
        body = request.rfile.read(int(request.headers["Content-Length"]))
        with self._lock:
            fate = next(self._fates, "pass")
            self.keys.append(request.headers["Idempotency-Key"])
        if fate == "refuse":
            return 503, b"the proxy has no server"
        connection = http.client.HTTPConnection(*self._target, timeout=30)
        try:
            headers = {name: request.headers[name] for name in _KEPT_HEADERS if name in request.headers}
            connection.request("POST", request.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        return None if fate == "lose the answer" else (answer.status, content)


def _handler(
    answer: Callable[[BaseHTTPRequestHandler], tuple[int, bytes] | None],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            outcome = answer(self)
            if outcome is None:
                self.close_connection = True
                return
            status, content = outcome
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """The test says what it needs to know."""

    return Handler
