"""Reading all partitions at once: what retention removed, partitions that are added, how many polls there are."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from msgspec import Raw

from acklog.catalog import PartitionState, TopicConfig, TopicDescription
from acklog.command import tail_reader
from acklog.command.failures import CommandError
from acklog.command.tail_follower import gap_text
from acklog.command.tail_reader import POLLS_AT_ONCE_MAX, TailReader, TailStart
from acklog.errors import (
    AcklogError,
    LogDiverged,
    MessageExpired,
    NotFound,
    OffsetOutOfRange,
    TooManyWatchers,
    TopicRemoved,
    UnknownField,
)
from acklog.messages import RecordsPage, StoredMessage
from acklog.streams.tail_reading import OnGap
from acklog.tails import TailGap

CONFIG = TopicConfig("time", -1, -1, 1, 1, 1, 1)
PAGE_MESSAGES = 3


StreamItem = StoredMessage | TailGap | AcklogError


class Stream:
    """What a server says by one, up to a failure."""

    def __init__(self, items: list[StreamItem], on_gap: OnGap) -> None:
        self._items = items
        self._on_gap = on_gap

    async def __aenter__(self) -> "Stream":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def __aiter__(self) -> AsyncIterator[StoredMessage]:
        for item in self._items:
            await asyncio.sleep(0)
            if isinstance(item, AcklogError):
                raise item
            if isinstance(item, TailGap):
                self._on_gap(item)
            else:
                yield item
        await asyncio.Event().wait()


class Log:
    """A topic in memory. `starts[p]` is the first offset of partition `p` that is still there."""

    def __init__(self, *sizes: int) -> None:
        self.partitions = [
            [self._message(number, offset) for offset in range(size)] for number, size in enumerate(sizes)
        ]
        self.starts = [0] * len(sizes)
        self.grown = asyncio.Event()
        self.polls = self.polls_max = 0
        self.topics = self
        self.epoch = 3
        self.epochs_asked: list[int | None] = []
        self.knows_epochs = True
        self.gone: set[int] = set()
        self.streams: list[list[StreamItem]] = []
        self.tails_asked: list[dict[int, int]] = []

    def _message(self, partition: int, offset: int) -> StoredMessage:
        return StoredMessage(
            message_id=f"m-{partition}-{offset}",
            topic="t",
            partition=partition,
            offset=offset,
            json_body=Raw(b"1"),
            timestamp_ms=offset,
            append_time_ms=offset,
        )

    def append(self, partition: int) -> None:
        if partition == len(self.partitions):
            self.partitions.append([])
            self.starts.append(0)
        log = self.partitions[partition]
        log.append(self._message(partition, len(log)))
        self.grown.set()
        self.grown = asyncio.Event()

    async def get(self, name: str) -> TopicDescription:
        states = [
            PartitionState(number, life="gone")
            if number in self.gone
            else PartitionState(number, log_start=start, high_watermark=len(log))
            for number, (start, log) in enumerate(zip(self.starts, self.partitions, strict=True))
        ]
        return TopicDescription("t", "id", len(states), 1, CONFIG, 1, partition_states=states)

    def tail(self, topic: str, *, on_gap: OnGap, **options: Any) -> "Stream":
        """What `streams` holds next; without any this is a server that knows none."""
        self.tails_asked.append(options["offsets"])
        return Stream(self.streams.pop(0) if self.streams else [NotFound("there is nothing at this path")], on_gap)

    async def records(
        self,
        topic: str,
        partition: int,
        *,
        offset: int | None = None,
        epoch: int | None = None,
        time_ms: int | None = None,
        max_bytes: int | None = None,
        wait_s: float = 0,
        message_filter: str | None = None,
    ) -> RecordsPage:
        if epoch is not None and not self.knows_epochs:
            raise UnknownField("epoch is not known", field="epoch")
        self.epochs_asked.append(epoch)
        if partition in self.gone:
            raise MessageExpired("it was decommissioned, and is gone")
        if epoch is not None and epoch < self.epoch and offset:
            raise LogDiverged("it was cut", extra={"divergedAt": 2, "leaderEpoch": self.epoch})
        answered_in = self.epoch
        self.polls += 1
        self.polls_max = max(self.polls_max, self.polls)
        try:
            log, start = self.partitions[partition], self.starts[partition]
            if offset is None:
                offset = min(max(start, time_ms or 0), len(log))
            if not start <= offset <= len(log):
                raise OffsetOutOfRange("gone", extra={"logStart": start, "highWatermark": len(log)})
            await asyncio.sleep(0)
            if wait_s and offset == len(log):
                await self.grown.wait()
            found = log[offset : offset + PAGE_MESSAGES]
            return RecordsPage(found, offset, offset + len(found), start, len(log), answered_in)
        finally:
            self.polls -= 1


class Shown:
    def __init__(self, log: Log, *, messages_max: int | None = None) -> None:
        self.ids: list[str] = []
        self.notes: list[str] = []
        client: Any = log
        self.reader = TailReader(client, "t", show=self._show, note=self.notes.append, messages_max=messages_max)

    def _show(self, messages: Sequence[StoredMessage]) -> None:
        self.ids += [message.message_id for message in messages]


async def test_everything_once_and_in_each_partitions_order() -> None:
    log = Log(7, 0, 4)
    shown = Shown(log)
    await shown.reader.run(TailStart(is_earliest=True), is_following=False)
    assert [each for each in shown.ids if each.startswith("m-0-")] == [f"m-0-{offset}" for offset in range(7)]
    assert [each for each in shown.ids if each.startswith("m-2-")] == [f"m-2-{offset}" for offset in range(4)]
    assert len(shown.ids) == 11


async def test_the_end_is_where_it_was_at_the_beginning() -> None:
    log = Log(1)
    shown = Shown(log)
    await shown.reader.run(TailStart(), is_following=False)
    assert shown.ids == []


async def test_the_last_and_then_what_comes() -> None:
    log = Log(10, 10)
    shown = Shown(log, messages_max=5)
    running = asyncio.create_task(shown.reader.run(TailStart(last=4), is_following=True))
    while len(shown.ids) < 4:
        await asyncio.sleep(0)
    assert sorted(shown.ids) == ["m-0-8", "m-0-9", "m-1-8", "m-1-9"]
    log.append(1)
    await running
    assert shown.ids[4:] == ["m-1-10"]


async def test_from_a_time() -> None:
    shown = Shown(Log(5, 2, 0))
    await shown.reader.run(TailStart(time_ms=3), is_following=False)
    assert shown.ids == ["m-0-3", "m-0-4"]


async def test_what_retention_removes_meanwhile_is_told() -> None:
    log = Log(8)
    shown = Shown(log, messages_max=5)
    read = log.records

    async def records(*arguments: Any, **options: Any) -> RecordsPage:
        page = await read(*arguments, **options)
        log.starts[0] = 6
        return page

    log.records = records  # type: ignore[method-assign]
    await shown.reader.run(TailStart(is_earliest=True), is_following=True)
    assert shown.ids == ["m-0-0", "m-0-1", "m-0-2", "m-0-6", "m-0-7"]
    assert shown.notes == ["Retention removed 3 messages of partition 0 before they were shown."]


async def test_a_topic_that_is_made_anew_ends_it() -> None:
    log = Log(4)
    shown = Shown(log)
    running = asyncio.create_task(shown.reader.run(TailStart(), is_following=True))
    while not log.polls:
        await asyncio.sleep(0)
    log.partitions[0].clear()
    log.grown.set()
    with pytest.raises(BaseExceptionGroup) as caught:
        await running
    assert caught.group_contains(CommandError, match="ended before offset 4")


async def test_it_says_where_it_has_been() -> None:
    log = Log(7)
    shown = Shown(log)
    await shown.reader.run(TailStart(is_earliest=True), is_following=False)
    assert log.epochs_asked == [None, 3, 3]


async def test_a_gateway_of_an_earlier_version_is_not_told() -> None:
    log = Log(7)
    log.knows_epochs = False
    shown = Shown(log)
    await shown.reader.run(TailStart(is_earliest=True), is_following=False)
    assert log.epochs_asked == [None, None, None]
    assert len(shown.ids) == 7


async def test_a_log_that_was_cut_behind_it_ends_it() -> None:
    log = Log(3)
    shown = Shown(log)
    running = asyncio.create_task(shown.reader.run(TailStart(is_earliest=True), is_following=True))
    while len(shown.ids) < 3 or not log.polls:
        await asyncio.sleep(0)
    log.epoch = 4
    log.append(0)
    with pytest.raises(BaseExceptionGroup) as caught:
        await running
    assert caught.group_contains(CommandError, match="ended before offset 2")


async def test_a_partition_that_is_added_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_reader, "LOOK_FOR_PARTITIONS_INTERVAL_S", 0)
    log = Log(0)
    shown = Shown(log, messages_max=2)
    running = asyncio.create_task(shown.reader.run(TailStart(), is_following=True))
    await asyncio.sleep(0)
    log.append(1)
    log.append(1)
    await asyncio.wait_for(running, 10)
    assert shown.ids == ["m-1-0", "m-1-1"]


async def test_polls_are_bounded() -> None:
    log = Log(*[2] * (POLLS_AT_ONCE_MAX + 20))
    shown = Shown(log)
    await shown.reader.run(TailStart(is_earliest=True), is_following=False)
    assert len(shown.ids) == 2 * (POLLS_AT_ONCE_MAX + 20)
    assert log.polls_max == POLLS_AT_ONCE_MAX


async def test_a_partition_without_a_leader_is_told() -> None:
    log = Log(1)
    log.starts[0] = None  # type: ignore[call-overload]
    with pytest.raises(CommandError, match="partition 0 cannot be read: it has no leader"):
        await Shown(log).reader.run(TailStart(is_earliest=True), is_following=False)


async def test_a_partition_that_is_gone_is_passed_over() -> None:
    log = Log(2, 2)
    log.gone.add(0)
    for start in (TailStart(is_earliest=True), TailStart(last=5), TailStart(time_ms=0)):
        shown = Shown(log)
        await shown.reader.run(start, is_following=False)
        assert (shown.ids, shown.notes) == (["m-1-0", "m-1-1"], [])


async def test_a_partition_that_goes_while_it_is_followed_is_told_and_left() -> None:
    log = Log(2, 1)
    shown = Shown(log, messages_max=4)
    running = asyncio.create_task(shown.reader.run(TailStart(is_earliest=True), is_following=True))
    while len(shown.ids) < 3:
        await asyncio.sleep(0)
    log.gone.add(0)
    log.grown.set()
    while not shown.notes:
        await asyncio.sleep(0)
    log.append(1)
    await asyncio.wait_for(running, 10)
    assert shown.notes == ["Partition 0 was decommissioned, and is gone: nothing more comes from it."]
    assert shown.ids[-1] == "m-1-1"


def message(partition: int, offset: int) -> StoredMessage:
    return Log()._message(partition, offset)


async def test_what_there_is_is_read_and_what_comes_is_streamed() -> None:
    log = Log(4, 1)
    log.streams = [[message(0, 4), message(2, 0), TopicRemoved("it was deleted")]]
    shown = Shown(log)
    with pytest.raises(TopicRemoved):
        await shown.reader.run(TailStart(is_earliest=True), is_following=True)
    assert log.tails_asked == [{0: 4, 1: 1}]
    assert shown.ids[-2:] == ["m-0-4", "m-2-0"]
    assert len(shown.ids) == 7


async def test_a_server_that_has_no_stream_to_give_any_more_is_asked_again_and_again_from_there() -> None:
    log = Log(2, 1)
    gap = TailGap("removed", 1, 1, 5)
    log.streams = [[message(0, 2), message(0, 3), gap, TooManyWatchers("it is full")]]
    shown = Shown(log, messages_max=5)
    running = asyncio.create_task(shown.reader.run(TailStart(), is_following=True))
    while len(shown.notes) < 2:
        await asyncio.sleep(0)
    for _ in range(5):
        log.append(0)
        log.append(1)
    await asyncio.wait_for(running, 10)
    assert sorted(shown.ids) == ["m-0-2", "m-0-3", "m-0-4", "m-0-5", "m-0-6"]
    assert shown.notes == [
        "Retention removed 4 messages of partition 1 before they were shown.",
        "The server serves as many streams as it may: it is asked again and again instead.",
    ]


async def test_enough_messages_end_a_stream() -> None:
    log = Log(1)
    log.streams = [[message(0, 1), message(0, 2), message(0, 3)]]
    shown = Shown(log, messages_max=2)
    await asyncio.wait_for(shown.reader.run(TailStart(), is_following=True), 10)
    assert shown.ids == ["m-0-1", "m-0-2"]


@pytest.mark.parametrize(("partitions", "asked"), [(100, 1), (101, 0)])
async def test_a_stream_reads_so_many_partitions(partitions: int, asked: int) -> None:
    log = Log(*[1] * partitions)
    shown = Shown(log, messages_max=partitions + 1)
    running = asyncio.create_task(shown.reader.run(TailStart(is_earliest=True), is_following=True))
    while len(shown.ids) < partitions or not log.polls:
        await asyncio.sleep(0)
    log.append(0)
    await asyncio.wait_for(running, 10)
    assert len(log.tails_asked) == asked


@pytest.mark.parametrize(
    ("gap", "says"),
    [
        (TailGap("damaged", 3, 4, 6), "Offsets 4 to 5 of partition 3 are damaged and left out."),
        (TailGap("cut", 3, 9, 6), "Partition 3 was cut: other messages than those shown follow from 6 on."),
        (
            TailGap("partitionGone", 3, 4, None),
            "Partition 3 was decommissioned, and is gone: nothing more comes from it.",
        ),
        (TailGap("topicReplaced"), "The topic was deleted and made again: its new messages follow, from the first."),
        (TailGap("of a later version", 3), "Something is missing in partition 3: of a later version."),
    ],
)
def test_gaps_are_told_to_people(gap: TailGap, says: str) -> None:
    assert gap_text(gap) == says
