"""What the leader before has appended of what was due, and did not live to record."""

import asyncio

from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.identifiers import parse_schedule_id
from acklog.wire.record import Record
from storage.log.log_walk import LogWalk, Unreadable
from storage.node.partition.partition_host import PartitionHost
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.schedule.changes import Fired, Note, Passed
from storage.schedule.entries import ScheduledEntry

_READ_BYTES = 1024 * 1024


async def find_deliveries(messages: PartitionHost, keeper: ScheduleKeeper, end: int) -> list[Note]:
    """What is to be noted of the messages between the last record and `end`, all of them committed. Nothing where
    nothing is scheduled. Raises ServerError, IndexFailedError."""
    state = keeper.state
    if not state.pending:
        return []
    begin = state.messages_end
    # What was recorded may have been cut away since (rule R9), or be in what cannot be read.
    if begin > end or keeper.may_have_lost(-1):
        begin = messages.log.log_start
    notes: list[Note] = []
    walk = LogWalk(messages.log, begin, end)
    while (found := await walk.next(_READ_BYTES)) is not None:
        if isinstance(found, Unreadable):
            continue  # nobody can read it: what was in there is appended again
        for header, data in found:
            try:
                records = decode_remaining(data, header)
            except ValueError:
                continue
            for offset, record in enumerate(records, header.base_offset):
                id_ = await _pending_as(record, messages, keeper)
                if id_ is not None:
                    notes.append(Fired([id_], offset, header.leader_epoch))
        await asyncio.sleep(0)
    return [*notes, Passed(end)]


async def _pending_as(record: Record | None, messages: PartitionHost, keeper: ScheduleKeeper) -> int | None:
    """Which pending message of this partition the record was; None for all others, copies in other topics too."""
    schedule = None if record is None else record.schedule
    named = None if schedule is None else parse_schedule_id(schedule.id)
    if named is None or named.topic_id != messages.topic.id:
        return None
    if named.partition == messages.partition:
        entry = await keeper.find(named.offset)
        if isinstance(entry, ScheduledEntry) and entry.epoch == named.epoch:
            return entry.id
    adopted = await keeper.find_adopted(str(named))
    return None if adopted is None else adopted.id
