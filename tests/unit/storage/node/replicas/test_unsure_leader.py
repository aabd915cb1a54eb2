"""A leader that may have been deposed says nothing that another may know better, nor that something is not there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.errors import ServerError
from cluster.model.values import Group, Topic
from cluster.ports.coordination import Watch, WatchBatch
from cluster.stores.memory_store import MemoryStore
from storage.node.storage_node import StorageNode
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc import inspect_messages, messages, schedule_messages
from tests.support.cluster import Cluster, ClusterBuilder, OwnConnection

CONTACT_MS = ReplicationSettings().contact_ms


async def code_of(call: Awaitable[object]) -> str:
    """ "" for an answer."""
    try:
        await call
    except ServerError as error:
        return error.code.name
    return ""


def records_from(topic: Topic, offset: int, **fields: Any) -> messages.RecordsRequest:
    return messages.RecordsRequest(topic.id, 0, offset, **fields)


def seek_to(topic: Topic, group: Group, to: str, value: int = -1) -> messages.SeekRequest:
    return messages.SeekRequest(topic.id, 0, group.id, to, value, dry_run=True)


def settle(topic: Topic, group: Group, action: str, item: messages.SettleItem) -> messages.SettleRequest:
    return messages.SettleRequest(topic.id, 0, group.id, action, [item], visibility_ms=1_000)


def scheduled(topic: Topic, action: str) -> schedule_messages.ScheduledRequest:
    """About one that a later leader may have stored."""
    return schedule_messages.ScheduledRequest(topic.id, 0, action, 7, 2, delay_ms=1_000)


async def deposed(cluster: Cluster) -> tuple[StorageNode, Topic, Group]:
    """A leader with four messages that nobody hears any more, and that does not know it yet."""
    topic = await cluster.topic(min_insync_replicas=2)
    group = await cluster.group()
    await cluster.send(topic, b"0", b"1", b"2", b"3")
    await cluster.receive(topic, group, 2)
    leader = cluster.leader(topic)
    cluster.cut()
    await cluster.clock.sleep(10)
    return leader, topic, group


Call = Callable[[StorageNode, Topic, Group], Awaitable[object]]

WHAT_OTHERS_MAY_KNOW: dict[str, Call] = {
    "an offset beyond the log": lambda node, topic, _: node.records(records_from(topic, 5)),
    "a time behind everything": lambda node, topic, _: node.records(records_from(topic, 0, time_ms=1 << 50)),
    "positions": lambda node, topic, _: node.positions(messages.PositionsRequest(topic.id, 0)),
    "a message": lambda node, topic, _: node.inspect(inspect_messages.InspectRequest(topic.id, 0, 1, 1)),
    "a message that is not there": lambda node, topic, _: node.inspect(
        inspect_messages.InspectRequest(topic.id, 0, 9, 2)
    ),
    "where latest is": lambda node, topic, group: node.seek(seek_to(topic, group, "latest")),
    "where a time is": lambda node, topic, group: node.seek(seek_to(topic, group, "time", 1 << 50)),
    "where the group is": lambda node, topic, group: node.seek(seek_to(topic, group, "relative", 0)),
    "whether a target is in the log": lambda node, topic, group: node.seek(seek_to(topic, group, "offset", 9)),
    "a message for later": lambda node, topic, _: node.scheduled(scheduled(topic, "look")),
    "a message for later, cancelled": lambda node, topic, _: node.scheduled(scheduled(topic, "cancel")),
    "a message for later, moved": lambda node, topic, _: node.scheduled(scheduled(topic, "move")),
    "what is for later": lambda node, topic, _: node.scheduled_list(
        schedule_messages.ScheduledListRequest(topic.id, 0, 0, -1, 1 << 50, 10)
    ),
}
ONLY_AFTER_A_WHILE: dict[str, Call] = {
    "the end of the log": lambda node, topic, _: node.records(records_from(topic, 4)),
    "news": lambda node, topic, _: node.records(records_from(topic, 4, wait_ms=60_000)),
    "an id that was not delivered": lambda node, topic, group: node.settle(
        settle(topic, group, "ack", messages.SettleItem(3, 0, 0, 0))
    ),
    "an id that is not there": lambda node, topic, group: node.settle(
        settle(topic, group, "ack", messages.SettleItem(9, 0, 0, 0))
    ),
    "a longer lease": lambda node, topic, group: node.settle(
        settle(topic, group, "extend", messages.SettleItem(0, 0, 1, 1))
    ),
    "keys": lambda node, topic, _: node.known_keys(messages.KnownKeysRequest(topic.id, 0, [], 0, 0)),
}


@pytest.mark.parametrize("what", WHAT_OTHERS_MAY_KNOW)
def test_at_once_a_deposed_leader_answers_nothing_that_its_followers_have_to_confirm(what: str) -> None:
    async def main(cluster: Cluster) -> None:
        leader, topic, group = await deposed(cluster)
        assert await code_of(WHAT_OTHERS_MAY_KNOW[what](leader, topic, group)) == "UNAVAILABLE"

    ClusterBuilder().nodes(3).run(main)


@pytest.mark.parametrize("what", [*WHAT_OTHERS_MAY_KNOW, *ONLY_AFTER_A_WHILE])
def test_a_leader_that_hears_nobody_answers_nothing_that_others_may_know(what: str) -> None:
    async def main(cluster: Cluster) -> None:
        leader, topic, group = await deposed(cluster)
        await cluster.clock.sleep(CONTACT_MS)
        call = {**WHAT_OTHERS_MAY_KNOW, **ONLY_AFTER_A_WHILE}[what]
        assert await code_of(call(leader, topic, group)) == "UNAVAILABLE"

    ClusterBuilder().nodes(3).run(main)


def test_who_waited_for_news_from_a_leader_that_fell_silent_learns_no_end() -> None:
    """Else it would see a high watermark that is behind what another gateway has shown it."""

    async def main(cluster: Cluster) -> None:
        leader, topic, _ = await deposed(cluster)
        assert await code_of(leader.records(records_from(topic, 4, wait_ms=20_000))) == "UNAVAILABLE"

    ClusterBuilder().nodes(3).run(main)


def test_what_is_committed_is_read_whoever_leads() -> None:
    async def main(cluster: Cluster) -> None:
        leader, topic, _ = await deposed(cluster)
        await cluster.clock.sleep(10 * CONTACT_MS)
        answer = await leader.records(records_from(topic, 1))
        assert (answer.offset, answer.next_offset) == (1, 4)

    ClusterBuilder().nodes(3).run(main)


def test_a_leader_says_at_once_what_is_not_there() -> None:
    """It asks its followers, which wait for news and answer as soon as they are told to."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        group = await cluster.group()
        await cluster.send(topic, b"0")
        await cluster.receive(topic, group)
        leader = cluster.leader(topic)
        for pause_ms in (0, 120, 10_000):
            await cluster.clock.sleep(pause_ms)
            begun_ms = cluster.clock.monotonic_ms()
            assert await code_of(leader.records(records_from(topic, 5))) == "OFFSET_OUT_OF_RANGE"
            assert await code_of(leader.positions(messages.PositionsRequest(topic.id, 0))) == ""
            assert await code_of(leader.seek(seek_to(topic, group, "latest"))) == ""
            assert cluster.clock.monotonic_ms() - begun_ms < 100

    ClusterBuilder().nodes(3).run(main)


