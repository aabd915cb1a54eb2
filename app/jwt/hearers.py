"""Who wants to hear of other keys. Each looks at a signature then, and there may be ten thousand who wait: they hear of
it a few at a time, and the loop is for others in between."""

import asyncio
from collections import deque
from collections.abc import Callable

HEARD_AT_ONCE = 16
"""A signature takes some tenths of a millisecond."""

Hearer = Callable[[], None]


class Hearers:
    """Those that must not block, nor raise. The first few hear at once."""

    def __init__(self) -> None:
        self._by_number: dict[int, Hearer] = {}
        self._last = 0
        self._waiting: deque[int] = deque()

    def add(self, hearer: Hearer) -> Callable[[], None]:
        """Returns how to stop it."""
        self._last += 1
        number = self._last
        self._by_number[number] = hearer

        def stop() -> None:
            self._by_number.pop(number, None)

        return stop

    def tell(self) -> None:
        """Whoever has not heard of the last news hears of these instead."""
        is_telling = bool(self._waiting)
        self._waiting = deque(self._by_number)
        if not is_telling:
            self._tell_some()

    def _tell_some(self) -> None:
        told = 0
        while self._waiting and told < HEARD_AT_ONCE:
            hearer = self._by_number.get(self._waiting.popleft())
            if hearer is not None:
                told += 1
                hearer()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._tell_some)
