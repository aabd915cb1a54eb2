"""One message on its way without a task: the coalescer tells it what became of it, and it answers."""

import asyncio
from abc import ABC, abstractmethod
from typing import NamedTuple

from app.calls.send_result import Placed
from app.http.exchange.bytes_in_flight import Hold
from app.http.protocol.request_head import Headers
from app.http.protocol.short_way import Answer


class EncodedAnswer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


class BegunSend(ABC):
    """`app.gateway.batching.coalescer.Waiter`. The hold is given back once it is told."""

    __slots__ = ("_answer", "_begin", "_hold", "_is_done", "_loop")

    def __init__(self, hold: Hold, answer: Answer) -> None:
        self._hold = hold
        self._answer = answer
        self._is_done = False
        self._loop = asyncio.get_running_loop()
        self._begin = self._loop.time()

    def done(self) -> bool:
        return self._is_done

    def set_result(self, placed: Placed, /) -> None:
        self._finish(self._encoded(placed))

    def set_exception(self, error: BaseException, /) -> None:
        if isinstance(error, Exception):
            self._finish(self._failure(error))
        else:
            self.cancel()

    def cancel(self) -> bool:
        self._end()
        self._answer.drop()
        return True

    @abstractmethod
    def _encoded(self, placed: Placed) -> EncodedAnswer: ...

    @abstractmethod
    def _failure(self, error: Exception) -> EncodedAnswer: ...

    @abstractmethod
    def _count(self, status: int, seconds: float) -> None: ...

    def _finish(self, encoded: EncodedAnswer) -> None:
        self._end()
        self._count(encoded.status, self._loop.time() - self._begin)
        self._answer.write(*encoded)

    def _end(self) -> None:
        self._is_done = True
        self._hold.release()