def test_many_questions_at_a_time_are_confirmed_together() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2, partitions=50)
        await cluster.clock.sleep(1_000)
        begun_ms = cluster.clock.monotonic_ms()
        await asyncio.gather(
            *(cluster.leader(topic, each).positions(messages.PositionsRequest(topic.id, each)) for each in range(50))
        )
        assert cluster.clock.monotonic_ms() - begun_ms < 200

    ClusterBuilder().nodes(3).run(main)


def test_a_follower_says_no_more_than_what_it_has() -> None:
    """Neither that an offset is outside the log, nor, once nobody answers it, that there is nothing new."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"0", b"1")
        follower = next(each.node for number, each in cluster.nodes.items() if number != cluster.state(topic).leader)
        await cluster.clock.sleep(1_000)

        async def read(offset: int, wait_ms: int = 0) -> str:
            return await code_of(follower.records(records_from(topic, offset, wait_ms=wait_ms, any_replica=True)))

        assert [await read(offset) for offset in (0, 2, 3)] == ["", "", "UNAVAILABLE"]
        cluster.cut()
        await cluster.clock.sleep(CONTACT_MS)
        assert [await read(offset) for offset in (0, 2, 3)] == ["", "UNAVAILABLE", "UNAVAILABLE"]
        assert await read(2, 20_000) == "UNAVAILABLE"

    ClusterBuilder().nodes(3).run(main)


def test_a_follower_that_the_store_has_forgotten_leaves_the_end_of_the_log_to_others() -> None:
    """Its leader may be cut off together with it."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1)
        await cluster.send(topic, b"0")
        follower = next(each.node for number, each in cluster.nodes.items() if number != cluster.state(topic).leader)
        await cluster.clock.sleep(1_000)
        follower.is_registered = lambda: False
        assert await code_of(follower.records(records_from(topic, 1, any_replica=True))) == "UNAVAILABLE"

    ClusterBuilder().nodes(3).run(main)


