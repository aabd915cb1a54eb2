"""What a producer's send returns: the place where the message's result will be."""

import asyncio
import logging
import threading
from collections.abc import Callable, Generator
from typing import Any, Self

import msgspec

from acklog.errors import AcklogError, DeadlineExceeded
from acklog.messages import Sent
from acklog.producer.batch import Batch

_logger = logging.getLogger("acklog.producer")


class _Delivery(msgspec.Struct, gc=False, eq=False):
    """A message of a batch. (A struct that the garbage collector does not visit: there may be 100,000s of them.)"""

    batch: Batch
    index: int

    def done(self) -> bool:
        """Whether it is known what became of the message."""
        return self.batch.is_done

    def error(self) -> AcklogError | None:
        """Why the message was not delivered; None when it was, or when that is not known yet."""
        return self.batch.error(self.index) if self.batch.is_done else None

    def add_done_callback(self, callback: Callable[[Self], None]) -> None:
        """Call `callback` with this delivery when it is done, in the thread of the event loop: it must be quick and
        must not wait for the producer. What it raises is logged."""

        def call() -> None:
            try:
                callback(self)
            except Exception:
                _logger.exception("a delivery's callback failed")

        self.batch.when_done(call)


class AsyncDelivery(_Delivery, gc=False, eq=False):
    """`await` it for the `Sent`, or its error: DeadlineExceeded, or what the server said to the message."""

    def __await__(self) -> Generator[Any, None, Sent]:
        if not self.batch.is_done:
            future = asyncio.get_running_loop().create_future()
            self.batch.when_done(lambda: None if future.done() else future.set_result(None))
            yield from future
        return self.batch.take(self.index)


class Delivery(_Delivery, gc=False, eq=False):
    """`result()` waits for the `Sent`, or raises the delivery's error."""

    def result(self, timeout_s: float | None = None) -> Sent:
        """Raises DeadlineExceeded after `timeout_s` seconds (the message may still be delivered after that), and what
        the server said to the message."""
        if not self.batch.is_done:
            event = threading.Event()
            self.batch.when_done(event.set)
            if not event.wait(timeout_s):
                raise DeadlineExceeded(f"the delivery was not confirmed within {timeout_s:g} s; it goes on")
        return self.batch.take(self.index)
