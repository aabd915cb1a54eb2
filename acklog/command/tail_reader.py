"""Reads all partitions of a topic at once, from a position on, and goes on as messages come."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from acklog.command.failures import CommandError
from acklog.command.log_ends import GONE, log_end, log_start
from acklog.command.session import DEFAULT_TIMEOUT_S
from acklog.command.tail_follower import TailFollower

if TYPE_CHECKING:
    from acklog import AsyncClient
    from acklog.catalog import PartitionState
    from acklog.errors import RecordsCorrupt
    from acklog.messages import RecordsPage, StoredMessage

# More partitions than this take turns: each poll is a connection, and a request that waits at the server.
POLLS_AT_ONCE_MAX = 64
POLL_S = 10.0
SHARED_POLL_S = 0.5
LOOK_FOR_PARTITIONS_INTERVAL_S = 15.0
BACKLOG_PAGE_BYTES_MAX = 4 * 1024 * 1024
LAST_MESSAGES_MAX = 10_000

Show = Callable[[Sequence["StoredMessage"]], None]
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TailStart:
    """Where to begin: at a moment, with the last messages there are, or at one end of the log."""

    time_ms: int | None = None
    last: int | None = None
    is_earliest: bool = False


@dataclass(frozen=True, slots=True)
class MissingOffsets:
    """Offsets that are not there: where to go on, and why."""

    next_offset: int
    note: str


class EnoughError(Exception):
    """As many messages as were asked for have been shown."""


class TailReader:
    """One run over a topic. `show` gets messages in each partition's order."""

    def __init__(
        self,
        client: "AsyncClient",
        topic: str,
        *,
        show: Show,
        note: Note,
        messages_max: int | None,
        message_filter: str | None = None,
        patience_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """`patience_s` is how long a server that goes away is waited for while it is followed."""
        self._client = client
        self._topic = topic
        self._show = show
        self._note = note
        self._left = messages_max
        self._filter = message_filter
        self._polls = asyncio.Semaphore(POLLS_AT_ONCE_MAX)
        self._reached: dict[int, int] = {}
        self._epochs: dict[int, int | None] = {}
        self._follower = TailFollower(
            client, topic, emit=self._emit, note=note, message_filter=message_filter, patience_s=patience_s
        )

    async def run(self, start: TailStart, *, is_following: bool) -> None:
        """Show what there is from `start` on, then what comes. Raises AcklogError, or groups of errors."""
        description = await self._client.topics.get(self._topic)
        states = [state for state in description.partition_states if state.life != GONE]
        try:
            if start.last is not None:
                await self._show_last(states, min(start.last, LAST_MESSAGES_MAX))
                self._reached = {state.partition: log_end(state) for state in states}
            else:
                begins = await asyncio.gather(*(self._begin(state, start) for state in states))
                self._reached = {state.partition: begin for state, begin in zip(states, begins, strict=True)}
            await self._read_all({state.partition: log_end(state) for state in states})
            if is_following:
                await self._follow_stream()
                await self._poll_all(description.partitions)
        except* EnoughError:
            pass

    async def _begin(self, state: "PartitionState", start: TailStart) -> int:
        if start.is_earliest:
            return log_start(state)
        if start.time_ms is None or log_start(state) == log_end(state):
            return log_end(state)
        from acklog.errors import RecordsCorrupt

        async with self._polls:
            try:
                page = await self._client.records(self._topic, state.partition, time_ms=start.time_ms, max_bytes=1)
            except RecordsCorrupt as error:
                return _behind(error, log_start(state))
        return page.messages[0].offset if page.messages else page.next_offset

    async def _show_last(self, states: Sequence["PartitionState"], count: int) -> None:
        """The last `count` of the topic by the time they were stored, over all partitions."""
        pages = await asyncio.gather(*(self._last_of(state, count) for state in states))
        messages = sorted(
            (each for page in pages for each in page), key=lambda each: (each.append_time_ms, each.offset)
        )
        self._emit(messages[-count:] if count else [])

    async def _last_of(self, state: "PartitionState", count: int) -> list["StoredMessage"]:
        offset, end = max(log_start(state), log_end(state) - count), log_end(state)
        messages: list[StoredMessage] = []
        while offset < end and count:
            page = await self._page(state.partition, offset, None, wait_s=0, max_bytes=BACKLOG_PAGE_BYTES_MAX)
            if isinstance(page, MissingOffsets):
                offset = page.next_offset
                continue
            messages += [each for each in page.messages if each.offset < end]
            offset = max(page.next_offset, offset + 1)
        return messages[-count:]

    async def _read_all(self, ends: dict[int, int]) -> None:
        """Every partition in a task of its own, up to its end."""
        async with asyncio.TaskGroup() as tasks:
            for partition, end in ends.items():
                tasks.create_task(self._read(partition, end))

    async def _follow_stream(self) -> None:
        """As long as there is one. What it has read past was answered by leaders whose epochs it does not say."""
        before = dict(self._reached)
        await self._follower.follow(self._reached)
        self._epochs = {
            each: epoch for each, epoch in self._epochs.items() if before.get(each) == self._reached.get(each)
        }

    async def _poll_all(self, partitions: int) -> None:
        """Where there is no stream: for ever, partitions that are added later included."""
        async with asyncio.TaskGroup() as tasks:
            for partition in self._reached:
                tasks.create_task(self._read(partition, None))
            tasks.create_task(self._look_for_partitions(tasks, partitions))

    async def _read(self, partition: int, end: int | None) -> None:
        from acklog.errors import MessageExpired

        while end is None or self._reached[partition] < end:
            offset, epoch = self._reached[partition], self._epochs.get(partition)
            try:
                page = await self._page(partition, offset, epoch, wait_s=0 if end is not None else self._poll_s())
            except MessageExpired:
                self._note(f"Partition {partition} was decommissioned, and is gone: nothing more comes from it.")
                del self._reached[partition]
                return
            if isinstance(page, MissingOffsets):
                self._note(page.note)
                self._reached[partition], self._epochs[partition] = page.next_offset, None
                continue
            self._epochs[partition] = page.epoch
            fresh = [each for each in page.messages if each.offset >= offset and (end is None or each.offset < end)]
            if fresh:
                self._emit(fresh)
            if end is not None and page.next_offset <= offset:
                return
            reached = max(offset, page.next_offset)
            self._reached[partition] = reached if end is None else min(reached, end)

    async def _page(
        self, partition: int, offset: int, epoch: int | None, *, wait_s: float, max_bytes: int | None = None
    ) -> "RecordsPage | MissingOffsets":
        """Raises CommandError for an offset that the log does not have yet, or with other messages below it."""
        from acklog.errors import LogDiverged, OffsetOutOfRange, RecordsCorrupt, UnknownField

        read = partial(
            self._client.records,
            self._topic,
            partition,
            offset=offset,
            wait_s=wait_s,
            max_bytes=max_bytes,
            message_filter=self._filter,
        )
        async with self._polls:
            try:
                try:
                    return await read(epoch=epoch)
                except UnknownField:  # a gateway of an earlier version, in the middle of an upgrade
                    return await read()
            except OffsetOutOfRange as error:
                log_start = error.extra.get("logStart")
                if isinstance(log_start, int) and offset < log_start:
                    count = log_start - offset
                    note = f"Retention removed {count} messages of partition {partition} before they were shown."
                    return MissingOffsets(log_start, note)
                raise self._ends_before(partition, offset) from None
            except LogDiverged as error:
                raise self._ends_before(partition, error.extra.get("divergedAt", offset)) from None
            except RecordsCorrupt as error:
                behind = _behind(error, offset)
                note = f"Offsets {offset} to {behind - 1} of partition {partition} are damaged and left out."
                return MissingOffsets(behind, note)

    def _ends_before(self, partition: int, offset: object) -> CommandError:
        return CommandError(
            f"partition {partition} of {self._topic} ended before offset {offset}, and goes on with other messages",
            hint="The topic was made anew while it was read, or its server lost messages. Begin again.",
        )

    async def _look_for_partitions(self, tasks: asyncio.TaskGroup, known: int) -> None:
        while True:
            await asyncio.sleep(LOOK_FOR_PARTITIONS_INTERVAL_S)
            description = await self._client.topics.get(self._topic)
            for partition in range(known, description.partitions):
                self._reached.setdefault(partition, 0)
                tasks.create_task(self._read(partition, None))
            known = description.partitions

    def _emit(self, messages: Sequence["StoredMessage"]) -> None:
        shown = messages if self._left is None else messages[: self._left]
        self._show(shown)
        if self._left is not None:
            self._left -= len(shown)
            if self._left <= 0:
                raise EnoughError

    def _poll_s(self) -> float:
        return SHARED_POLL_S if self._polls.locked() else POLL_S


def _behind(damage: "RecordsCorrupt", offset: int) -> int:
    """Where messages can be read again behind `offset`. Raises the error itself where that is not known."""
    behind = damage.extra.get("next_offset")
    if not isinstance(behind, int) or behind <= offset:
        raise damage
    return behind
