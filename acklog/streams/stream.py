"""A stream for threads."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self
from weakref import finalize

from acklog.client.background import Background
from acklog.client.caller import Caller
from acklog.errors import ClientClosed
from acklog.streams.event_stream import EventStream
from acklog.streams.stream_reading import Item, Reading
from acklog.streams.stream_settings import StreamSettings


class SyncStream(Generic[Item]):
    """Iterate over it, and close it, or use it as a context manager:

        with client.tail("orders") as tail:
            for message in tail:
                print(message.body)

    It begins with the first item that is asked for. When the connection breaks or the server goes away, it waits, and
    goes on behind what has come. It belongs to the process that made it: after a fork, make another.
    """

    def __init__(
        self, background: Background, caller: Callable[[], Caller], reading: Reading[Item], settings: StreamSettings
    ) -> None:
        self._background = background
        self._generation = background.generation
        self._stream: EventStream[Item] = EventStream(caller(), reading, settings)
        self._turn = threading.Lock()
        # Dropped without being closed, it must not keep its connection. (At the end of the program that ends anyway.)
        finalize(self, _let_go, background, self._generation, self._stream.close).atexit = False

    @property
    def cursor(self) -> str:
        """The place behind the last item that was given; "" before the first. It is given back to go on there."""
        return self._stream.cursor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        """The next item. Ends after `close`. Raises what keeps more from coming for good: TopicNotFound, TopicRemoved,
        Forbidden, ..."""
        if self._generation != self._background.generation:
            raise ClientClosed("the stream was made before the process forked: make another in the child")
        with self._turn:
            while not self._stream.is_closed:
                item = self._stream.take()
                if item is not None:
                    return item
                self._background.run(self._stream.fill)
        raise StopIteration

    def close(self) -> None:
        """Hang up. Iterations end, also such as wait in another thread."""
        self._stream.is_closed = True
        _let_go(self._background, self._generation, self._stream.close)


def _let_go(background: Background, generation: int, close: Callable[[], None]) -> None:
    """In a forked child the connection is still the parent's."""
    if background.is_started and background.generation == generation:
        background.call_soon(close)