def test_a_fetch_that_was_long_on_its_way_confirms_nothing() -> None:
    """Whoever sent it may have followed somebody else since, or lead."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.in_sync(topic)
        leader, address = cluster.leader(topic), f"node-{cluster.state(topic).leader}:7000"
        to_leader = [each for each in cluster.transport.streams if each.other.peer == address]
        for stream in to_leader:
            stream.pause_reading()
        await cluster.clock.sleep(1_000)  # followers are answered, and their next fetches are on their way
        for stream in to_leader:
            stream.other.pause_reading()
        asking = asyncio.create_task(code_of(leader.positions(messages.PositionsRequest(topic.id, 0))))
        await cluster.clock.sleep(10)
        for stream in to_leader:
            stream.resume_reading()
        assert await asking == "UNAVAILABLE"
        for stream in to_leader:
            stream.other.resume_reading()
        await cluster.following(lambda: cluster.leader(topic).positions(messages.PositionsRequest(topic.id, 0)))

    ClusterBuilder().nodes(3).run(main)


class LateWatch:
    """What happened is heard of when it may be."""

    def __init__(self, watch: Watch, may_be_heard: asyncio.Event) -> None:
        self._watch = watch
        self._may_be_heard = may_be_heard

    def __aiter__(self) -> "LateWatch":
        return self

    async def __anext__(self) -> WatchBatch:
        batch = await self._watch.__anext__()
        await self._may_be_heard.wait()
        return batch

    async def aclose(self) -> None:
        await self._watch.aclose()


class LateConnection(OwnConnection):
    """Questions are answered, and leases kept, while `may_be_heard` is cleared: only the news are late."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store)
        self.may_be_heard = asyncio.Event()
        self.may_be_heard.set()

    def watch(self, prefix: str, start_revision: int) -> Watch:
        return LateWatch(super().watch(prefix, start_revision), self.may_be_heard)


