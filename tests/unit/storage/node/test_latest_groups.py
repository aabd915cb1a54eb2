"""Groups that begin with the latest: that is where they begin in a topic, whatever partitions it gets later."""

from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import msgspec
import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.projected_offsets import FirstContact, ProjectedOffsets
from cluster.model.values import Group, GroupSettings, StartPosition, Topic
from cluster.ports.coordination import CoordinationUnavailableError, Put
from cluster.stores.memory_store import MemoryStore
from storage.node.first_contacts import FirstContacts
from storage.node.offset_projection import OffsetProjection
from storage.node.replicas.held_replicas import HeldReplicas
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock
from tests.unit.storage.node.test_offset_projection import led

GROUP = Group("late-id", "late", 1_000, settings=GroupSettings(start_position=StartPosition.LATEST))
TOPIC = Topic("orders-id", "orders", 3, 1, 500)
LATEST = {"startPosition": "latest"}
Main = Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]
all_modes = pytest.mark.parametrize("mode", ["shared", "keyOrdered", "exclusive"])


def run(main: Main, mode: str = "shared") -> None:
    """One replica each, so that no node holds another's partition."""

    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            await cluster.topic(replicas=1)
            assert (await client.put("/groups/late", json={"mode": mode, "settings": LATEST})).status_code == 201
            await main(cluster, client)

    ClusterBuilder().nodes(3).gateway().run(whole)


async def send(client: httpx2.AsyncClient, body: object, partition: int) -> None:
    while True:
        sent = await client.post("/messages", json={"queue": "orders", "body": body, "partition": partition})
        if sent.status_code == 201:
            return
        assert sent.status_code == 503 or sent.json()["code"] == "PARTITION_NOT_FOUND", sent.text


async def receive(cluster: Cluster, client: httpx2.AsyncClient, count: int) -> list[Any]:
    """Until so many have come, or nothing more does."""
    got: list[Any] = []
    for _ in range(20):
        answer = (await client.get("/messages?queue=orders&group=late&consumer=c&max=10&waitSeconds=1")).json()
        got += [message["body"] for message in answer["messages"]]
        if answer["messages"]:
            receipts = [message["receipt"] for message in answer["messages"]]
            assert (await client.post("/ack", json={"receipts": receipts})).status_code == 200
        if len(got) >= count:
            break
    return sorted(got)


async def grow(cluster: Cluster, client: httpx2.AsyncClient) -> None:
    assert (await client.patch("/topics/orders", json={"partitions": 4})).status_code == 200


@all_modes
def test_what_came_into_new_partitions_while_nobody_read_is_read(mode: str) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await send(client, "before", 0)
        assert await receive(cluster, client, 1) == [], "it begins here"
        await grow(cluster, client)
        for partition in range(4):
            await send(client, partition, partition)
        assert await receive(cluster, client, 4) == [0, 1, 2, 3]

    run(main, mode)


def test_it_begins_with_its_first_contact_and_not_when_it_was_made() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await grow(cluster, client)
        for partition in range(4):
            await send(client, partition, partition)
        await cluster.clock.sleep(1_000)
        assert await receive(cluster, client, 1) == []

    run(main)


async def at_a_node(*, projected: ProjectedOffsets | None = None, fails: bool = False) -> FirstContact | None:
    """What a node that holds no partition of the topic finds out about the group."""
    store = FlakyStore(MemoryStore(ManualClock()))
    if projected is not None:
        await store.transact([], [Put(keys.offsets(GROUP.id, TOPIC.id), msgspec.json.encode(projected))])
    if fails:
        store.before["transact"] = [CoordinationUnavailableError("away")]
    projection = OffsetProjection(store, clock=ManualClock(), interval_ms=1_000)
    contacts = FirstContacts(projection, HeldReplicas(), ManualClock())
    return await contacts.meet(GROUP, TOPIC)


async def test_it_begins_nowhere_while_a_first_contact_cannot_be_noted() -> None:
    with pytest.raises(ServerError) as refused:
        await at_a_node(fails=True)
    assert refused.value.code is ProblemCode.UNAVAILABLE


async def test_what_an_earlier_version_has_projected_is_a_contact_of_the_time_when_the_group_was_made() -> None:
    assert await at_a_node() is None
    contact = await at_a_node(projected=ProjectedOffsets({}))
    assert contact == FirstContact(GROUP.created_at_ms, TOPIC.partitions)


async def test_progress_that_is_projected_keeps_the_first_contact() -> None:
    store = MemoryStore(ManualClock())
    projection = OffsetProjection(store, clock=ManualClock(), interval_ms=1_000)
    contact = FirstContact(5, 1)
    assert await projection.note_first_contact("group", "topic", contact)
    assert not await projection.note_first_contact("group", "topic", FirstContact(6, 2))
    await projection.project([led(epoch=1, applied=1, progress=3)])
    known = await projection.known("group", "topic")
    assert known is not None
    assert (known.first_contact, known.partitions["0"].offset) == (contact, 3)
