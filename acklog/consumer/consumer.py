"""The consumer for threads."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from acklog.client import at_exit
from acklog.client.background import Background
from acklog.client.caller import Caller
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.engine import ConsumerEngine, Hooks, OnProblem
from acklog.consumer.message_batch import MessageBatch
from acklog.consumer.source import Source
from acklog.consumer.stop_signals import stop_on_signals
from acklog.errors import ClientClosed, InvalidArgument
from acklog.members import TopicPartition
from acklog.messages import Message
from acklog.runtime import monotonic_ms
from acklog.tracing import processing

Handler = Callable[[Message], Any]
_logger = logging.getLogger("acklog.consumer")


class Consumer:
    """Receives messages of a group. Made by `client.consumer(topics)`; iterate over it within `with`:

        with client.consumer("orders", group="mail") as consumer:
            for message in consumer:
                with message:
                    work(message.body)

    Messages are received ahead and kept leased while they wait and while work runs. `with message` acks where the block
    ends and nacks where it raises. When the server goes away, the consumer waits for it to come back. Several threads
    may iterate over one consumer. It belongs to the process that made it: after a fork, make another.
    """

    def __init__(
        self,
        source: Source,
        background: Background,
        caller: Callable[[], Caller],
        settings: ConsumerSettings,
        *,
        on_problem: OnProblem | None = None,
    ) -> None:
        self.settings = settings
        self._background = background
        self._generation = background.generation
        self._condition = threading.Condition()
        hooks = Hooks(self._change, background.call_soon, monotonic_ms, on_problem)
        self._engine = ConsumerEngine(source, caller(), settings, hooks)
        self._group = source.group
        self._is_started = False
        self._is_closed = False
        self._exit_number = at_exit.close_at_exit(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Message:
        """The next message. Ends after `stop`. Raises what keeps messages from coming for good: TopicNotFound,
        Forbidden, ..."""
        message = self._next(None)
        if message is None:
            raise StopIteration
        return message

    def batches(self, size: int, *, linger_ms: int = 0) -> Iterator[MessageBatch]:
        """Up to `size` messages at a time: as many as are there, waiting `linger_ms` for more behind the first."""
        if size < 1:
            raise InvalidArgument(f"size is {size}, it must be at least 1", field="size")
        while True:
            message = self._next(None)
            if message is None:
                return
            messages = [message]
            until_ms = monotonic_ms() + linger_ms
            while len(messages) < size:
                message = self._next(until_ms)
                if message is None:
                    break
                messages.append(message)
            yield MessageBatch(messages, self._engine)

    def run(self, handler: Handler, *, concurrency: int = 1) -> None:
        """Call `handler(message)` for each message, in `concurrency` threads, until SIGTERM, SIGINT or `stop()`: then
        running handlers end, what they have done is confirmed, and this returns. (Signals are taken where this is
        called in the main thread.)

        A message is acked when its handler returns and nacked when it raises, which is logged. Handlers that take
        longer than `stop_timeout_s` to end are left behind, and their messages come again. Raises what keeps messages
        from coming, and SettlementsLost.
        """
        with stop_on_signals(self.stop):
            self.serve(handler, concurrency=concurrency)

    def serve(self, handler: Handler, *, concurrency: int = 1) -> None:
        """As `run`, until `stop()`: signals are left alone."""
        if concurrency < 1:
            raise InvalidArgument(f"concurrency is {concurrency}, it must be at least 1", field="concurrency")
        failures: list[Exception] = []
        names = [f"acklog-consumer-{number}" for number in range(concurrency)]
        threads = [
            threading.Thread(target=self._work, args=(handler, failures), name=name, daemon=True) for name in names
        ]
        with self:
            for thread in threads:
                thread.start()
            self._join(threads)
        if failures:
            raise failures[0]

    def stop(self) -> None:
        """Receive no more: iterations end, and `run` returns. From any thread, and from signal handlers."""
        self._background.call_soon(self._engine.stop)

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until all acks and nacks so far are confirmed. Raises DeadlineExceeded."""
        self._background.run(lambda: self._engine.flush(timeout_s))

    def close(self) -> None:
        """End: messages that nobody works on go back at once, and acks and nacks are confirmed, within
        `stop_timeout_s`. Raises SettlementsLost for those that could not be."""
        at_exit.closed(self._exit_number)
        if not self._is_closed:
            self._is_closed = True
            if self._is_started and self._generation == self._background.generation:
                self._background.run(lambda: self._engine.close())

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
        self._background.call_soon(self._engine.partitions.pause, partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Go on with these partitions."""
        self._background.call_soon(self._engine.partitions.resume, partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at that offset of the partition. What was received before is void: its acks are refused. Raises
        AcklogError."""
        self._background.run(lambda: self._engine.partitions.seek(partition, offset))

    def _next(self, until_ms: float | None) -> Message | None:
        """A message; None when there will be none, or when none has come by `until_ms`."""
        if self._is_closed:
            raise ClientClosed("the consumer is closed")
        if not self._is_started:
            self._start()
        worker = threading.get_ident()
        while True:
            message = self._engine.take(worker)
            if message is not None:
                return message
            with self._condition:
                if self._engine.is_over:
                    return None
                if self._engine.failure is not None:
                    raise self._engine.failure
                remaining_s = None if until_ms is None else (until_ms - monotonic_ms()) / 1000
                if remaining_s is not None and remaining_s <= 0:
                    return None
                if not self._engine.has_for(worker):
                    self._condition.wait(remaining_s)

    def _start(self) -> None:
        if self._generation != self._background.generation:
            raise ClientClosed("the consumer was made before the process forked: make another in the child")
        with self._condition:
            if not self._is_started:
                self._is_started = True
                self._background.call_soon(self._engine.start)

    def _change(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def _work(self, handler: Handler, failures: list[Exception]) -> None:
        try:
            for message in self:
                try:
                    with message, processing(message, self._group):
                        handler(message)
                except Exception:
                    _logger.exception("the handler failed on message %s", message.message_id)
        except Exception as failure:
            failures.append(failure)

    def _join(self, threads: list[threading.Thread]) -> None:
        """Until all have ended, or `stop_timeout_s` after a stop."""
        with self._condition:
            while not self._engine.is_stopping and self._engine.failure is None:
                self._condition.wait()
        stop_by_ms = monotonic_ms() + self.settings.stop_timeout_s * 1000
        for thread in threads:
            thread.join(max(0.0, (stop_by_ms - monotonic_ms()) / 1000))
        late = sum(thread.is_alive() for thread in threads)
        if late:
            _logger.error("%d handlers did not end in %g s: left behind", late, self.settings.stop_timeout_s)


def run_all(handlers: Sequence[tuple[Consumer, Handler, int]]) -> None:
    """Serve several consumers, each with its handler and concurrency, until a signal. Raises the first failure."""
    if not handlers:
        raise InvalidArgument("there is no handler: register one with @client.handler(topic)")
    failures: list[Exception] = []

    def stop() -> None:
        for consumer, _, _ in handlers:
            consumer.stop()

    def serve(consumer: Consumer, handler: Handler, concurrency: int) -> None:
        try:
            consumer.serve(handler, concurrency=concurrency)
        except Exception as failure:
            failures.append(failure)
        finally:
            stop()

    with stop_on_signals(stop):
        threads = [threading.Thread(target=serve, args=each, name="acklog-handlers") for each in handlers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
