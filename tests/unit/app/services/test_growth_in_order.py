"""A topic's partitions change while groups read it in an order, as clients of a gateway see it. Whole nodes on
virtual time."""

import asyncio
from typing import Any

import httpx2
import pytest

from acklog.wire.partitioner import partition_for_key
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.mapping_starts import ORDERED_MAPPINGS_MAX, latest_mapping
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Put
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
KEYS = [f"key-{number}" for number in range(12)]
MODES = ["keyOrdered", "exclusive"]


async def made(cluster: Cluster, mode: str, *, partitions: int = 2) -> httpx2.AsyncClient:
    """A client, a group of this mode, and a topic with a message of each key."""
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes), partitions=partitions))
    client = client_of(cluster.gateways[0])
    assert (await client.put("/groups/workers", json={"mode": mode})).status_code == 201
    await send(client, "first")
    return client


async def send(client: httpx2.AsyncClient, what: str, *, keys: list[str] = KEYS) -> None:
    """A message of each key. What is refused for now is sent again, as clients do."""
    left = [{"key": key, "body": [key, what]} for key in keys]
    while left:
        answer = await client.post("/messages", json={"queue": "orders", "messages": left})
        results = answer.json().get("results", [answer.json()] * len(left))
        assert all("code" not in each or each["retriable"] for each in results), answer.text
        left = [message for message, each in zip(left, results, strict=True) if "code" in each]


async def receive(client: httpx2.AsyncClient, group: str = "workers", **query: Any) -> list[Any]:
    answer = await ask(client, group, **query)
    return list(answer["messages"])


async def ask(client: httpx2.AsyncClient, group: str = "workers", **query: Any) -> Any:
    query = {"queue": "orders", "group": group, "consumer": "c1", "max": 100, **query}
    answer = await client.get("/messages", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def ack(client: httpx2.AsyncClient, messages: list[Any]) -> None:
    assert (await client.post("/ack", json={"receipts": [each["receipt"] for each in messages]})).status_code == 200


async def grow(cluster: Cluster, client: httpx2.AsyncClient, partitions: int) -> None:
    answer = await client.patch("/topics/orders", json={"partitions": partitions})
    assert answer.status_code == 200, answer.text


def placed(key: str, partitions: int) -> int:
    return partition_for_key(key.encode(), partitions)


def has_moved(key: str, before: int, after: int) -> bool:
    return placed(key, before) != placed(key, after)


def whats(messages: list[Any]) -> set[str]:
    return {message["body"][1] for message in messages}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nodes", NODES)
def test_what_is_sent_after_a_growth_waits_for_what_was_sent_before(nodes: int, mode: str) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode)
        held = await receive(client, waitSeconds=2)
        while len(held) < len(KEYS):
            held += await receive(client, waitSeconds=2)
        assert whats(held) == {"first"}
        await grow(cluster, client, 5)
        await send(client, "second")
        late = [message for message in held if message["key"] == held[-1]["key"]]
        await ack(client, [message for message in held if message not in late])
        found: list[Any] = []
        waiting = await ask(client, waitSeconds=3)
        while waiting["messages"]:  # those that share the partition of what is left
            partition = late[0]["partition"]
            assert {message["partition"] for message in waiting["messages"]} == {partition}
            assert {message["body"][1] for message in waiting["messages"]} == {"second"}
            found += waiting["messages"]
            await ack(client, waiting["messages"])
            waiting = await ask(client, waitSeconds=3)
        assert waiting["reason"] in {"ALL_LEASED", "WAITING_FOR_GROWTH"}
        await ack(client, late)
        while messages := await receive(client, waitSeconds=5):
            found += messages
            await ack(client, messages)
        assert whats(found) <= {"second"}
        assert {placed(message["key"], 5) for message in found} == {each["partition"] for each in found}
        moved = {key for key in KEYS if has_moved(key, 2, 5)}
        assert moved <= {message["key"] for message in found}

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("nodes", NODES)
def test_who_waits_while_the_topic_grows_waits_on(nodes: int, mode: str) -> None:
    """It asks again at every news, also when the mapping is known and has begun nowhere yet: that nothing keeps the
    group from what is there by then says nothing of what comes."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster, mode, partitions=3)
        held = await receive(client, waitSeconds=2)
        while len(held) < len(KEYS):
            held += await receive(client, waitSeconds=2)
        waiting = asyncio.create_task(receive(client, waitSeconds=20))
        growing = asyncio.create_task(grow(cluster, client, 5))
        while not growing.done():
            assert await receive(client) == []
        await growing
        await send(client, "second", keys=[key for key in KEYS if has_moved(key, 3, 5) and placed(key, 5) < 3])
        await cluster.clock.sleep(3_000)
        assert not waiting.done(), waiting.result()
        assert await receive(client) == []
        for message in held:
            await ack(client, [message])
        found = await waiting
        assert whats(found) == {"second"}

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_an_answer_says_what_is_waited_for() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered", partitions=1)
        held = await receive(client, waitSeconds=1)
        late = held.pop()
        await ack(client, held)
        await client.post("/nack", json={"receipt": late["receipt"], "delaySeconds": 3_600})
        await grow(cluster, client, 4)
        moved = next(key for key in KEYS if has_moved(key, 1, 4))
        answer = await client.post("/messages", json={"queue": "orders", "key": moved, "body": 2})
        assert answer.status_code == 201, answer.text
        sent = answer.json()
        assert (await ask(client, waitSeconds=2))["reason"] == "DELAYED"
        looked = (await client.get(f"/messages/{sent['messageId']}")).json()
        assert [(each["group"], each["state"]) for each in looked["groups"]] == [("workers", "waitingForGrowth")]
        await ack(client, [late])
        [found] = await receive(client, waitSeconds=5)
        assert (found["messageId"], found["body"]) == (sent["messageId"], 2)

    ClusterBuilder().nodes(1).gateway().run(main)


def test_an_answer_of_a_node_that_has_nothing_else_says_it() -> None:
    """The messages that are waited for are another owner's."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "exclusive", partitions=1)
        assert len(await receive(client, waitSeconds=1)) == len(KEYS)
        await grow(cluster, client, 2)
        await send(client, "second")
        await client.put("/groups/workers/members/c2", json={"topics": ["orders"]})
        answer = await ask(client, consumer="c2", waitSeconds=3)
        assert (answer["messages"], answer["reason"]) == ([], "WAITING_FOR_GROWTH")

    ClusterBuilder().nodes(1).gateway().run(main)


