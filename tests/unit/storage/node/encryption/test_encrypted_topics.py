"""An encrypted topic does all that another one does, and its files hold nothing of what is in its messages."""

import asyncio
import dataclasses

import msgspec
import pytest
from structlog.testing import capture_logs

from acklog.wire.batch import DedupKey, encode_batch, verify
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.log_page import verified
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.processes.stored_data_keys import newest_data_key
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import CleanupPolicy, Encryption, Topic, TopicConfig
from cluster.ports.coordination import Put
from storage.compaction.compaction_settings import CompactionSettings
from storage.encryption.log_cipher import LogCipher
from storage.encryption.master_key import MasterKeys
from storage.encryption.topic_keys import TopicKeys
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.node.encryption.data_key_keeper import PROBLEM
from storage.rpc.messages import ProduceRequest, RecordsRequest
from tests.support.encrypted_node import encrypted_topic, give_keys, master_key, on_disk, with_keys
from tests.support.schedules import schedule
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

BODY, KEY, HEADER, DEDUP = b"a body to hide", "a key to hide", "a header to hide", "a dedupId to hide"
SECRET = Record(BODY, KEY, {"name": HEADER}, ["a tag to hide"])


async def send_secret(sim: SimulatedNode, topic: Topic, count: int = 3) -> None:
    for number in range(count):
        own = [DedupKey(0, f"{DEDUP} {number}", b"12345678")]
        await sim.node.produce(ProduceRequest(topic.id, 0, encode_batch([SECRET], keys=own)))


def log_of(sim: SimulatedNode, kind: int = LogKind.MESSAGES) -> PartitionLog:
    return sim.node.replicas()[0].logs[kind]


