"""Groups that begin nowhere by themselves."""

from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.projected_offsets import ProjectedOffsets
from cluster.ports.coordination import Put
from tests.support.cluster import Cluster, ClusterBuilder, client_of

REFUSE = {"settings": {"onMissingPosition": "refuse"}}
Main = Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]


def run(main: Main, *, nodes: int = 1) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            await cluster.topic(replicas=nodes)
            for number in range(5):
                body = {"queue": "orders", "body": number, "partition": 0}
                assert (await client.post("/messages", json=body)).status_code == 201
            assert (await client.put("/groups/careful", json=REFUSE)).status_code == 201
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(whole)


async def receive(client: httpx2.AsyncClient) -> httpx2.Response:
    return await client.get("/messages?queue=orders&group=careful&max=10")


async def offsets(client: httpx2.AsyncClient) -> list[Any]:
    return list((await client.get("/groups/careful/offsets")).json()["offsets"])


@pytest.mark.parametrize("nodes", [1, 3])
def test_it_reads_nothing_until_it_is_told_where(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        refused = await receive(client)
        assert (refused.status_code, refused.json()["code"]) == (409, "POSITION_MISSING")
        assert "seek" in refused.json()["detail"]
        planned = await client.put("/groups/careful/offsets", json={"topic": "orders", "to": "latest", "dryRun": True})
        assert planned.json()["partitions"] == [{"partition": 0, "offset": 5, "previous": 5}]
        back = await client.put("/groups/careful/offsets", json={"topic": "orders", "to": {"relative": -1}})
        assert (back.status_code, back.json()["code"]) == (409, "POSITION_MISSING"), "from where?"
        assert await offsets(client) == []
        seek = {"topic": "orders", "partition": 0, "to": {"offset": 3}}
        assert (await client.put("/groups/careful/offsets", json=seek)).status_code == 200
        assert [message["body"] for message in (await receive(client)).json()["messages"]] == [3, 4]

    run(main, nodes=nodes)


def test_a_commit_says_where_too() -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        position = {"topic": "orders", "partition": 0, "offset": 4}
        answer = await client.put("/groups/careful/offsets", json={"offsets": [position]})
        assert answer.status_code == 200, answer.text
        assert [message["body"] for message in (await receive(client)).json()["messages"]] == [4]

    run(main)


def test_of_a_partition_that_comes_later_it_misses_nothing() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/groups/careful/offsets", json={"topic": "orders", "to": "latest"})
        await client.patch("/topics/orders", json={"partitions": 2})
        view = cluster.gateways[0].metadata
        topic = view.topic("orders")
        assert topic is not None
        await cluster.until(lambda: len(view.partitions(topic.id)) == 2)
        await client.post("/messages", json={"queue": "orders", "body": 5, "partition": 1})
        found = await client.get("/messages?queue=orders&group=careful&max=10&waitSeconds=5")
        assert [message["body"] for message in found.json()["messages"]] == [5]

    run(main)


# --- positions that retention overtakes ------------------------------------------------------------------------------


def overtaken(main: Main, *, mode: str = "shared", nodes: int = 1, **settings: str) -> None:
    """`main` with a group whose position is below what retention has left, of two partitions in one."""

    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            found = await cluster.topic(replicas=nodes, partitions=2, segment_bytes=1000, retention_ms=60_000)
            await cluster.in_sync(found)
            group = {"mode": mode, "settings": {"onMissingPosition": "refuse", **settings}}
            assert (await client.put("/groups/careful", json=group)).status_code == 201
            await client.put("/groups/careful/offsets", json={"topic": "orders", "to": "earliest"})
            await send(client, range(10), 0)
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(whole)


async def send(client: httpx2.AsyncClient, numbers: range, partition: int) -> None:
    for number in numbers:
        body = {"queue": "orders", "body": f"{number}:" + "x" * 300, "partition": partition}
        assert (await client.post("/messages", json=body)).status_code == 201


async def let_retention_pass(cluster: Cluster, client: httpx2.AsyncClient, log_start: int = 10) -> None:
    await cluster.clock.sleep(70_000)
    await send(client, range(10, 12), 0)

    async def is_past() -> bool:
        found = (await client.get("/topics/orders")).json()["partitionStates"][0]
        return bool(found["logStart"] >= log_start)

    for _ in range(200):
        if await is_past():
            return
        await cluster.clock.sleep(100)
    raise AssertionError("retention does not pass")


def numbers_in(answer: httpx2.Response) -> list[int]:
    assert answer.status_code == 200, answer.text
    return [int(message["body"].split(":")[0]) for message in answer.json()["messages"]]


@pytest.mark.parametrize("mode", ["shared", "keyOrdered"])
@pytest.mark.parametrize("nodes", [1, 3])
def test_what_retention_has_overtaken_goes_on_when_somebody_says_where(mode: str, nodes: int) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        [leased] = (await client.get("/messages?queue=orders&group=careful&max=1")).json()["messages"]
        await let_retention_pass(cluster, client)
        for is_later in (False, True):
            refused = await receive(client)
            while is_later and refused.status_code == 200:  # until there is another leader
                await cluster.clock.sleep(100)
                refused = await receive(client)
            assert (refused.status_code, refused.json()["code"]) == (409, "POSITION_MISSING")
            assert "10 messages" in refused.json()["detail"]
            if nodes > 1 and not is_later:
                [topic] = cluster.gateways[0].gateway.metadata.topics()
                await cluster.stop(cluster.state(topic).leader)
        await send(client, range(20, 21), 1)
        assert numbers_in(await receive(client)) == [20], "other partitions go on"
        assert (await client.post("/ack", json={"receipt": leased["receipt"]})).status_code == 200
        assert (await receive(client)).status_code == 409
        [found] = [each for each in await offsets(client) if each["partition"] == 0]
        assert (found["progress"], found["lost"]) == (10, 10)
        position = {"topic": "orders", "partition": 0, "offset": 11}
        committed = await client.put("/groups/careful/offsets", json={"offsets": [position]})
        assert committed.status_code == 200, committed.text
        assert numbers_in(await receive(client)) == [11]

    overtaken(main, mode=mode, nodes=nodes)


def test_a_member_of_an_exclusive_group_is_told_too_and_a_seek_says_where() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        url = "/messages?queue=orders&group=careful&max=10&mode=exclusive&consumer=c1&waitSeconds=20"
        await let_retention_pass(cluster, client)
        refused = await client.get(url)
        assert (refused.status_code, refused.json()["code"]) == (409, "POSITION_MISSING")
        seek = {"topic": "orders", "partition": 0, "to": {"offset": 11}}
        assert (await client.put("/groups/careful/offsets", json=seek)).status_code == 200
        assert numbers_in(await client.get(url)) == [11]

    overtaken(main, mode="exclusive")


@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_group_that_goes_on_by_itself_does_so_at_the_logs_start_wherever_it_began(start: str) -> None:
    """Not at the end, where Kafka's `latest` would have it: that would lose what is still there."""

    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await let_retention_pass(cluster, client)
        assert (await receive(client)).status_code == 409
        changed = {"settings": {"onMissingPosition": "start"}}
        assert (await client.patch("/groups/careful", json=changed)).status_code == 200
        assert numbers_in(await receive(client)) == [10, 11]

    overtaken(main, startPosition=start)


def test_what_a_person_deleted_is_no_position_lost() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        deleted = await client.post("/topics/orders/delete-before", json={"offsets": [{"partition": 0, "offset": 4}]})
        assert deleted.status_code == 200, deleted.text
        assert numbers_in(await receive(client)) == [4, 5, 6, 7, 8, 9]

    overtaken(main)


def test_who_has_done_what_is_removed_goes_on() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        assert len((await client.get("/messages?queue=orders&group=careful&autoAck=true")).json()["messages"]) == 10
        await let_retention_pass(cluster, client)
        assert numbers_in(await receive(client)) == [10, 11]

    overtaken(main)


@pytest.mark.parametrize("how", ["seek", "commit"])
def test_a_position_that_is_known_from_the_offset_store_alone_is_overtaken_too(how: str) -> None:
    """The partition has lost what its groups did, and the position that the store knows is gone."""

    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        [topic] = cluster.gateways[0].gateway.metadata.topics()
        [group] = [each for each in cluster.gateways[0].gateway.metadata.groups() if each.name == "careful"]
        await let_retention_pass(cluster, client)
        partition = await cluster.leader(topic)._partition(topic.id, 0)
        await partition.groups.remove(group.id)
        cluster.leader(topic)._starts.look_anew()
        key = keys.offsets(group.id, topic.id)
        item = await cluster.store.get(key)
        assert item is not None
        stored = decode(ProjectedOffsets, item.value)
        before = replace(stored.partitions["0"], offset=3)
        await cluster.store.transact([], [Put(key, encode(replace(stored, partitions={"0": before})))])
        refused = await receive(client)
        assert (refused.status_code, refused.json()["code"]) == (409, "POSITION_MISSING")
        place: dict[str, Any] = {"topic": "orders", "partition": 0}
        seek = {**place, "to": {"offset": 11}}
        body = seek if how == "seek" else {"offsets": [{**place, "offset": 11}]}
        answer = await client.put("/groups/careful/offsets", json=body)
        assert answer.status_code == 200, answer.text
        assert (await client.put("/groups/careful/offsets", json={**seek, "partition": 1, "to": "latest"})).is_success
        assert numbers_in(await receive(client)) == [11]

    overtaken(main)
