"""The batches of one request that are being stored: one future for all of them."""

import asyncio

from app.calls.send_result import Run, SendResult
from cluster.errors import ServerError
from storage.rpc.messages import ProduceResponse


class PartsUnderWay:
    """Each part's outcome goes into `result`. `all_done` fails where a part failed with something else than an
    ServerError."""

    def __init__(self, result: SendResult) -> None:
        self.all_done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._result = result
        self._left = 0

    def add(self, partition: int, indexes: list[int]) -> "_Part":
        """Who is told of the part that has the request's messages at `indexes`. All parts are added in one turn."""
        self._left += 1
        return _Part(self, partition, indexes)

    def stored(self, run: Run) -> None:
        self._result.runs.append(run)
        self._one_less()

    def failed(self, indexes: list[int], error: BaseException) -> None:
        if isinstance(error, ServerError):
            self._result.faults.update(dict.fromkeys(indexes, error.with_traceback(None)))
        elif not self.all_done.done():
            self.all_done.set_exception(error)
        self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if not self._left and not self.all_done.done():  # whoever waited may have gone
            self.all_done.set_result(None)


class _Part:
    __slots__ = ("_indexes", "_partition", "_parts")

    def __init__(self, parts: PartsUnderWay, partition: int, indexes: list[int]) -> None:
        self._parts = parts
        self._partition = partition
        self._indexes = indexes

    def done(self) -> bool:
        return False

    def set_result(self, answer: ProduceResponse, /) -> None:
        self._parts.stored(Run(self._partition, answer.leader_epoch, answer.base_offset, self._indexes))

    def set_exception(self, error: BaseException, /) -> None:
        self._parts.failed(self._indexes, error)
