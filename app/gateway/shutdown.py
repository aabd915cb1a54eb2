"""Tells requests that wait that the server is about to stop."""

from collections.abc import Callable


class Shutdown:
    """Begun once, by whoever runs the server, before it stops listening: long polls are then answered at once."""

    def __init__(self) -> None:
        self.has_begun = False
        self._listeners: dict[int, Callable[[], None]] = {}
        self._next = 0

    def begin(self) -> None:
        self.has_begun = True
        listeners, self._listeners = self._listeners, {}
        for listener in listeners.values():
            listener()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` once when the shutdown begins; returns how to stop that."""
        number = self._next
        self._next += 1
        self._listeners[number] = listener

        def stop() -> None:
            self._listeners.pop(number, None)

        return stop
