"""A consumer for threads that works beside a test."""

import threading

from acklog.consumer.consumer import Consumer

WAIT_SECONDS = 60


class Serving:
    """A consumer that works in a thread of its own until the end of the block."""

    def __init__(self, consumer: Consumer, handler: object, *, concurrency: int = 4) -> None:
        self.consumer = consumer
        self._thread = threading.Thread(target=consumer.serve, args=(handler,), kwargs={"concurrency": concurrency})

    def __enter__(self) -> "Serving":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.consumer.stop()
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()
