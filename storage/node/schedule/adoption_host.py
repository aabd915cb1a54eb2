"""Takes over what the schedules of other partitions hand over to this one's, since it belongs here by now."""

import asyncio

from acklog.wire.batch import BatchCorruptError, decode_records, verify_unstamped
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.node.partition.partition_host import PartitionHost
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.node.schedule.schedule_writer import ScheduleWriter
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.rpc.schedule_messages import AdoptRequest, AdoptResponse
from storage.schedule.changes import Adopted, Change
from storage.schedule.hand_overs import Adoptions


class AdoptionHost:
    """`restore` when all that the leader before has noted is known, `adopt`, `close`."""

    def __init__(self, messages: PartitionHost, keeper: ScheduleKeeper, writer: ScheduleWriter) -> None:
        self._messages = messages
        self._keeper = keeper
        self._writer = writer
        self._adoptions = Adoptions()
        self._under_way: dict[int, tuple[tuple[int, int], asyncio.Task[AdoptResponse]]] = {}

    async def restore(self) -> None:
        """Raises ServerError, IndexFailedError."""
        self._adoptions.restore(await self._keeper.all_of(lambda index: index.adoptions()))

    def apply(self, changes: list[Change]) -> None:
        """They are committed."""
        self._adoptions.apply(changes)

    async def close(self) -> None:
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def adopt(self, request: AdoptRequest) -> AdoptResponse:
        """Once, however often it is asked; who gives up waiting does not end it. Raises ServerError."""
        topic = self._messages.topic
        if topic.mapping < request.mapping:  # by what is known here it may belong to where it comes from
            detail = f"This node has not heard yet of how the partitions of {topic.name} have changed."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        name = (request.epoch, request.number)
        known = self._under_way.get(request.origin)
        if known is not None and known[0] != name:
            detail = "Another hand-over of the partition is under way."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        if known is None:
            task = asyncio.get_running_loop().create_task(self._adopt(request))
            self._under_way[request.origin] = (name, task)
            task.add_done_callback(lambda ended: self._ended(request.origin, ended))
        else:
            task = known[1]
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and not _is_cancelled():
                detail = "The partition is led elsewhere now, and nobody knows what became of the hand-over."
                raise ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=UNAVAILABLE_RETRY_MS) from None
            raise

    def _ended(self, origin: int, task: "asyncio.Task[AdoptResponse]") -> None:
        del self._under_way[origin]
        if not task.cancelled():
            task.exception()  # who waited was told, if somebody did

    async def _adopt(self, request: AdoptRequest) -> AdoptResponse:
        if self._adoptions.is_new(request.origin, request.epoch, request.number):
            notes = [self._note(request, record) for record in _records_of(request)]
            await self._keeper.wait_applied(await self._writer.write(*notes))
        last = self._adoptions.last_of(request.origin)
        if last is None or (last.epoch, last.number) != (request.epoch, request.number):
            raise ServerError(ProblemCode.CONFLICT, "What was handed over later has come already.")
        return AdoptResponse(last.offset, last.at_epoch)

    def _note(self, request: AdoptRequest, record: Record) -> Adopted:
        when = record.schedule
        return Adopted(
            request.origin,
            request.epoch,
            request.number,
            self._messages.leader_epoch,
            -1 if when is None else when.at_ms,
            None if when is None else record,
        )

    async def write_anew(self) -> None:
        """What has to be remembered, again at the log's end, so that what is before can go. Raises ServerError."""
        notes = self._adoptions.notes_anew()
        if notes:
            await self._keeper.wait_applied(await self._writer.write(*notes))


def _is_cancelled() -> bool:
    """Whether it is the caller that is cancelled: it may be work of another partition, which goes on."""
    caller = asyncio.current_task()
    return caller is not None and caller.cancelling() > 0


def _records_of(request: AdoptRequest) -> list[Record]:
    """Raises ServerError."""
    try:
        return decode_records(request.batch, verify_unstamped(request.batch))
    except (BatchCorruptError, ValueError) as error:
        raise ServerError(ProblemCode.INVALID_FIELD, f"The batch is damaged: {error}.", field="batch") from error
