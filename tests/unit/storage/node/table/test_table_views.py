"""The latest value of a key, as a node tells it: after compaction, restarts, and damage to what it goes by."""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.processes.node_metrics import NodeCollector
from cluster.errors import ServerError
from cluster.model.values import CleanupPolicy, Topic
from storage.compaction.compaction_settings import CompactionSettings
from storage.log.keys import LogKey
from storage.rpc.deletion_messages import DeleteRequest
from storage.rpc.messages import ProduceRequest, RecordsRequest
from storage.rpc.table_messages import LatestRequest, LatestResponse
from storage.table.memory_table_index import MemoryTableIndex, MemoryTableIndexes
from storage.table.table_index import TableIndex, TableIndexFailedError, TableState, digest_of
from storage.table.table_settings import TableSettings
from tests.support.compaction import tombstone, value
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

_Result = TypeVar("_Result")
QUICK = dataclasses.replace(
    SMALL,
    compaction=CompactionSettings(look_interval_ms=1_000, step_bytes=500, dirty_ratio_min=0.3),
    table=TableSettings(step_bytes=700),
)
KEYS = 5


class KeptTables(MemoryTableIndexes):
    """They outlive their process, as files do. `wrong` ones fail when they are used."""

    def __init__(self) -> None:
        self.kept: dict[LogKey, MemoryTableIndex] = {}
        self.opened = 0
        self.wrong = False

    def open(self, key: LogKey) -> TableIndex:
        self.opened += 1
        if self.wrong:
            raise TableIndexFailedError("the disk says no")
        return self.kept.setdefault(key, MemoryTableIndex())

    def remove(self, key: LogKey) -> None:
        self.kept.pop(key, None)


