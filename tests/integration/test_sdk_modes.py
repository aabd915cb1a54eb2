"""The consumer for threads in groups that keep an order, on a real server: failures, members that come and go."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import count

import pytest

from acklog import Client, Message, OutgoingMessage, TopicPartition
from acklog.consumer.consumer import Consumer
from acklog.errors import WrongGroupMode
from tests.support.server_process import ServerProcess
from tests.support.serving import Serving
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

WAIT_SECONDS = 60
_numbers = count(1)


@pytest.fixture
def client(shared_server: ServerProcess) -> Iterator[Client]:
    with Client(shared_server.base_url) as client:
        yield client


@pytest.fixture
def topic(client: Client) -> str:
    """A topic of the test's own with four partitions, and the name of its groups."""
    name = f"ordered-{next(_numbers)}"
    client.topics.create(name, 4)
    return name


def send(client: Client, topic: str, messages: int, *, keys: int) -> None:
    client.send_many(topic, [OutgoingMessage(number, key=f"k{number % keys}") for number in range(messages)])


def is_done(client: Client, group: str, messages: int) -> bool:
    found = client.groups.offsets(group).offsets
    return sum(each.progress or 0 for each in found) == messages


def test_threads_keep_the_order_of_each_key_though_handlers_fail(client: Client, topic: str) -> None:
    send(client, topic, 200, keys=10)
    client.groups.create(topic, mode="keyOrdered", retry_backoff_min_ms=10, retry_backoff_max_ms=50)
    done: dict[str | None, list[int]] = defaultdict(list)
    busy: set[str | None] = set()
    overlaps: list[str | None] = []
    failed: set[int] = set()

    def handle(message: Message) -> None:
        if message.key in busy:
            overlaps.append(message.key)
        busy.add(message.key)
        try:
            if message.body % 17 == 0 and message.body not in failed:
                failed.add(message.body)
                raise ArithmeticError(message.body)
            done[message.key].append(message.body)
        finally:
            busy.discard(message.key)

    consumers = [client.consumer(topic, group=topic, mode="keyOrdered", ack_linger_ms=5) for _ in range(2)]
    with Serving(consumers[0], handle), Serving(consumers[1], handle):
        wait_until(lambda: is_done(client, topic, 200), seconds=WAIT_SECONDS, what="all of it")
    assert len(failed) == 12
    assert overlaps == []
    assert {key: sorted(bodies) for key, bodies in done.items()} == dict(done)
    assert sum(map(len, done.values())) == 200


def test_members_share_the_partitions_and_one_that_leaves_gives_them_back(client: Client, topic: str) -> None:
    send(client, topic, 40, keys=20)
    seen: list[tuple[int, int]] = []
    told: list[tuple[str, int]] = []

    def member(name: str) -> Consumer:
        return client.consumer(
            topic,
            group=topic,
            mode="exclusive",
            consumer=name,
            on_assigned=lambda found: told.append((f"+{name}", len(found))),
            on_revoked=lambda found: told.append((f"-{name}", len(found))),
        )

    def handle(message: Message) -> None:
        seen.append((message.partition, message.offset))

    with Serving(member("ann"), handle) as ann:
        wait_until(lambda: len(ann.consumer.assigned) == 4, seconds=WAIT_SECONDS, what="all partitions")
        with Serving(member("ben"), handle) as ben:
            wait_until(lambda: len(ben.consumer.assigned) == 2, seconds=WAIT_SECONDS, what="half of them")
            wait_until(lambda: len(ann.consumer.assigned) == 2, seconds=WAIT_SECONDS, what="the other half")
            assert not ann.consumer.assigned & ben.consumer.assigned
            assert [each.member for each in client.groups.members(topic).members] == ["ann", "ben"]
            send(client, topic, 40, keys=20)
            wait_until(lambda: is_done(client, topic, 80), seconds=WAIT_SECONDS, what="80 messages")
        wait_until(lambda: len(ann.consumer.assigned) == 4, seconds=WAIT_SECONDS, what="all of them again")
        assert [each.member for each in client.groups.members(topic).members] == ["ann"]
    assert client.groups.members(topic).members == []
    assert told[:2] == [("+ann", 4), ("-ann", 2)] or told[:3] == [("+ann", 4), ("+ben", 2), ("-ann", 2)]
    assert told[-3:] == [("-ben", 2), ("+ann", 2), ("-ann", 4)]
    for partition in range(4):
        offsets = [offset for each, offset in seen if each == partition]
        assert list(dict.fromkeys(offsets)) == sorted(set(offsets)), "first deliveries ascend"


def test_a_member_pauses_and_seeks(client: Client, topic: str) -> None:
    client.send_many(topic, [OutgoingMessage(number, partition=number % 2) for number in range(20)])
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    seen: list[int] = []
    with client.consumer(topic, group=topic, mode="exclusive") as member:
        for message in member:
            with message:
                seen.append(message.body)
            if len(seen) == 1:
                other = second if message.partition == 0 else first
                member.pause(other)
                paused_from = member.position(other)
                wait_until(lambda: member.paused == {other}, seconds=WAIT_SECONDS, what="the pause")  # noqa: B023
            if len(seen) == 10:
                member.resume(other)
            if len(seen) == 20:
                break
        assert paused_from is None
        assert len({body % 2 for body in seen[:10]}) == 1
        member.flush()
        member.seek(first, 5)
        again = next(member)
        assert (again.partition, again.offset) == (0, 5)
        again.ack()


def test_another_mode_is_refused(client: Client, topic: str) -> None:
    client.groups.create(topic, mode="keyOrdered")
    for mode in ("shared", "exclusive"):
        with client.consumer(topic, group=topic, mode=mode) as consumer, pytest.raises(WrongGroupMode):
            next(consumer)
