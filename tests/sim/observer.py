"""Looks at logs and progress from outside, through the interface of each partition's leader.

What it sees while faults go on is judged as well, so it asks only whoever leads by the store's word, in that epoch.
"""

import asyncio
import random
from collections.abc import Callable

from acklog.wire.batch import decode_records, verify
from acklog.wire.identifiers import ScheduleId
from cluster.errors import ServerError
from cluster.model.internal_topics import is_internal
from cluster.model.values import PartitionState
from storage.node.storage_node import StorageNode
from storage.rpc.messages import PositionsRequest, PositionsResponse, RecordsRequest
from storage.rpc.schedule_messages import ScheduledListRequest
from storage.schedule.entries import END
from tests.sim.clients import Surroundings
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.machines import NodeMachine
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.history import LeftForLater, LogRead, ProgressRead, ReadRecord
from tests.sim.process import Process, ProcessDiedError
from tests.sim.queue_label import (
    COMMITTED,
    EXPIRING,
    LETTERS,
    LIMITED,
    MOVING,
    NAMED,
    RETURNED,
    TABLE,
    TICKS,
    TRIMMED,
    VIEW,
    queue_label,
)

_Leader = tuple[NodeMachine, Process]
READ_BYTES = 20_000
UNJUDGED = frozenset({LETTERS, LIMITED, MOVING, NAMED, RETURNED, TABLE, TICKS, TRIMMED, VIEW})
PATIENCE_S = 5.0
PAUSE_S = 0.1


class NobodyLeadsError(Exception):
    """The partition's leader does not live now, or does not know yet that it leads: what it says of an earlier epoch
    may be behind what others have seen. Or the partition's topic is gone."""


