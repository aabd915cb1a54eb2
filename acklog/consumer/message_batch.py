"""Several messages that are worked on together."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from acklog.messages import Message, Settler


class MessageBatch:
    """`with batch:` (or `async with`) acks all of them where the block ends and nacks all where it raises. Those that
    were acked or nacked by hand stay so."""

    def __init__(self, messages: list[Message], settler: Settler) -> None:
        self.messages = messages
        self._settler = settler

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __getitem__(self, index: int) -> Message:
        return self.messages[index]

    def ack(self) -> None:
        """The work on all of them is done."""
        for message in self.messages:
            self._settler.ack(message)

    def nack(self, *, delay_s: float | None = None, reason: str = "") -> None:
        """Give all of them back, to come again after `delay_s` seconds; None: by the group's back-off."""
        for message in self.messages:
            self._settler.nack(message, delay_s, reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for message in self.messages:
            self._settler.end(message, error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for message in self.messages:
            self._settler.end(message, error)