@pytest.mark.parametrize("end", ["stop", "lose_power"])
def test_messages_come_back_and_are_on_no_disk(end: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await encrypted_topic(sim), await sim.group()
        await send_secret(sim, topic)
        delivered = (await sim.receive(topic, group, max_messages=1)).messages
        assert [each.record for each in delivered] == [SECRET]
        await sim.settle("nack", topic, group, delivered, delay_ms=0, reason="a reason to hide")
        assert on_disk(sim, b"to hide") == []
        await getattr(sim, end)()
        await sim.start()
        assert on_disk(sim, b"to hide") == []
        assert await sim.records_in_log(topic) == [SECRET] * 3
        again = (await sim.receive(topic, group)).messages
        assert [each.record for each in again] == [SECRET] * 3
        assert all(header.is_encrypted for header, _ in await log_of(sim).read_stored(0, max_bytes=1 << 20))
        duplicate = encode_batch([SECRET], keys=[DedupKey(0, f"{DEDUP} 1", b"12345678")])
        assert (await sim.node.produce(ProduceRequest(topic.id, 0, duplicate))).known, "as before the restart"

    with_keys(main)


def test_a_topic_in_clear_is_what_the_others_are_held_against() -> None:
    async def main(sim: SimulatedNode) -> None:
        await send_secret(sim, await sim.topic())
        assert on_disk(sim, b"to hide")

    with_keys(main)


def test_readers_get_batches_in_clear() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await send_secret(sim, topic, 1)
        answer = await sim.node.records(RecordsRequest(topic.id, 0, 0))
        header = verify(answer.batches)
        assert not header.is_encrypted
        assert header.length == len(answer.batches)

    with_keys(main)


def test_it_is_switched_on_and_off_for_what_comes_next() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        for encryption in (Encryption.ON, Encryption.OFF, Encryption.ON):
            await sim.send(topic, encryption.value.encode())
            await sim.topics.update("orders", config=TopicConfig(encryption=encryption))
            await sim.clock.sleep(100)
            await sim.send(topic, b"then")
        stored = await log_of(sim).read_stored(0, max_bytes=1 << 20)
        assert [header.is_encrypted for header, _ in stored] == [False, True, True, False, False, True]
        await sim.stop()
        await sim.start()
        assert len(await sim.bodies_in_log(topic)) == 6

    with_keys(main)


def test_delayed_messages_and_their_notes_are_encrypted() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        for number in range(20):
            await schedule(sim.node, topic, b"%d to hide" % number, delay_ms=1_000 + number)
        assert on_disk(sim, b"to hide") == []
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(5_000)
        assert await sim.bodies_in_log(topic) == [b"%d to hide" % number for number in range(20)]
        assert on_disk(sim, b"to hide") == []

    with_keys(main)


def test_dead_letters_of_an_encrypted_topic_are_encrypted() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await encrypted_topic(sim), await sim.group(max_attempts=1)
        await send_secret(sim, topic, 1)
        delivered = (await sim.receive(topic, group)).messages
        await sim.settle("nack", topic, group, delivered, delay_ms=0, reason="a reason to hide")
        await sim.clock.sleep(5_000)
        letters = sim.metadata.topic("orders.workers.dlq")
        assert letters is not None
        assert [each.body for each in await sim.records_in_log(letters)] == [BODY]
        assert on_disk(sim, b"to hide") == []

    with_keys(main)


def test_compaction_leaves_encrypted_what_was() -> None:
    quick = dataclasses.replace(
        SMALL, compaction=CompactionSettings(look_interval_ms=1_000, step_bytes=500, dirty_ratio_min=0.3)
    )

    async def main(sim: SimulatedNode) -> None:
        config = {"cleanup_policy": CleanupPolicy.COMPACT, "segment_bytes": 800, "dedup_window_ms": 0}
        topic = await encrypted_topic(sim, **config)
        for number in range(100):
            record = [Record(b"%d to hide" % number, f"k{number % 5} to hide"), Record(b"kept to hide", None)]
            await sim.node.produce(ProduceRequest(topic.id, 0, encode_batch(record)))
        await sim.clock.sleep(5_000)
        assert sim.node.compactor.figures.records_removed > 50
        await sim.stop()
        await sim.start()
        assert on_disk(sim, b"to hide") == []
        left = [record for record in await remaining(sim, topic) if record is not None]
        assert {record.key for record in left} == {None, *(f"k{number} to hide" for number in range(5))}
        assert sum(record.key is None for record in left) == 100

    with_keys(main, quick)


async def remaining(sim: SimulatedNode, topic: Topic) -> list[Record | None]:
    found: list[Record | None] = []
    offset = 0
    while True:
        answer = await sim.node.records(RecordsRequest(topic.id, 0, offset))
        for at, header in verified(answer.batches):
            found += decode_remaining(answer.batches, header, at)
        if answer.next_offset == offset:
            return found
        offset = answer.next_offset


def test_a_snapshot_of_groups_is_encrypted() -> None:
    small = dataclasses.replace(SMALL, delivery_snapshot_bytes=500)

    async def main(sim: SimulatedNode) -> None:
        topic, group = await encrypted_topic(sim), await sim.group(retry_backoff_min_ms=0, retry_jitter=0.0)
        await send_secret(sim, topic, 1)
        for number in range(8):
            await sim.clock.sleep(20_000)
            delivered = (await sim.receive(topic, group)).messages
            await sim.settle("nack", topic, group, delivered, delay_ms=0, reason=f"reason {number} to hide")
        assert any(path.endswith("/snapshot") for path in sim.disk.files())
        await sim.stop()
        assert on_disk(sim, b"to hide") == []
        await sim.start()
        await sim.clock.sleep(20_000)
        [again] = (await sim.receive(topic, group)).messages
        assert again.attempt == 9

    with_keys(main, small)


def test_nothing_is_encrypted_where_no_node_has_a_master_key() -> None:
    async def main(sim: SimulatedNode) -> None:
        with pytest.raises(ServerError) as refused:
            await encrypted_topic(sim)
        assert (refused.value.code, refused.value.field) == (ProblemCode.NO_MASTER_KEY, "config.encryption")
        assert sim.metadata.topics() == []

    with_node(main)


def test_without_its_master_key_nothing_of_a_topic_is_served_and_nothing_is_lost() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        clear = await sim.topic("clear")
        await sim.send(topic, b"1")
        await sim.stop()
        await give_keys(sim, master_key("another"))
        await sim.start()
        with pytest.raises(ServerError) as refused:
            await sim.send(topic, b"2")
        assert refused.value.code is ProblemCode.UNAVAILABLE
        assert PROBLEM in refused.value.detail
        assert master_key().id not in refused.value.detail, "the reason is the operator's"
        await sim.send(clear, b"3")
        await sim.stop()
        await give_keys(sim, master_key())
        await sim.start()
        await sim.send(topic, b"2")
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_keys(main)


def test_a_rotation_is_for_what_comes_next_and_old_batches_stay_readable() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        await sim.topics.rotate_data_key("orders")
        await sim.clock.sleep(1_000)
        await sim.send(topic, b"2")
        now = sim.metadata.topic("orders")
        assert now is not None
        assert [each.number for each in now.data_keys] == [1, 2]
        stored = await log_of(sim).read_stored(0, max_bytes=1 << 20)
        assert [int.from_bytes(data[86:90], "big") for _, data in stored] == [1, 2]
        await sim.stop()
        await sim.start()
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_keys(main)


def test_a_change_of_the_master_key_wraps_data_keys_anew_and_writes_nothing_else() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        await sim.stop()
        await give_keys(sim, master_key("second"), master_key())
        await sim.start()
        await sim.clock.sleep(2_000)
        now = sim.metadata.topic("orders")
        assert now is not None
        assert [each.master_key for each in now.data_keys] == [master_key("second").id]
        await sim.stop()
        await give_keys(sim, master_key("second"))
        await sim.start()
        await sim.send(topic, b"2")
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_keys(main)


def test_a_deleted_topic_leaves_no_data_key() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        [key] = (sim.metadata.topic("orders") or topic).data_keys or [None]
        while key is None:
            await sim.clock.sleep(10)
            [key] = (sim.metadata.topic("orders") or topic).data_keys or [None]
        await sim.topics.delete("orders")
        items = (await sim.store.list("/")).items
        assert not any(b"wrapped" in item.value for item in items)

    with_keys(main)


class StandingKey:
    """One whose service does not answer until it is told to."""

    def __init__(self) -> None:
        self._key = master_key()
        self.may_answer = asyncio.Event()

    @property
    def id(self) -> str:
        return self._key.id

    async def wrap(self, data_key: bytes, *, bound: bytes) -> bytes:
        return await self._key.wrap(data_key, bound=bound)

    async def unwrap(self, wrapped: bytes, *, bound: bytes) -> bytes:
        await self.may_answer.wait()
        return await self._key.unwrap(wrapped, bound=bound)


def test_a_key_service_that_stands_still_keeps_its_topics_waiting_and_no_others() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, clear = await encrypted_topic(sim), await sim.topic("clear")
        await sim.send(topic, b"1")
        await sim.stop()
        standing = StandingKey()
        sim.master_keys = MasterKeys(standing)
        await sim.start()
        await sim.send(clear, b"2")
        with pytest.raises(ServerError) as refused:
            await sim.send(topic, b"3")
        assert refused.value.code is ProblemCode.UNAVAILABLE
        standing.may_answer.set()
        await sim.clock.sleep(5_000)
        await sim.send(topic, b"3")
        assert await sim.bodies_in_log(topic) == [b"1", b"3"]

    with_keys(main)


class BrokenKey(StandingKey):
    """One that fails in a way that nobody thought of."""

    async def unwrap(self, wrapped: bytes, *, bound: bytes) -> bytes:
        if not self.may_answer.is_set():
            raise RuntimeError("the handler is closed")
        return await self._key.unwrap(wrapped, bound=bound)


def test_a_key_that_fails_in_any_way_is_its_topics_problem_and_no_others() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, clear = await encrypted_topic(sim), await sim.topic("clear")
        await sim.send(topic, b"1")
        await sim.stop()
        broken = BrokenKey()
        sim.master_keys = MasterKeys(broken)
        await sim.start()
        await sim.clock.sleep(5_000)
        await sim.send(clear, b"2")
        with pytest.raises(ServerError) as refused:
            await sim.send(topic, b"3")
        assert refused.value.code is ProblemCode.UNAVAILABLE
        broken.may_answer.set()
        await sim.clock.sleep(60_000)
        await sim.send(topic, b"3")
        assert await sim.bodies_in_log(topic) == [b"1", b"3"]

    with_keys(main)


def test_a_batch_that_cannot_be_decrypted_is_told_once_and_counted() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        another = TopicKeys()
        another.put(1, b"another".ljust(32))
        log_of(sim).cipher = LogCipher(log_of(sim).key, another, sim.entropy)
        with capture_logs() as lines:
            for _ in range(3):
                with pytest.raises(ServerError) as refused:
                    await log_of(sim).read(0, max_bytes=1)
                assert refused.value.code is ProblemCode.RECORDS_CORRUPT
        assert [line["offset"] for line in lines if line["event"] == "batch_not_decrypted"] == [0]
        assert sim.node.logs.undecryptable.count == 1

    with_keys(main)


@pytest.mark.parametrize("end", ["stop", "lose_power"])
def test_where_keys_are_lost_new_ones_take_their_numbers_and_old_batches_are_corrupt(end: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, clear = await encrypted_topic(sim), await sim.topic("clear")
        await sim.send(clear, b"1")
        for number in (1, 2):
            await sim.send(topic, b"%d" % number)
            await sim.topics.rotate_data_key("orders")
            await sim.clock.sleep(1_000)
        await sim.send(topic, b"3")
        await getattr(sim, end)()
        assert (newest_data_key(sim.disk, topic.id), newest_data_key(sim.disk, clear.id)) == (3, 0)
        item = await sim.store.get(keys.topic("orders"))
        assert item is not None
        lost = msgspec.structs.replace(decode(Topic, item.value), data_keys=(), data_keys_wanted=3)
        await sim.store.transact([], [Put(item.key, encode(lost))])
        await sim.start()
        await sim.clock.sleep(5_000)
        with pytest.raises(ServerError) as refused:
            await sim.bodies_in_log(topic)
        assert refused.value.code is ProblemCode.RECORDS_CORRUPT
        await sim.send(topic, b"4")

    with_keys(main)
