"""The HTTP server of a gateway that heeds its supervisor, and no signals."""

from collections.abc import Iterator
from contextlib import contextmanager

from app.http.protocol.server import HttpServer


class WorkerServer(HttpServer):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
