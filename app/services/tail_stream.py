"""One tail under way: a reader for each partition, whose messages go out one after the other."""

import asyncio
from collections.abc import Coroutine
from itertools import islice
from typing import Any, TypeVar

import msgspec

from acklog.wire.batch import BatchHeader
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.auth.principal import Principal
from app.calls.message_view import encode_line, view_of
from app.calls.records import FirstOffset, RecordsCommand, RecordsRead
from app.calls.streams import Say
from app.calls.tail import TAIL_PARTITIONS_MAX, TailCommand, TailPlace
from app.events.event_text import COMMENT
from app.gateway.dependencies import Gateway
from app.services.events import HEARTBEAT_MS
from app.services.records import RecordsService
from app.services.tail_memory import TailHold, TailMemory
from app.services.tail_position import TailPace, TailPosition
from cluster.errors import ServerError
from cluster.model.values import Topic

POLLS_AT_ONCE_MAX = 16
"""Of one stream. Of a topic with more partitions each waits for a shorter while, and then the next one does."""
POLL_MS = 20_000
SHARED_POLL_MS = 500
PAGE_BYTES = 64 * 1024
"""Of batches that are read at a time; one is read even if it is larger."""
RETRY_MS = 1_000
"""Before a partition is read again that cannot be read now."""
EMPTY_PAUSE_MS = 20
"""Behind a read that brought nothing: a node that does not wait is not asked without end."""
LOOK_AROUND_MS = 1_000
"""How often it is looked whether the topic is there, and has more partitions."""

_Result = TypeVar("_Result")