class Observer:
    def __init__(self, hardware: Hardware, store: StoreObserver, around: Surroundings) -> None:
        self._hardware = hardware
        self._store = store
        self._around = around
        self._random = random.Random(f"observer {around.options.seed}")
        self.group_names: dict[str, str] = {}

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            await asyncio.sleep(self._random.uniform(0.1, 1.0))
            await self.look(is_final=False)

    async def look(self, *, is_final: bool) -> list[ProgressRead]:
        """At every partition. A final look raises where it fails."""
        look_at = self._look_finally if is_final else self._look_at
        return [read for place in self.places() for read in await look_at(place)]

    def places(self) -> list[tuple[str, int]]:
        """Of all partitions that clients can ask for, and that nobody else sees to."""
        topics = self._store.topics.values()
        others = {topic.id for topic in topics if is_internal(topic.name) or _has_own_judge(topic.name)}
        return sorted(place for place in self._store.partitions if place[0] not in others)

    async def _look_at(self, place: tuple[str, int]) -> list[ProgressRead]:
        state = self._store.partitions.get(place)
        found: list[ProgressRead] = []
        if state is None:  # its topic is gone meanwhile
            return found
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self.read_progress(state, is_final=False)
                await self._read_log(state, is_final=False)
        except (ProcessDiedError, ServerError, NobodyLeadsError, TimeoutError) as error:
            self._around.coverage[f"look {type(error).__name__}"] += 1
        return found

    async def _look_finally(self, place: tuple[str, int]) -> list[ProgressRead]:
        """Leadership still moves when everything is well, home to the preferred leader, and whoever leads may hear of
        it after the store's observer: then the look begins anew, for PATIENCE_S at most."""
        until_ms = self._around.now_ms() + PATIENCE_S * 1000
        while True:
            state = self._store.partitions[place]
            try:
                found = await self.read_progress(state, is_final=True)
                await self._read_log(state, is_final=True)
            except (ServerError, NobodyLeadsError):
                if self._around.now_ms() >= until_ms:
                    raise
                await asyncio.sleep(PAUSE_S)
            else:
                return found

    async def read_progress(self, state: PartitionState, *, is_final: bool) -> list[ProgressRead]:
        machine, process = self._leader(state)
        queue = self._queue_of(state)
        began_ms = self._around.now_ms()
        positions = await self._positions(machine, process, state)
        found = [
            ProgressRead(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                group=self.group_names.get(position.group_id, position.group_id),
                queue=queue,
                partition=state.partition,
                leader_epoch=positions.leader_epoch,
                high_watermark=positions.high_watermark,
                progress=position.progress,
                done_above=position.done_above,
                in_flight=position.in_flight,
                dead_lettered=position.dead_lettered,
                is_final=is_final,
            )
            for position in positions.groups
        ]
        for read in found:
            self._around.history.add(read)
        return found

    def _queue_of(self, state: PartitionState) -> str:
        topic = self._store.topics.get(state.topic_id)
        if topic is None:
            raise NobodyLeadsError
        return queue_label(topic.name, topic.id)

    def _leader(self, state: PartitionState) -> _Leader:
        machine = self._hardware.leader_of(state)
        if machine is None or machine.node is None or machine.process is None:
            raise NobodyLeadsError
        return machine, machine.process

    async def _positions(self, machine: NodeMachine, process: Process, state: PartitionState) -> PositionsResponse:
        assert machine.node is not None
        request = PositionsRequest(state.topic_id, state.partition)
        positions = await process.call(machine.node.node.positions(request))
        if positions.leader_epoch < state.leader_epoch:
            raise NobodyLeadsError
        return positions

    async def _read_log(self, state: PartitionState, *, is_final: bool) -> None:
        """A part of the log from somewhere, or all of it."""
        machine, process = self._leader(state)
        queue = self._queue_of(state)
        assert machine.node is not None
        node = machine.node.node
        began_ms = self._around.now_ms()
        offset = 0
        if not is_final:
            bounds = await self._positions(machine, process, state)
            offset = self._random.randint(bounds.log_start, bounds.high_watermark)
        records: list[ReadRecord] = []
        next_offset = offset
        while True:
            request = RecordsRequest(state.topic_id, state.partition, next_offset, max_bytes=READ_BYTES)
            response = await process.call(node.records(request))
            records += records_of(response.batches, next_offset)
            stands_still = response.next_offset <= next_offset
            next_offset = response.next_offset
            if not is_final or next_offset >= response.high_watermark or stands_still:
                break
        if is_final:
            await self._read_schedule(node, process, state)
        self._around.history.add(
            LogRead(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                reader="observer",
                queue=queue,
                partition=state.partition,
                offset=offset,
                next_offset=next_offset,
                log_start=response.log_start,
                high_watermark=response.high_watermark,
                records=records,
                is_final=is_final,
            )
        )

    async def _read_schedule(self, node: StorageNode, process: Process, state: PartitionState) -> None:
        began_ms = self._around.now_ms()
        request = ScheduledListRequest(state.topic_id, state.partition, 0, -1, END.due_ms, 1000)
        response = await process.call(node.scheduled_list(request))
        names = [
            item.name or str(ScheduleId(state.topic_id, state.partition, item.leader_epoch, item.offset))
            for item in response.items
        ]
        self._around.history.add(LeftForLater(began_ms=began_ms, ended_ms=self._around.now_ms(), schedule_ids=names))


def _has_own_judge(name: str) -> bool:
    return name in UNJUDGED or name.startswith((COMMITTED, EXPIRING))


def records_of(batches: bytes, from_offset: int) -> list[ReadRecord]:
    found = []
    at = 0
    while at < len(batches):
        header = verify(batches, at)
        for index, record in enumerate(decode_records(batches, header, at)):
            offset = header.base_offset + index
            if offset >= from_offset:
                body = record.body.decode()
                found.append(ReadRecord(offset, header.leader_epoch, _uid_of(body), body, header.append_time_ms))
        at += header.length
    return found


def _uid_of(body: str) -> str:
    return body.split('"uid": "', 1)[1].split('"', 1)[0]