def test_several_growths_are_gone_through_one_after_the_other() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered", partitions=1)
        for number, partitions in enumerate((2, 3, 5), start=1):
            await grow(cluster, client, partitions)
            await send(client, str(number))
        found: list[Any] = []
        while messages := await receive(client, max=5, waitSeconds=5):
            found += messages
            await ack(client, messages)
        for key in KEYS:
            assert [each["body"][1] for each in found if each["key"] == key] == ["first", "1", "2", "3"]

    ClusterBuilder().nodes(3).gateway().run(main)


def test_keys_of_a_decommissioned_partition_stay_in_order() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered", partitions=3)
        answer = await client.put("/topics/orders/decommissioned", json={"partitions": [1]})
        assert answer.status_code == 200, answer.text
        await send(client, "second")
        found: list[Any] = []
        while messages := await receive(client, max=5, waitSeconds=5):
            found += messages
            await ack(client, messages)
        for key in KEYS:
            assert [each["body"][1] for each in found if each["key"] == key] == ["first", "second"]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_the_next_leader_goes_on_waiting() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered", partitions=1)
        held = await receive(client, waitSeconds=1)
        await grow(cluster, client, 4)
        await send(client, "second")
        [topic] = cluster.gateways[0].gateway.metadata.topics()
        await cluster.stop(cluster.state(topic, 0).leader)
        await cluster.until(lambda: cluster.state(topic, 0).leader >= 0)
        found: list[Any] = []
        while messages := await receive(client, max=5, waitSeconds=10):
            found += messages
            await ack(client, messages)
        assert len(held) == len(KEYS)
        for key in KEYS:
            assert [each["body"][1] for each in found if each["key"] == key] == ["first", "second"]

    ClusterBuilder().nodes(3).gateway().run(main)


