"""Writes what a leader notes in its partition's schedule log: one batch at a time, with all that came meanwhile."""

import asyncio

from acklog.wire.problems import ProblemCode
from storage.node.partition.partition_host import PartitionHost
from storage.schedule.changes import Note, encode_notes

NOTHING_WAS_DONE = frozenset(
    {ProblemCode.UNAVAILABLE, ProblemCode.OVERLOADED, ProblemCode.NOT_ENOUGH_REPLICAS, ProblemCode.STORAGE_FULL}
)
"""What says for sure that a batch is not in the log, and will not be."""

UNTIL_KNOWN_MS = 24 * 60 * 60 * 1000
"""An append that is on its way is waited for until it is committed, or the leadership ends: which of the two comes
first is not for a clock to say."""


class ScheduleWriter:
    def __init__(self, host: PartitionHost) -> None:
        self._host = host
        self._waiting: list[tuple[Note, asyncio.Future[int]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, *notes: Note) -> int:
        """Committed when this returns: up to which offset. Raises ServerError: OUTCOME_UNKNOWN where the leadership
        has ended meanwhile, else why nothing was written."""
        futures = []
        for note in notes:
            future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._waiting.append((note, future))
            futures.append(future)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write_all())
        return max(await asyncio.gather(*futures))

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await self._write(batch)
        finally:
            self._writing = None

    async def _write(self, batch: list[tuple[Note, "asyncio.Future[int]"]]) -> None:
        try:
            answer = await self._host.append_own(encode_notes([note for note, _ in batch]), timeout_ms=UNTIL_KNOWN_MS)
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
        else:
            for _, future in batch:
                if not future.done():
                    future.set_result(answer.base_offset + len(batch))

    async def close(self) -> None:
        """Nothing comes any more; what is on its way ends, as the leadership has."""
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)