class HeldTables(KeptTables):
    """Whatever is done with them waits while it may not go on."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def run(self, call: Callable[[], _Result]) -> _Result:
        await self.may_go_on.wait()
        return await super().run(call)


async def compacted_topic(sim: SimulatedNode, name: str = "orders", **config: object) -> Topic:
    settings = {"cleanup_policy": CleanupPolicy.COMPACT, "segment_bytes": 600, "dedup_window_ms": 0, **config}
    return await sim.topic(name, **settings)


async def send(sim: SimulatedNode, topic: Topic, *records: Record) -> None:
    await sim.node.produce(ProduceRequest(topic.id, 0, encode_batch(list(records))))


async def fill(sim: SimulatedNode, topic: Topic, first: int, count: int) -> None:
    for number in range(first, first + count):
        await send(sim, topic, value(f"k{number % KEYS}", str(number)))


async def latest(sim: SimulatedNode, topic: Topic, key: str) -> LatestResponse:
    response = await sim.node.latest(LatestRequest(topic.id, 0, key, topic.mapping))
    assert isinstance(response, LatestResponse)
    return response


async def values(sim: SimulatedNode, topic: Topic) -> dict[str, bytes]:
    found = {}
    for key in [*(f"k{number}" for number in range(KEYS)), "other"]:
        record = (await latest(sim, topic, key)).record
        if record is not None:
            assert record.key == key
            found[key] = record.body
    return found


def expected(count: int) -> dict[str, bytes]:
    return {f"k{number % KEYS}": b"%d" % number for number in range(count)}


def run(main: Any, tables: KeptTables | None = None) -> None:
    async def whole(sim: SimulatedNode) -> None:
        if tables is not None:
            await sim.stop()
            sim.table_indexes = tables
            await sim.start()
        await main(sim)

    with_node(whole, QUICK)


def test_what_was_sent_is_there_at_once_and_stays_when_the_log_is_compacted() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        assert await values(sim, topic) == {}
        for number in range(12):
            await fill(sim, topic, number, 1)
            found = await latest(sim, topic, f"k{number % KEYS}")
            assert (found.offset, found.record) == (number, value(f"k{number % KEYS}", str(number)))
        await fill(sim, topic, 12, 88)
        await sim.clock.sleep(5_000)
        assert sim.node.compactor.figures.records_removed > 0
        assert await values(sim, topic) == expected(100)

    run(main)


def test_tombstones_before_and_after_they_went() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, tombstone_retention_ms=10_000, max_compaction_lag_ms=1_000)
        await fill(sim, topic, 0, 10)
        await send(sim, topic, tombstone("k3"))
        await fill(sim, topic, 10, 2)
        left = {**expected(12)}
        del left["k3"]
        for _ in range(5):
            assert await values(sim, topic) == left
            await sim.clock.sleep(10_000)
        assert (await latest(sim, topic, "k3")).offset == -1
        await send(sim, topic, value("k3", "again"))
        assert await values(sim, topic) == {**left, "k3": b"again"}

    run(main)


def test_what_has_outlived_its_time_is_not_there_nor_what_came_before_it() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, ttl_ms=60_000)
        await send(sim, topic, value("k0", "stays for a while"))
        await send(sim, topic, Record(b"short", "k0", ttl_ms=5_000), Record(b"1", "k1"))
        assert await values(sim, topic) == {"k0": b"short", "k1": b"1"}
        await sim.clock.sleep(6_000)
        assert await values(sim, topic) == {"k1": b"1"}
        assert (await latest(sim, topic, "k0")).offset == 1
        await sim.clock.sleep(60_000)
        assert await values(sim, topic) == {}

    run(main)


def test_what_was_deleted_on_purpose_is_not_there() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 10)
        assert await values(sim, topic) == expected(10)
        await sim.node.delete(DeleteRequest(topic.id, 0, "offset", 7))
        assert await values(sim, topic) == {"k2": b"7", "k3": b"8", "k4": b"9"}
        await sim.node.delete(DeleteRequest(topic.id, 0, "end"))
        assert await values(sim, topic) == {}
        await fill(sim, topic, 10, 1)
        assert await values(sim, topic) == {"k0": b"10"}

    run(main)


def test_an_index_that_is_there_after_a_restart_goes_on() -> None:
    tables = KeptTables()

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 30)
        assert await values(sim, topic) == expected(30)
        [index] = tables.kept.values()
        applied = index.state.applied
        await fill(sim, topic, 30, 5)
        await sim.stop()
        await sim.start()
        assert (index.state.applied, len(index)) == (applied, KEYS)
        assert await values(sim, topic) == expected(35)
        assert index.state.applied == 35

    run(main, tables)


@pytest.mark.parametrize("damage", ["absent", "of another log", "wrong places", "beyond the log"])
def test_an_index_that_is_wrong_is_made_anew(damage: str) -> None:
    tables = KeptTables()

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 30)
        assert await values(sim, topic) == expected(30)
        [(key, index)] = tables.kept.items()
        await sim.stop()
        wrong = {digest_of(f"k{number}"): number + 1 for number in range(KEYS)}
        if damage == "absent":
            tables.remove(key)
        elif damage == "of another log":
            index.apply(wrong, index.state._replace(applied_epoch=77))
        elif damage == "beyond the log":
            index.apply(wrong, TableState(1_000, index.state.applied_epoch))
        else:
            index.apply(wrong, index.state)
        await sim.start()
        if damage == "wrong places":
            with pytest.raises(ServerError) as caught:
                await latest(sim, topic, "k0")
            assert (caught.value.code, caught.value.is_retriable) == (ProblemCode.UNAVAILABLE, True)
        assert await values(sim, topic) == expected(30)

    run(main, tables)


def test_an_index_that_cannot_be_made_is_unavailable_for_as_long() -> None:
    tables = KeptTables()

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 3)
        tables.wrong = True
        for _ in range(2):
            with pytest.raises(ServerError) as caught:
                await latest(sim, topic, "k0")
            assert caught.value.code is ProblemCode.UNAVAILABLE
        tables.wrong = False
        assert await values(sim, topic) == expected(3)

    run(main, tables)


def test_no_more_are_open_than_may_be() -> None:
    tables = KeptTables()

    async def main(sim: SimulatedNode) -> None:
        topics = [await compacted_topic(sim, f"t{number}") for number in range(4)]
        for _ in range(2):
            for topic in topics:
                await fill(sim, topic, 0, 3)
                assert await values(sim, topic) == expected(3)
                assert len(sim.node.tables) <= 2
        assert tables.opened == 8
        await sim.topics.delete(topics[0].name)
        await sim.clock.sleep(5_000)
        assert {key.topic_id for key in tables.kept} == {topic.id for topic in topics[1:]}

    async def whole(sim: SimulatedNode) -> None:
        await sim.stop()
        sim.table_indexes = tables
        await sim.start()
        await main(sim)

    with_node(whole, dataclasses.replace(QUICK, table=TableSettings(open_max=2)))


def test_a_batch_that_cannot_be_read_takes_away_what_it_may_have_changed() -> None:
    """R40: later values are told; of earlier ones nobody can say that they are the latest."""

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, segment_bytes=1_000_000)
        await fill(sim, topic, 0, 10)
        await sim.stop()
        [path] = [path for path in sim.disk.files() if path.endswith("-0/00000000000000000000.log")]
        sim.disk.bit_rot(path, 400, 1)
        await sim.start()
        await fill(sim, topic, 10, 3)
        assert [(await latest(sim, topic, f"k{number}")).offset for number in range(3)] == [10, 11, 12]
        [damaged] = await damaged_offsets(sim, topic)
        later = {f"k{number % KEYS}" for number in range(damaged + 1, 13)}
        for key in [f"k{number}" for number in range(KEYS)]:
            if key in later:
                assert (await latest(sim, topic, key)).record is not None
            else:
                with pytest.raises(ServerError) as caught:
                    await latest(sim, topic, key)
                assert caught.value.code is ProblemCode.RECORDS_CORRUPT
        with pytest.raises(ServerError):
            await latest(sim, topic, "other")

    run(main)


async def damaged_offsets(sim: SimulatedNode, topic: Topic) -> list[int]:
    found = []
    for offset in range(13):
        try:
            await sim.node.records(RecordsRequest(topic.id, 0, offset, max_bytes=1))
        except ServerError:
            found.append(offset)
    return found


def test_a_topic_that_keeps_everything_and_a_mapping_that_is_over() -> None:
    async def main(sim: SimulatedNode) -> None:
        plain = await sim.topic("plain")
        with pytest.raises(ServerError) as refused:
            await latest(sim, plain, "k0")
        assert refused.value.code is ProblemCode.TOPIC_NOT_COMPACTED
        topic = await compacted_topic(sim)
        grown = await sim.topics.update(topic.name, partitions=2)
        await sim.clock.sleep(5_000)
        assert grown.mapping == 1
        with pytest.raises(ServerError) as over:
            await latest(sim, topic, "k0")
        assert over.value.code is ProblemCode.CONFLICT
        assert (await latest(sim, grown, "k0")).offset == -1

    run(main)


def test_a_tombstone_that_comes_after_the_topic_has_grown_is_kept_also_where_who_asked_before_waits_yet() -> None:
    """Else what was there before it, in another partition, would be told."""
    tables = HeldTables()

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 3)
        tables.may_go_on.clear()
        early = asyncio.ensure_future(latest(sim, topic, "k0"))
        grown = await sim.topics.update(topic.name, partitions=2)
        await sim.clock.sleep(1_000)
        await send(sim, topic, tombstone("k0"))
        late = asyncio.ensure_future(latest(sim, grown, "k0"))
        await sim.clock.sleep(1_000)
        tables.may_go_on.set()
        for found in (await early, await late, await latest(sim, grown, "k0")):
            assert (found.offset, found.record) == (3, None)

    run(main, tables)


def test_metrics_say_what_was_asked_and_what_it_cost() -> None:
    tables = KeptTables()

    async def main(sim: SimulatedNode) -> None:
        topic, other = await compacted_topic(sim), await sim.topic("others")
        await fill(sim, topic, 0, 30)
        assert table_metrics(sim) == {"indexed": 0, "index failures": 0, "open": 0}
        await latest(sim, topic, "k0")
        await latest(sim, topic, "other")
        with pytest.raises(ServerError):
            await latest(sim, other, "k0")
        asked = {"found": 1, "without_value": 1, "failed": 1}
        assert table_metrics(sim) == {**asked, "indexed": 30, "index failures": 0, "open": 1}
        [index] = tables.kept.values()
        index.apply({digest_of("k1"): 0}, index.state)
        with pytest.raises(ServerError):
            await latest(sim, topic, "k1")
        assert (await latest(sim, topic, "k1")).record == value("k1", "26")
        asked = {"found": 2, "without_value": 1, "failed": 2}
        assert table_metrics(sim) == {**asked, "indexed": 60, "index failures": 1, "open": 1}

    run(main, tables)


def table_metrics(sim: SimulatedNode) -> dict[str, float]:
    """Without the results that nothing came to."""
    names = {
        "acklog_table_indexed_messages_total": "indexed",
        "acklog_table_index_failures_total": "index failures",
        "acklog_table_indexes_open": "open",
    }
    found: dict[str, float] = {}
    for family in NodeCollector(sim.node, sim.metadata, names_max=10).collect():
        for sample in family.samples:
            if sample.name == "acklog_table_lookups_total" and sample.value:
                found[sample.labels["result"]] = sample.value
            elif sample.name in names:
                found[names[sample.name]] = sample.value
    return found
