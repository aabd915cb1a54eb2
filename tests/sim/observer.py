"""Looks at logs and progress from outside, through the node's own interface, while everything goes on."""

import asyncio
import random
from collections.abc import Callable

from acklog.wire.batch import decode_records, verify
from cluster.errors import ServerError
from cluster.model.values import Group, Topic
from storage.rpc.messages import PositionsRequest, RecordsRequest
from tests.sim.clients import Surroundings
from tests.sim.history import LogRead, ProgressRead, ReadRecord
from tests.sim.machine import Machine
from tests.sim.process import ProcessDiedError


class Observer:
    def __init__(self, machine: Machine, around: Surroundings) -> None:
        self._machine = machine
        self._around = around
        self._random = random.Random(f"observer {around.options.seed}")

    async def run(self, until: Callable[[], bool]) -> None:
        """Look all the time."""
        while not until():
            await asyncio.sleep(self._random.uniform(0.05, 1.0))
            await self.look(is_final=False)

    async def look(self, *, is_final: bool) -> list[ProgressRead]:
        server = self._machine.server
        if server is None:
            return []
        found = []
        for topic in server.gateway.metadata.topics():
            for partition in range(topic.partitions):
                try:
                    found += await self.read_progress(topic, partition, is_final=is_final)
                    await self._read_log(topic, partition, is_final=is_final)
                except (ProcessDiedError, ServerError) as error:
                    if is_final:
                        raise
                    self._around.coverage[f"look {type(error).__name__}"] += 1
        return found

    async def read_progress(self, topic: Topic, partition: int, *, is_final: bool) -> list[ProgressRead]:
        server, process = self._machine.server, self._machine.process
        if server is None or process is None:
            return []
        began_ms = self._around.now_ms()
        positions = await process.call(server.node.positions(PositionsRequest(topic.id, partition)))
        names = {group.id: group.name for group in self._known_groups()}
        found = [
            ProgressRead(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                group=names[position.group_id],
                queue=topic.name,
                partition=partition,
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

    def _known_groups(self) -> list[Group]:
        server = self._machine.server
        return server.gateway.metadata.groups() if server is not None else []

    async def _read_log(self, topic: Topic, partition: int, *, is_final: bool) -> None:
        """A part of the log from somewhere, or all of it."""
        server, process = self._machine.server, self._machine.process
        if server is None or process is None:
            return
        began_ms = self._around.now_ms()
        offset = 0
        if not is_final:
            bounds = await process.call(server.node.positions(PositionsRequest(topic.id, partition)))
            offset = self._random.randint(bounds.log_start, bounds.high_watermark)
        records: list[ReadRecord] = []
        next_offset = offset
        while True:
            request = RecordsRequest(topic.id, partition, next_offset, max_bytes=20_000)
            response = await process.call(server.node.records(request))
            records += records_of(response.batches, next_offset)
            stands_still = response.next_offset <= next_offset
            next_offset = response.next_offset
            if not is_final or next_offset >= response.high_watermark or stands_still:
                break
        self._around.history.add(
            LogRead(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                reader="observer",
                queue=topic.name,
                partition=partition,
                offset=offset,
                next_offset=next_offset,
                log_start=response.log_start,
                high_watermark=response.high_watermark,
                records=records,
                is_final=is_final,
            )
        )


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
