"""How many requests wait for messages or records at a time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from cluster.errors import ServerError


class WaitingRequests:
    """`limit` over all requests, of which each token may have `share_percent`: one client that waits for everything
    keeps nobody else from waiting."""

    def __init__(self, limit: int, *, share_percent: int) -> None:
        self._limit = limit
        self._share = max(1, limit * share_percent // 100)
        self._by_token: Counter[str] = Counter()
        self.count = 0

    @contextmanager
    def one_more(self, principal: Principal) -> Iterator[None]:
        """Raises ServerError TOO_MANY_WAITING."""
        if self.count >= self._limit:
            raise _too_many(f"{self._limit} requests are waiting already")
        name = "" if principal is ANYONE else principal.name
        if name and self._by_token[name] >= self._share:
            raise _too_many(f"{self._share} requests of this token are waiting already")
        self.count += 1
        self._by_token[name] += 1
        try:
            yield
        finally:
            self.count -= 1
            self._by_token[name] -= 1
            if not self._by_token[name]:
                del self._by_token[name]


def _too_many(what: str) -> ServerError:
    detail = f"{what}; ask again with waitSeconds=0, or later"
    return ServerError(ProblemCode.TOO_MANY_WAITING, detail, retry_after_ms=1000)
