"""How many streams are served at a time: they last for hours, and have a limit of their own."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.gateway.stream_figures import StreamFigures
from cluster.errors import ServerError

RETRY_AFTER_MS = 5_000
SHARE_PERCENT = 80
"""How many of them one token may have."""


class StreamPlaces:
    """`limit` is asked with each stream: those that are there already stay."""

    def __init__(self, limit: Callable[[], int], *, setting: str, stream: str, figures: StreamFigures) -> None:
        """`stream` is how the figures call them."""
        self._limit = limit
        self._setting = setting
        self._stream = stream
        self._figures = figures
        self._by_token: Counter[str] = Counter()
        self.count = 0

    def check(self, principal: Principal) -> None:
        """Before anything is done for a stream that may get no place. Raises ServerError TOO_MANY_WATCHERS."""
        limit = self._limit()
        if self.count >= limit:
            raise self._too_many(f"{limit} streams are served already, as {self._setting} allows")
        name = self._name_of(principal)
        share = max(1, limit * SHARE_PERCENT // 100)
        if name and self._by_token[name] >= share:
            raise self._too_many(f"{share} streams of this token are served already, {SHARE_PERCENT} % of all")

    @contextmanager
    def one_more(self, principal: Principal) -> Iterator[None]:
        """Raises ServerError TOO_MANY_WATCHERS."""
        self.check(principal)
        name = self._name_of(principal)
        self._by_token[name] += 1
        self._change(1)
        try:
            yield
        finally:
            self._by_token[name] -= 1
            if not self._by_token[name]:
                del self._by_token[name]
            self._change(-1)

    def _change(self, difference: int) -> None:
        self.count += difference
        self._figures.count_open(self._stream, self.count)

    def _name_of(self, principal: Principal) -> str:
        return "" if principal is ANYONE else principal.name

    def _too_many(self, detail: str) -> ServerError:
        self._figures.count_refused(self._stream)
        return ServerError(ProblemCode.TOO_MANY_WATCHERS, detail, retry_after_ms=RETRY_AFTER_MS)
