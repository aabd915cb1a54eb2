"""How many requests wait for messages or records at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError


class WaitingRequests:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.count = 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Raises ServerError TOO_MANY_WAITING."""
        if self.count >= self._limit:
            detail = f"{self._limit} requests are waiting already; ask again with waitSeconds=0, or later"
            raise ServerError(ProblemCode.TOO_MANY_WAITING, detail, retry_after_ms=1000)
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
