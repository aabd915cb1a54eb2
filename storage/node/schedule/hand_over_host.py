"""Hands over what is due and belongs to another partition, as the topic's partitions were changed since it was sent
(`storage.schedule.hand_overs`)."""

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import structlog

from acklog.wire.batch import encode_batch
from acklog.wire.identifiers import ScheduleId
from acklog.wire.record import Record, Schedule
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.node.partition.partition_host import PartitionHost
from storage.node.schedule.other_schedules import OtherSchedules
from storage.node.schedule.schedule_figures import ScheduleFigures
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.node.schedule.schedule_writer import NOTHING_WAS_DONE, ScheduleWriter
from storage.rpc.messages import ANY_MAPPING
from storage.rpc.schedule_messages import AdoptRequest
from storage.schedule.changes import Change, HandedOver, Note, TakenBack
from storage.schedule.entries import Due, HandOverEntry, ScheduledEntry
from storage.schedule.hand_overs import HandOvers
from storage.schedule.near_future import IsHeld, NearFuture
from storage.schedule.places import ANYWHERE, place_of
from storage.schedule.schedule_index import IndexFailedError
from storage.schedule.schedule_settings import ScheduleSettings

logger = structlog.get_logger(__name__)

NOBODY_COULD_READ_IT = Record(b"")


class Shares(NamedTuple):
    """Where messages go that are due: `here`, put by `mapping`, and to other partitions."""

    here: list[Due]
    mapping: int
    elsewhere: dict[int, list[Due]]


