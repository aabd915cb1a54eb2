"""Sends flights, and remembers what the server has confirmed."""

import threading
from collections.abc import Iterator, Sequence
from itertools import islice

from acklog import Client, OutgoingMessage
from acklog.errors import AcklogError
from app.demo.message import DemoMessage

BATCH_MESSAGES = 2_000
TRIES_S = 120.0


class Producers:
    """`confirmed` says by (partition, offset) which body the server has promised to keep."""

    def __init__(self, url: str, topic: str, flights: Iterator[DemoMessage]) -> None:
        self._client = Client(url, timeout_s=TRIES_S, retries_max=10_000)
        self._topic = topic
        self._flights = flights
        self._number = 0
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: AcklogError | None = None
        self.confirmed: dict[tuple[int, int], bytes] = {}

    def send(self, count: int) -> int:
        """The next flights, at once; returns how many there were. Raises AcklogError."""
        sent = 0
        while batch := list(islice(self._flights, min(BATCH_MESSAGES, count - sent))):
            self._send(batch)
            sent += len(batch)
        return sent

    def begin(self, *, batch_messages: int, pause_s: float) -> None:
        """Keep sending, in a thread, until `end`."""

        def work() -> None:
            try:
                while not self._is_over.wait(pause_s):
                    self.send(batch_messages)
            except AcklogError as error:
                self._failure = error

        self._thread = threading.Thread(target=work, name="producers")
        self._thread.start()

    def end(self) -> None:
        """Returns when everything is confirmed. Raises AcklogError."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        self._client.close()

    def _send(self, batch: Sequence[DemoMessage]) -> None:
        """The key of the request makes a retry after the kill a retry, and not a second message."""
        self._number += 1
        messages = [OutgoingMessage(each.body, key=each.key, tags=each.tags) for each in batch]
        results = self._client.send_many(self._topic, messages, idempotency_key=f"flights-{self._number}")
        for message, result in zip(batch, results, strict=True):
            if isinstance(result, AcklogError):
                raise result
            assert result.offset is not None, "the server was told to confirm"
            self.confirmed[result.partition, result.offset] = bytes(message.body)