class NoHaste:
    """The patience of a read that is given up only with all that belongs to it."""

    is_gone = False

    async def wait(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        return await work


class _TailOverError(Exception):
    """The stream ends, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TailStream:
    """Made by `app.services.tails`. Of what was read and not said it holds one page a reader; `memory` is for
    those that are larger."""

    def __init__(
        self,
        command: TailCommand,
        topic: Topic,
        principal: Principal,
        position: TailPosition,
        *,
        gateway: Gateway,
        records: RecordsService,
        memory: TailMemory,
        is_replaced: bool,
    ) -> None:
        """`is_replaced`: what was read before was of another topic of this name."""
        self._command = command
        self._topic = topic
        self._principal = principal
        self._position = position
        self._clock = gateway.clock
        self._metadata = gateway.metadata
        self._records = records
        self._memory = memory
        self._is_replaced = is_replaced
        self._pace = TailPace(command.messages_per_second)
        self._polls = asyncio.Semaphore(POLLS_AT_ONCE_MAX)
        self._turn = asyncio.Lock()
        self._said_ms = gateway.clock.monotonic_ms()

    async def run(self, say: Say) -> str:
        """Say what there is and what comes, until something ends it: the reason."""
        reasons: list[str] = []
        try:
            await self._say(say, self._position.replaced() if self._is_replaced else self._position.position())
            async with asyncio.TaskGroup() as tasks:
                for partition in self._position.open_partitions():
                    tasks.create_task(self._follow(partition, say))
                await self._look_around(tasks, say)
        except* _TailOverError as over:
            reasons = [each.reason for each in over.exceptions if isinstance(each, _TailOverError)]
        return reasons[0]

    async def _look_around(self, tasks: asyncio.TaskGroup, say: Say) -> None:
        while True:
            await self._clock.sleep(LOOK_AROUND_MS)
            topic = self._topic_now()
            for partition in () if self._command.partitions else range(topic.partitions):
                if partition not in self._position:
                    if len(self._position) >= TAIL_PARTITIONS_MAX:
                        raise _TailOverError("partitions")
                    self._position.add(partition)
                    tasks.create_task(self._follow(partition, say))
            if self._clock.monotonic_ms() - self._said_ms >= HEARTBEAT_MS:
                async with self._turn:
                    await self._say(say, self._position.position() or COMMENT)

    def _topic_now(self) -> Topic:
        """Raises _TailOverError."""
        topic = self._metadata.topic_by_id(self._topic.id)
        if topic is None:
            raise _TailOverError("topicRemoved")
        return topic

    async def _follow(self, partition: int, say: Say) -> None:
        """Until the partition is gone."""
        needed_bytes = 0
        while True:
            try:
                with self._memory.hold() as hold:
                    if needed_bytes:
                        await hold.wait_for(needed_bytes)
                    needed_bytes = await self._say_next(partition, hold, say)
            except ServerError as error:
                needed_bytes = 0
                if await self._stop_for(partition, error, say):
                    return

    async def _say_next(self, partition: int, hold: TailHold, say: Say) -> int:
        """Read and say a page. Where there is no room for it, it is let go: how much it needs. (In a frame of its own,
        or what was said would be kept for as long as the next read waits.) Raises ServerError."""
        async with self._polls:
            read = await self._read(partition, may_wait=not hold.size_bytes)
            self._check_same(read)
            size_bytes = len(read.response.batches)
            if size_bytes > PAGE_BYTES and not hold.grow_to(size_bytes):
                return size_bytes
            await self._say_page(partition, read, say)
        if read.next_offset == read.response.offset:
            await self._clock.sleep(EMPTY_PAUSE_MS)
        return 0

    async def _read(self, partition: int, *, may_wait: bool) -> RecordsRead:
        """Raises ServerError."""
        place, command = self._position.place(partition), self._command
        wait_ms = SHARED_POLL_MS if len(self._position) > POLLS_AT_ONCE_MAX else POLL_MS
        asked = RecordsCommand(
            command.topic,
            partition,
            FirstOffset.GIVEN,
            place.offset,
            -1,
            max_bytes=PAGE_BYTES,
            wait_ms=wait_ms if may_wait else 0,
            epoch=place.epoch,
            message_filter=command.message_filter,
        )
        return await self._records.read(asked, self._principal, NoHaste())

    def _check_same(self, read: RecordsRead) -> None:
        if read.topic.id != self._topic.id:
            raise _TailOverError("topicRemoved")

    async def _stop_for(self, partition: int, error: ServerError, say: Say) -> bool:
        """Say what is missing, or wait a little where it only cannot be read now; whether nothing more comes."""
        if error.code is ProblemCode.TOPIC_NOT_FOUND:
            raise _TailOverError("topicRemoved")
        self._topic_now()
        named = self._metadata.topic(self._topic.name)
        if named is None or named.id != self._topic.id:
            raise _TailOverError("topicRemoved")  # what was answered may be about another one
        async with self._turn:
            text = self._position.missing(partition, error)
            if text is not None:
                await self._say(say, text)
        if text is None:
            await self._clock.sleep(error.retry_after_ms or RETRY_MS)
        return error.code is ProblemCode.MESSAGE_EXPIRED

    async def _say_page(self, partition: int, read: RecordsRead, say: Say) -> None:
        """Raises ServerError RECORDS_CORRUPT."""
        epoch = read.response.leader_epoch
        found = read.records()
        while some := list(islice(found, self._pace.messages_at_once)):
            async with self._turn:
                wait_ms = self._pace.wait_ms(self._clock.monotonic_ms())
                if wait_ms:
                    await self._clock.sleep(wait_ms)
                for header, offset, record in some:
                    place = TailPlace(partition, offset + 1, epoch)
                    text = self._position.message(self._data(read, header, offset, record), place)
                    await self._say(say, text)
                self._pace.took(len(some), self._clock.monotonic_ms())
            await asyncio.sleep(0)  # others have their turn, also where the client takes everything at once
        self._position.move(TailPlace(partition, max(read.next_offset, self._position.place(partition).offset), epoch))

    async def _say(self, say: Say, text: bytes) -> None:
        if text:
            self._said_ms = self._clock.monotonic_ms()
            await say(text)

    def _data(self, read: RecordsRead, header: BatchHeader, offset: int, record: Record) -> bytes:
        size_bytes, size_max = len(record.body), self._command.body_bytes_max
        is_cut = size_bytes > size_max
        if is_cut:
            content_type = record.content_type or "application/json"
            record = msgspec.structs.replace(record, body=record.body[:size_max], content_type=content_type)
        view = view_of(
            record,
            message_id=read.message_id(header, offset),
            queue=read.topic.name,
            partition=read.partition,
            offset=offset,
            append_time_ms=header.append_time_ms,
            topic_ttl_ms=read.topic.config.ttl_ms,
        )
        line = encode_line(view)[:-1]
        return line if not is_cut else b'%b,"truncated":true,"bodyBytes":%d}' % (line[:-1], size_bytes)