class HandOverHost:
    """`restore` when all that the leader before has noted is known; then `resume`. `start` runs what this begins until
    the leadership ends; `on_free` hears that there may be something to take again."""

    def __init__(
        self,
        messages: PartitionHost,
        keeper: ScheduleKeeper,
        writer: ScheduleWriter,
        near: NearFuture,
        others: OtherSchedules,
        figures: ScheduleFigures,
        *,
        clock: Clock,
        settings: ScheduleSettings,
        start: Callable[[Coroutine[Any, Any, None]], None],
        on_free: Callable[[], None],
    ) -> None:
        self._messages = messages
        self._keeper = keeper
        self._writer = writer
        self._near = near
        self._others = others
        self._figures = figures
        self._clock = clock
        self._settings = settings
        self._start = start
        self._on_free = on_free
        self._machine = HandOvers(messages.leader_epoch)
        self._unfinished: list[HandOverEntry] = []
        self._places: dict[int, int] = {}
        self._mapping = 0
        self._takes_here = True

    # --- life ------------------------------------------------------------------------------------------------------

    async def restore(self) -> None:
        """Raises ServerError, IndexFailedError."""
        self._unfinished = await self._keeper.all_of(lambda index: index.hand_overs())
        self._machine.restore(self._unfinished)
        for entry in self._unfinished:
            self._near.hand_over(entry.ids)

    def resume(self) -> None:
        """Go on with what the leader before has begun."""
        for entry in self._unfinished:
            self._start(self._resume(entry))
        self._unfinished = []

    def apply(self, changes: list[Change]) -> None:
        """They are committed."""
        self._machine.apply(changes)

    # --- what goes where -------------------------------------------------------------------------------------------

    def look(self) -> IsHeld | None:
        """Before something is taken: what may not be yet, as the topic is now. None where nothing has to wait, and
        nothing goes elsewhere: the topic's partitions never changed, or some node does not know how."""
        topic = self._messages.topic
        if not topic.mapping or not self._others.all_adopt():
            self._mapping = 0
            return None
        if topic.mapping != self._mapping or len(self._places) > 2 * self._settings.near_messages_max:
            self._places.clear()
        self._mapping = topic.mapping
        self._takes_here = self._messages.gate.takes(topic)
        return self._is_held

    def _is_held(self, due: Due) -> bool:
        place = self._place_of(due)
        if place == self._messages.partition:
            return not self._takes_here
        return place != ANYWHERE and self._machine.is_busy(place)

    def _place_of(self, due: Due) -> int:
        found = self._places.get(due.entry.id)
        if found is None:
            found = self._places[due.entry.id] = place_of(due.record, self._messages.topic)
        return found

    def parted(self, taken: list[Due]) -> Shares:
        """What was taken after the last `look`."""
        topic = self._messages.topic
        if not self._mapping:
            return Shares(taken, ANY_MAPPING if topic.mapping else 0, {})
        here: list[Due] = []
        elsewhere: dict[int, list[Due]] = {}
        mapping = ANY_MAPPING
        for due in taken:
            place = self._place_of(due)
            del self._places[due.entry.id]
            if place == self._messages.partition:
                mapping = self._mapping
            if place in {self._messages.partition, ANYWHERE}:
                here.append(due)
            else:
                elsewhere.setdefault(place, []).append(due)
        return Shares(here, mapping, elsewhere)

    # --- handing over ----------------------------------------------------------------------------------------------

    def begin(self, partition: int, dues: list[Due]) -> None:
        """Nothing else may be under way to it."""
        note = self._machine.begin(partition, [due.entry.id for due in dues])
        self._start(self._hand_over(HandOverEntry(partition, note.epoch, note.number, note.ids), note, dues))

    async def _hand_over(self, entry: HandOverEntry, note: Note, dues: list[Due]) -> None:
        try:
            await self._keeper.wait_applied(await self._writer.write(note))
        except ServerError as error:
            logger.warning("due_messages_not_handed_over", partition=entry.partition, reason=str(error))
            # Else it may be in the log that a later leader has: that one goes on with it.
            if error.code in NOTHING_WAS_DONE:
                self._near.give_back(dues)
                await self._clock.sleep(self._settings.retry_pause_ms)
                self._machine.give_up(entry.partition)
                self._on_free()
            return
        await self._ask(entry, [self.named(due) for due in dues])

    async def _resume(self, entry: HandOverEntry) -> None:
        await self._ask(entry, await self._read(entry.ids))

    async def _read(self, ids: list[int]) -> list[Record]:
        """As the leader before has read them. What this replica cannot read, others may be able to mend."""
        while True:
            try:
                found = [await self._keeper.find(id_) for id_ in ids]
                pending = [each for each in found if isinstance(each, ScheduledEntry)]
                read = {due.entry.id: self.named(due) for due in await self._keeper.read(pending)}
                if len(read) == len(ids) or self._keeper.is_alone():
                    return [read.get(id_, NOBODY_COULD_READ_IT) for id_ in ids]
            except (ServerError, IndexFailedError) as error:
                logger.warning("due_messages_not_read", partition=self._messages.partition, reason=str(error))
            await self._clock.sleep(self._settings.retry_pause_ms)

    def named(self, due: Due) -> Record:
        """The message, with the name that it was given first."""
        entry, record = due
        when = record.schedule or Schedule()
        name = when.id or str(ScheduleId(self._messages.topic.id, self._messages.partition, entry.epoch, entry.id))
        record.schedule = Schedule(at_ms=entry.due_ms, id=name, is_bound=when.is_bound)
        return record

    async def _ask(self, entry: HandOverEntry, records: list[Record]) -> None:
        """Until it is there, and noted."""
        topic_id = self._messages.topic.id
        while not self._others.is_gone(topic_id, entry.partition):
            request = AdoptRequest(
                topic_id,
                entry.partition,
                bytes(encode_batch(records)),
                origin=self._messages.partition,
                epoch=entry.epoch,
                number=entry.number,
                mapping=self._messages.topic.mapping,
            )
            try:
                answer = await self._others.adopt(request)
            except ServerError as error:
                logger.info("hand_over_delayed", partition=entry.partition, reason=str(error))
                await self._clock.sleep(self._settings.retry_pause_ms)
                continue
            if await self._noted(HandedOver(entry.partition, entry.ids, answer.offset, answer.at_epoch)):
                self._figures.handed_over += len(entry.ids)
            break
        else:
            # Nobody can say any more whether they came there: rather twice than never.
            logger.error("hand_over_taken_back", partition=entry.partition, messages=len(entry.ids))
            await self._noted(TakenBack(entry.partition, entry.ids))
        self._on_free()

    async def _noted(self, note: Note) -> bool:
        """Until it is. False: the leadership has ended."""
        while True:
            try:
                await self._keeper.wait_applied(await self._writer.write(note))
                return True
            except ServerError as error:
                if error.code not in NOTHING_WAS_DONE:
                    return False
            await self._clock.sleep(self._settings.retry_pause_ms)
