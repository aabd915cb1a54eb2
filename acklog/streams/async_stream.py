"""A stream for asyncio."""

import asyncio
from types import TracebackType
from typing import Generic, Self

from acklog.client.caller import Caller
from acklog.streams.event_stream import EventStream
from acklog.streams.stream_reading import Item, Reading
from acklog.streams.stream_settings import StreamSettings


class AsyncStream(Generic[Item]):
    """Iterate over it, and close it, or use it as a context manager:

        async with client.tail("orders") as tail:
            async for message in tail:
                print(message.body)

    It begins with the first item that is asked for. When the connection breaks or the server goes away, it waits, and
    goes on behind what has come.
    """

    def __init__(self, caller: Caller, reading: Reading[Item], settings: StreamSettings) -> None:
        self._stream: EventStream[Item] = EventStream(caller, reading, settings)
        self._turn = asyncio.Lock()

    @property
    def cursor(self) -> str:
        """The place behind the last item that was given; "" before the first. It is given back to go on there."""
        return self._stream.cursor

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        """The next item. Ends after `close`. Raises what keeps more from coming for good: TopicNotFound, TopicRemoved,
        Forbidden, ..."""
        async with self._turn:
            while not self._stream.is_closed:
                item = self._stream.take()
                if item is not None:
                    return item
                await self._stream.fill()
        raise StopAsyncIteration

    async def close(self) -> None:
        """Hang up. Iterations end, also such as wait."""
        self._stream.close()
