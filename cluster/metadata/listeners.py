"""Who wants to hear that something has changed."""

from collections.abc import Callable

Listener = Callable[[], None]


class Listeners:
    """Those that must not block, nor raise."""

    def __init__(self) -> None:
        self._by_number: dict[int, Listener] = {}
        self._last = 0

    def add(self, listener: Listener) -> Callable[[], None]:
        """Returns how to stop it."""
        self._last += 1
        number = self._last
        self._by_number[number] = listener

        def stop() -> None:
            self._by_number.pop(number, None)

        return stop

    def tell(self) -> None:
        for listener in list(self._by_number.values()):
            listener()