def test_groups_without_an_order_wait_for_nothing() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "shared")
        await receive(client)
        await grow(cluster, client, 5)
        await send(client, "second")
        found = await receive(client, waitSeconds=5)
        while len(found) < len(KEYS):
            found += await receive(client, waitSeconds=5)
        assert whats(found) == {"second"}

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_group_that_sought_back_waits_again() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered")
        await grow(cluster, client, 5)
        await send(client, "second")
        while messages := await receive(client, waitSeconds=5):
            await ack(client, messages)
        assert (await client.post("/groups/workers/pause", json={})).status_code == 200
        sought = await client.post("/groups/workers/offsets", json={"topic": "orders", "to": "earliest"})
        assert sought.status_code == 200, sought.text
        assert (await client.post("/groups/workers/resume", json={})).status_code == 200
        found: list[Any] = []
        while messages := await receive(client, max=5, waitSeconds=5):
            found += messages
            await ack(client, messages)
        for key in KEYS:
            assert [each["body"][1] for each in found if each["key"] == key] == ["first", "second"]

    ClusterBuilder().nodes(3).gateway().run(main)


def test_where_order_cannot_be_kept_nothing_changes_under_it() -> None:
    """A node of an earlier version would not say where a mapping begins in its partitions."""

    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered")
        await receive(client, waitSeconds=1)
        earlier = NodeRegistration(9, 1, "d9", "elsewhere:1", is_leaving=True, newest_protocol=4)
        await cluster.store.transact([], [Put(keys.node(9), encode(earlier))])
        view = cluster.gateways[0].gateway.metadata
        await cluster.until(lambda: any(node.node_id == 9 for node in view.nodes()))
        refused = [
            await client.patch("/topics/orders", json={"partitions": 4}),
            await client.put("/topics/orders/decommissioned", json={"partitions": [0]}),
        ]
        assert {(each.status_code, each.json()["code"], each.json()["field"]) for each in refused} == {
            (409, "WRONG_GROUP_MODE", "partitions")
        }
        assert (await client.get("/topics/orders")).json()["partitions"] == 2
        await client.delete("/groups/workers")
        await grow(cluster, client, 4)
        late = await client.get("/messages?queue=orders&group=late&mode=keyOrdered")
        assert (late.status_code, late.json()["code"], late.json()["field"]) == (409, "WRONG_GROUP_MODE", "queue")
        await send(client, "second")  # nobody waits for a mapping that has no starts
        assert (await client.get("/messages?queue=orders&group=shared")).status_code == 200

    ClusterBuilder().nodes(1).gateway().run(main)


def test_so_many_changes_and_no_more_keep_order() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered", partitions=1)
        await receive(client, waitSeconds=1)
        for partitions in range(2, ORDERED_MAPPINGS_MAX + 2):
            await grow(cluster, client, partitions)
        refused = await client.patch("/topics/orders", json={"partitions": ORDERED_MAPPINGS_MAX + 2})
        assert (refused.status_code, refused.json()["code"]) == (409, "WRONG_GROUP_MODE")

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_topic_with_a_key_ordered_group_can_be_deleted() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered")
        await receive(client, waitSeconds=1)
        assert (await client.delete("/topics/orders")).status_code == 204

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_change_begins_in_every_partition_also_where_nothing_is_sent() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster, "keyOrdered", partitions=3)
        await grow(cluster, client, 4)
        [topic] = cluster.gateways[0].gateway.metadata.topics()
        view = cluster.gateways[0].gateway.metadata
        await cluster.until(lambda: all(latest_mapping(state) == 1 for state in view.partitions(topic.id)))
        starts = [state.mapping_starts for state in view.partitions(topic.id)]
        assert [each[0].offset for each in starts[:3]] == [
            len([key for key in KEYS if placed(key, 3) == number]) for number in range(3)
        ]
        assert starts[3][0].offset == 0

    ClusterBuilder().nodes(3).gateway().run(main)
