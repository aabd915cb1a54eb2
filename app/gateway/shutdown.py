"""Tells requests that wait that the server is about to stop."""

from collections.abc import Awaitable, Callable


class Shutdown:
    """Begun once, by whoever runs the server, before it stops listening: long polls are then answered at once. Ended
    once no request is under way any more, and before anything is closed that last work needs."""

    def __init__(self) -> None:
        self.has_begun = False
        self._listeners: dict[int, Callable[[], None]] = {}
        self._next = 0
        self._last_work: list[Callable[[], Awaitable[None]]] = []

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

    def at_end(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have it done once no request is under way any more, in the order in which it was said."""
        self._last_work.append(work)

    async def end(self) -> None:
        """Do the last work; once."""
        last_work, self._last_work = self._last_work, []
        for work in last_work:
            await work()