def test_a_registered_leader_that_needs_nobody_does_not_answer_for_its_successor_either() -> None:
    """The leadership was moved away from it, and it has not heard of that yet (rule R35)."""

    async def main(cluster: Cluster) -> None:
        late = LateConnection(cluster.store)
        await cluster.node(3, connection=late)
        topic = await cluster.topic(min_insync_replicas=1, partitions=3)
        await cluster.in_sync(topic)
        number = next(each for each in range(3) if cluster.state(topic, each).leader == 3)
        await cluster.send(topic, b"0", partition=number)
        earlier = cluster.leader(topic, number)
        late.may_be_heard.clear()
        admin = ClusterAdmin(cluster.store, cluster.nodes[1].metadata, clock=cluster.clock)
        await admin.reassign(topic.name, number, [1, 2, 3])
        await cluster.until(lambda: cluster.state(topic, number).leader == 1)
        await cluster.send(topic, b"1", partition=number, acks=1)
        assert earlier.is_registered()
        assert await code_of(earlier.positions(messages.PositionsRequest(topic.id, number))) == "UNAVAILABLE"
        assert await code_of(cluster.leader(topic, number).positions(messages.PositionsRequest(topic.id, number))) == ""
        late.may_be_heard.set()

    ClusterBuilder().nodes(2).run(main)


def test_a_leader_that_needs_nobody_answers_again_once_the_silent_ones_cannot_lead() -> None:
    """It takes them out of the ISR, though nothing waits for them."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1)
        await cluster.in_sync(topic)
        leader = cluster.leader(topic)
        cluster.cut()
        await cluster.clock.sleep(10)
        begun_ms = cluster.clock.monotonic_ms()
        assert await code_of(leader.positions(messages.PositionsRequest(topic.id, 0))) == ""
        assert cluster.clock.monotonic_ms() - begun_ms < CONTACT_MS
        assert len(cluster.state(topic).isr) == 1
        begun_ms = cluster.clock.monotonic_ms()
        assert await code_of(leader.positions(messages.PositionsRequest(topic.id, 0))) == ""
        assert cluster.clock.monotonic_ms() == begun_ms, "nobody has to be asked"

    ClusterBuilder().nodes(3).run(main)


# --- readers that say where they have been ---


def test_an_answer_names_the_epoch_that_it_is_of() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"0")
        await cluster.clock.sleep(1_000)
        for node in cluster.nodes.values():
            answer = await node.node.records(records_from(topic, 0, any_replica=True))
            assert answer.leader_epoch == cluster.state(topic).leader_epoch

    ClusterBuilder().nodes(3).run(main)


def test_a_replica_of_an_earlier_epoch_than_the_readers_answers_nothing() -> None:
    """Not even what it has: the reader would see the high watermark fall."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"0", b"1")
        await cluster.clock.sleep(1_000)
        epoch = cluster.state(topic).leader_epoch
        for node in cluster.nodes.values():
            assert await code_of(node.node.records(records_from(topic, 0, any_replica=True, leader_epoch=epoch))) == ""
            request = records_from(topic, 0, any_replica=True, leader_epoch=epoch + 1)
            assert await code_of(node.node.records(request)) == "UNAVAILABLE"

    ClusterBuilder().nodes(3).run(main)


def test_a_log_that_was_cut_behind_the_reader_says_where() -> None:
    """A leader of epoch 1 has records that nobody else has. Were a reader given them, it is told, and not given other
    ones at their offsets (rule R4)."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"0", b"1")
        first = cluster.state(topic)
        await cluster.stop(first.leader)
        await cluster.until(lambda: cluster.state(topic).leader not in (-1, first.leader))
        await cluster.send(topic, b"2", b"3", b"4")
        leader, epoch = cluster.leader(topic), cluster.state(topic).leader_epoch
        with pytest.raises(ServerError) as caught:
            await leader.records(records_from(topic, 4, leader_epoch=first.leader_epoch))
        assert caught.value.code.name == "LOG_DIVERGED"
        assert caught.value.extra == {"divergedAt": 2, "leaderEpoch": epoch}
        for offset in (0, 1, 2):
            assert await code_of(leader.records(records_from(topic, offset, leader_epoch=first.leader_epoch))) == ""
        assert await code_of(leader.records(records_from(topic, 5, leader_epoch=epoch))) == ""

    ClusterBuilder().nodes(3).run(main)
