"""The consumer for asyncio."""

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self

from acklog.client.caller import Caller
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.engine import ConsumerEngine, Hooks, OnProblem
from acklog.consumer.message_batch import MessageBatch
from acklog.consumer.source import Source
from acklog.consumer.stop_signals import stop_on_signals_of_loop
from acklog.errors import ClientClosed, InvalidArgument
from acklog.members import TopicPartition
from acklog.messages import Message
from acklog.tracing import processing

TURN_MESSAGES = 100  # after so many without a pause the loop gets a turn, or nothing would be received meanwhile
AsyncHandler = Callable[[Message], Awaitable[Any] | Any]
_logger = logging.getLogger("acklog.consumer")


class AsyncConsumer:
    """Receives messages of a group. Made by `client.consumer(topics)`; iterate over it within `async with`:

        async with client.consumer("orders", group="mail") as consumer:
            async for message in consumer:
                async with message:
                    await work(message.body)

    Messages are received ahead and kept leased while they wait and while work runs. `async with message` acks where the
    block ends and nacks where it raises. When the server goes away, the consumer waits for it to come back.
    """

    def __init__(
        self,
        source: Source,
        caller: Caller,
        settings: ConsumerSettings,
        *,
        on_problem: OnProblem | None = None,
    ) -> None:
        self.settings = settings
        self._changed = asyncio.Event()
        hooks = Hooks(self._changed.set, lambda wake: wake(), self._now_ms, on_problem)
        self._engine = ConsumerEngine(source, caller, settings, hooks)
        self._group = source.group
        self._taken_in_turn = 0
        self._workers: list[asyncio.Task[None]] = []
        self._is_closed = False

    def _now_ms(self) -> float:
        return asyncio.get_running_loop().time() * 1000

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        """The next message. Ends after `stop`. Raises what keeps messages from coming for good: TopicNotFound,
        Forbidden, ..."""
        message = await self._next(None)
        if message is None:
            raise StopAsyncIteration
        return message

    async def batches(self, size: int, *, linger_ms: int = 0) -> AsyncGenerator[MessageBatch, None]:
        """Up to `size` messages at a time: as many as are there, waiting `linger_ms` for more behind the first."""
        if size < 1:
            raise InvalidArgument(f"size is {size}, it must be at least 1", field="size")
        while True:
            message = await self._next(None)
            if message is None:
                return
            messages = [message]
            until_ms = self._now_ms() + linger_ms
            while len(messages) < size:
                message = await self._next(until_ms)
                if message is None:
                    break
                messages.append(message)
            yield MessageBatch(messages, self._engine)

    async def run(self, handler: AsyncHandler, *, concurrency: int = 1) -> None:
        """Call `handler(message)` for each message, `concurrency` at a time, until SIGTERM, SIGINT or `stop()`: then
        running handlers end, what they have done is confirmed, and this returns.

        A message is acked when its handler returns and nacked when it raises, which is logged. Handlers that take
        longer than `stop_timeout_s` to end are cancelled, and their messages come again. Raises what keeps messages
        from coming, and SettlementsLost.
        """
        with stop_on_signals_of_loop(asyncio.get_running_loop(), self.stop):
            await self.serve(handler, concurrency=concurrency)

    async def serve(self, handler: AsyncHandler, *, concurrency: int = 1) -> None:
        """As `run`, until `stop()`: signals are left alone."""
        if concurrency < 1:
            raise InvalidArgument(f"concurrency is {concurrency}, it must be at least 1", field="concurrency")
        loop = asyncio.get_running_loop()
        async with self:
            self._workers = [loop.create_task(self._work(handler)) for _ in range(concurrency)]
            outcomes = await asyncio.gather(*self._workers, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    def stop(self) -> None:
        """Receive no more: iterations end, and `run` returns. On the event loop's thread."""
        self._engine.stop()
        if self._workers:
            asyncio.get_running_loop().call_later(self.settings.stop_timeout_s, self._cancel_workers)

    def _cancel_workers(self) -> None:
        late = [worker for worker in self._workers if not worker.done()]
        if late:
            _logger.error("%d handlers did not end in %g s: cancelled", len(late), self.settings.stop_timeout_s)
        for worker in late:
            worker.cancel()

    async def flush(self, timeout_s: float | None = None) -> None:
        """Wait until all acks and nacks so far are confirmed. Raises DeadlineExceeded."""
        await self._engine.flush(timeout_s)

    async def close(self) -> None:
        """End: messages that nobody works on go back at once, and acks and nacks are confirmed, within
        `stop_timeout_s`. Raises SettlementsLost for those that could not be."""
        if not self._is_closed:
            self._is_closed = True
            await self._engine.close()

    # In an exclusive group; elsewhere these raise InvalidArgument

    @property
    def name(self) -> str:
        """The member's name in its group."""
        return self._engine.partitions.name

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that are this consumer's now."""
        return self._engine.partitions.assigned

    @property
    def paused(self) -> frozenset[TopicPartition]:
        """Those of them that are paused."""
        return self._engine.partitions.paused

    def position(self, partition: TopicPartition) -> int | None:
        """The offset behind the last message of it that was handed out; None: none was since it was assigned."""
        return self._engine.partitions.position(partition)

    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out nothing of these partitions until `resume`. They stay this consumer's, and what has come of them
        stays leased: for hours pause the group's (`client.groups.pause`). A partition that is assigned anew is not
        paused."""
        self._engine.partitions.pause(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Go on with these partitions."""
        self._engine.partitions.resume(partitions)

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at that offset of the partition. What was received before is void: its acks are refused. Raises
        AcklogError."""
        await self._engine.partitions.seek(partition, offset)

    async def _next(self, until_ms: float | None) -> Message | None:
        """A message; None when there will be none, or when none has come by `until_ms`."""
        if self._is_closed:
            raise ClientClosed("the consumer is closed")
        if not self._engine.is_started:
            self._engine.start()
        self._taken_in_turn += 1
        if self._taken_in_turn >= TURN_MESSAGES:
            self._taken_in_turn = 0
            await asyncio.sleep(0)
        while True:
            message = self._engine.take(asyncio.current_task())
            if message is not None:
                return message
            if self._engine.is_over:
                return None
            if self._engine.failure is not None:
                raise self._engine.failure
            self._changed.clear()
            if until_ms is None:
                await self._changed.wait()
            elif not await self._changed_by(until_ms):
                return None

    async def _changed_by(self, until_ms: float) -> bool:
        try:
            async with asyncio.timeout_at(until_ms / 1000):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _work(self, handler: AsyncHandler) -> None:
        async for message in self:
            try:
                async with message:
                    with processing(message, self._group):
                        result = handler(message)
                        if inspect.isawaitable(result):
                            await result
            except Exception:
                _logger.exception("the handler failed on message %s", message.message_id)


async def run_all(handlers: Sequence[tuple[AsyncConsumer, AsyncHandler, int]]) -> None:
    """Serve several consumers, each with its handler and concurrency, until a signal. Raises the first failure."""
    if not handlers:
        raise InvalidArgument("there is no handler: register one with @client.handler(topic)")

    def stop() -> None:
        for consumer, _, _ in handlers:
            consumer.stop()

    async def serve(consumer: AsyncConsumer, handler: AsyncHandler, concurrency: int) -> None:
        try:
            await consumer.serve(handler, concurrency=concurrency)
        finally:
            stop()

    with stop_on_signals_of_loop(asyncio.get_running_loop(), stop):
        outcomes = await asyncio.gather(*(serve(*each) for each in handlers), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
