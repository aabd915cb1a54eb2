"""Members of exclusive groups that the SDK makes, on a real server: patterns, racks, names that outlive a process."""

import asyncio
from collections.abc import Iterator
from itertools import count

import pytest

from acklog import AsyncClient, Client, Message, TopicPartition
from acklog.errors import MemberFenced, TopicNotFound
from tests.support.server_process import ServerProcess
from tests.support.serving import Serving
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import poll_until, wait_until

pytestmark = pytest.mark.integration

WAIT_SECONDS = 60
_numbers = count(1)


@pytest.fixture
def client(shared_server: ServerProcess) -> Iterator[Client]:
    with Client(shared_server.base_url) as client:
        yield client


@pytest.fixture
def name() -> str:
    """Of a topic and its group, which no other test has."""
    return f"members-{next(_numbers)}"


def places(topic: str, *partitions: int) -> set[TopicPartition]:
    return {TopicPartition(topic, each) for each in partitions}


def test_a_topic_that_comes_later_is_read_by_its_pattern_in_threads(client: Client, name: str) -> None:
    found: dict[str, object] = {}

    def handle(message: Message) -> None:
        found[message.topic] = message.body

    member = client.consumer([], group=name, mode="exclusive", patterns=[f"{name}-*"], rack="a")
    with Serving(member, handle):
        wait_until(lambda: _members(client, name), seconds=WAIT_SECONDS, what="the member")
        [seen] = client.groups.members(name).members
        assert (seen.topics, seen.patterns, seen.rack, seen.is_static) == ([], [f"{name}-*"], "a", False)
        for later in (f"{name}-x", f"{name}-y", f"other-{name}"):
            client.topics.create(later, 1)
            client.send(later, later)
        wait_until(lambda: len(found) == 2, seconds=WAIT_SECONDS, what="messages of both")
        assert found == {f"{name}-x": f"{name}-x", f"{name}-y": f"{name}-y"}
        assert member.assigned == places(f"{name}-x", 0) | places(f"{name}-y", 0)


async def test_a_topic_that_comes_later_is_read_by_its_pattern_in_asyncio(
    shared_server: ServerProcess, name: str
) -> None:
    async with AsyncClient(shared_server.base_url) as client:
        member = client.consumer([], group=name, mode="exclusive", patterns=[f"{name}-*"], rack="b")
        async with member:
            waiting = asyncio.ensure_future(anext(member))

            async def is_member() -> bool:
                groups = await client.groups.list()
                return name in {each.name for each in groups} and bool((await client.groups.members(name)).members)

            await poll_until(is_member, seconds=WAIT_SECONDS, what="the member")
            [seen] = (await client.groups.members(name)).members
            assert (seen.patterns, seen.rack) == ([f"{name}-*"], "b")
            await client.topics.create(f"{name}-later", 1)
            await client.send(f"{name}-later", "hello")
            async with await waiting as message:
                assert (message.topic, message.body) == (f"{name}-later", "hello")


def test_who_comes_back_under_a_static_name_has_its_partitions_in_threads(client: Client, name: str) -> None:
    client.topics.create(name, 4)
    moved: list[object] = []
    other = client.consumer(
        name,
        group=name,
        mode="exclusive",
        consumer="other",
        on_assigned=moved.append,
        on_revoked=moved.append,
    )
    seen: list[int] = []

    def ann() -> Serving:
        consumer = client.consumer(name, group=name, mode="exclusive", consumer="ann", static=True)
        return Serving(consumer, lambda message: seen.append(message.partition))

    with Serving(other, lambda _: None):
        wait_until(lambda: len(other.assigned) == 4, seconds=WAIT_SECONDS, what="all partitions")
        with ann() as serving:
            first = serving.consumer
            wait_until(lambda: len(first.assigned) == len(other.assigned) == 2, seconds=WAIT_SECONDS, what="halves")
            had = first.assigned
        moved.clear()
        away = next(each for each in client.groups.members(name).members if each.member == "ann")
        assert (away.is_static, len(away.assignment)) == (True, 2)
        with ann() as serving:
            second = serving.consumer
            wait_until(lambda: second.assigned, seconds=WAIT_SECONDS, what="its partitions")
            assert second.assigned == had
            for partition in range(4):
                client.send(name, "after", partition=partition)
            wait_until(lambda: len(seen) == 2, seconds=WAIT_SECONDS, what="their messages")
            assert {TopicPartition(name, each) for each in seen} == had
        assert moved == [], "nobody else's move"


async def test_a_static_name_is_taken_over_from_a_process_that_is_cut_off(
    shared_server: ServerProcess, name: str
) -> None:
    async with (
        AsyncClient(shared_server.base_url) as client,
        TcpProxy(shared_server.port) as link,
        AsyncClient(f"http://{link.endpoint}") as cut_off,
    ):
        await client.topics.create(name, 2)
        await client.send(name, "in hand", partition=0)
        await client.groups.create(name, mode="exclusive", session_timeout_ms=3_000)
        first = cut_off.consumer(name, group=name, mode="exclusive", consumer="ann", static=True)
        async with first:
            held = await anext(first)
            link.cut()
            second = client.consumer(name, group=name, mode="exclusive", consumer="ann", static=True)
            async with second:
                again = await anext(second)
                assert (again.body, again.attempt) == (held.body, 2)
                async with again:
                    pass
                assert second.assigned == places(name, 0, 1)
                link.mend()
                with pytest.raises(MemberFenced):
                    await anext(first)


def _members(client: Client, group: str) -> bool:
    known = {each.name for each in client.groups.list()}
    return group in known and bool(client.groups.members(group).members)


def test_a_consumer_ends_when_its_topic_is_deleted_though_another_one_has_its_name(client: Client, name: str) -> None:
    for topic in (name, f"{name}-other"):
        client.topics.create(topic, 2)
    client.send(name, "of the first")
    with client.consumer([name, f"{name}-other"], group=name, mode="exclusive") as consumer:
        with next(consumer) as message:
            assert message.body == "of the first"
        consumer.flush()
        client.topics.delete(name)
        client.topics.create(name, 2)
        client.send(name, "of the second")
        with pytest.raises(TopicNotFound):
            next(consumer)


def test_a_pattern_reads_the_topic_that_was_made_again(client: Client, name: str) -> None:
    client.topics.create(f"{name}-x", 2)
    client.send(f"{name}-x", 1)
    with client.consumer([], group=name, mode="exclusive", patterns=[f"{name}-*"], wait_s=1) as member:
        for number in range(1, 4):
            with next(member) as message:
                assert message.body == number
            member.flush()
            client.topics.delete(f"{name}-x")
            client.topics.create(f"{name}-x", 2)
            client.send(f"{name}-x", number + 1)
