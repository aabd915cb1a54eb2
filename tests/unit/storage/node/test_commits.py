"""Readers that keep their own positions, over HTTP: on one machine and on three, and over a change of the leader."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import msgspec
import pytest

from acklog.wire.limits import COMMIT_METADATA_BYTES_MAX
from app.calls.commits import COMMITS_MAX
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Put
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
SENT = 10
AT_ONE = {"topic": "orders", "partition": 0, "offset": 1}
Main = Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]


def run(main: Main, *, nodes: int = 1) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            await cluster.topic(replicas=nodes)
            await cluster.group()
            for number in range(SENT):
                sent = await client.post("/messages", json={"queue": "orders", "body": number, "partition": 0})
                assert sent.status_code == 201, sent.text
            await main(cluster, client)

    ClusterBuilder().nodes(nodes).gateway().run(whole)


async def commit(client: httpx2.AsyncClient, offset: int, **fields: Any) -> httpx2.Response:
    position = {"topic": "orders", "partition": 0, "offset": offset, **fields}
    return await client.put("/groups/workers/offsets", json={"offsets": [position]})


async def progress(client: httpx2.AsyncClient) -> dict[str, Any]:
    """But for how old its oldest message is by now: to ask takes a moment."""
    [found] = (await client.get("/groups/workers/offsets?topic=orders")).json()["offsets"] or [{}]
    return {name: value for name, value in found.items() if name != "oldestAgeMs"}


async def bodies(client: httpx2.AsyncClient, count: int = 100) -> list[int]:
    answer = await client.get(f"/messages?queue=orders&group=workers&max={count}")
    return [message["body"] for message in answer.json()["messages"]]


@pytest.mark.parametrize("nodes", NODES)
def test_what_is_committed_is_done_for_everybody(nodes: int) -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        answer = await commit(
            client, 4, metadata="row 4", leaderEpoch=cluster.state(await _topic(cluster)).leader_epoch
        )
        assert answer.status_code == 200, answer.text
        [item] = answer.json()["offsets"]
        assert item == {"topic": "orders", "partition": 0, "progress": 4, "previous": 4}, "its first word says where"
        assert (await progress(client))["lag"] == SENT - 4
        assert await bodies(client, 2) == [4, 5]
        assert (await commit(client, 7)).json()["offsets"][0]["previous"] == 4
        assert (await progress(client))["committed"] == {"offset": 7, "leaderEpoch": None, "metadata": ""}
        assert await bodies(client) == [7, 8, 9]

    run(main, nodes=nodes)


def test_another_leader_knows_it() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        topic = await _topic(cluster)
        assert (await commit(client, 6, metadata="mine")).status_code == 200
        await cluster.in_sync(topic)
        await cluster.stop(cluster.state(topic).leader)
        answer = await commit(client, 8, expected=6)
        assert answer.status_code == 200, answer.text
        assert (await progress(client))["progress"] == 8
        assert await bodies(client) == [8, 9]

    run(main, nodes=3)


@pytest.mark.parametrize("nodes", NODES)
def test_back_goes_only_who_knows_where_the_group_is(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        await commit(client, 6)
        before = await progress(client)
        for refused in (
            await commit(client, 2),
            await commit(client, 2, expected=5),
            await commit(client, 9, expected=5),
        ):
            assert (refused.status_code, refused.json()["code"]) == (409, "COMMIT_CONFLICT")
            assert refused.json()["progress"] == 6
        assert await progress(client) == before
        assert (await commit(client, 2, expected=6)).json()["offsets"][0]["progress"] == 2
        assert await bodies(client) == list(range(2, SENT))

    run(main, nodes=nodes)


@pytest.mark.parametrize("nodes", NODES)
def test_a_position_that_the_log_does_not_have_is_refused(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        beyond = await commit(client, SENT + 1)
        assert (beyond.status_code, beyond.json()["code"]) == (416, "OFFSET_OUT_OF_RANGE")
        unknown = await commit(client, 3, expected=1)
        assert (unknown.status_code, unknown.json()["code"]) == (409, "COMMIT_CONFLICT"), "it has no position yet"
        assert (await client.get("/groups/workers/offsets")).json()["offsets"] == [], "nothing was begun"
        assert (await commit(client, SENT)).status_code == 200
        assert await bodies(client) == []

    run(main, nodes=nodes)


def test_a_position_that_was_cut_away_is_told_where_it_diverged() -> None:
    """An unclean election's like: what the reader read in that epoch ends earlier in this log."""

    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        topic = await _topic(cluster)
        first = cluster.state(topic).leader_epoch
        await cluster.stop(1)
        await cluster.start(1)
        await cluster.until(lambda: cluster.state(topic).leader_epoch > first)
        await client.post("/messages", json={"queue": "orders", "body": 10, "partition": 0})
        for answer in (
            await commit(client, SENT + 1, leaderEpoch=first),
            await client.get(f"/topics/orders/partitions/0/records?offset={SENT + 1}&epoch={first}"),
        ):
            assert (answer.status_code, answer.json()["code"]) == (409, "LOG_DIVERGED")
            assert answer.json()["divergedAt"] == SENT
        assert (await commit(client, SENT, leaderEpoch=first)).status_code == 200

    run(main)


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"offsets": []}, "INVALID_FIELD", "offsets"),
        ({"offsets": [AT_ONE] * 2}, "INVALID_FIELD", "offsets[1]"),
        (
            {"offsets": [{**AT_ONE, "partition": 7}]},
            "PARTITION_NOT_FOUND",
            "offsets[0].partition",
        ),
        ({"offsets": [{**AT_ONE, "topic": "ordres"}]}, "TOPIC_NOT_FOUND", "offsets[0].topic"),
        ({"offsets": [{"topic": "orders", "partition": 0}]}, "MISSING_FIELD", "offsets[0].offset"),
        ({"offsets": [AT_ONE], "member": "me"}, "WRONG_GROUP_MODE", "member"),
        ({"offsets": [AT_ONE], "memberEpoch": 1}, "INVALID_FIELD", "memberEpoch"),
        ({"offsets": [{**AT_ONE, "leaderEpoch": 99}]}, "LOG_DIVERGED", "offsets[0].leaderEpoch"),
        ({"offsets": [{**AT_ONE, "expected": 1}]}, "COMMIT_CONFLICT", "offsets[0].expected"),
        ({"offsets": [{**AT_ONE, "offset": 999}]}, "OFFSET_OUT_OF_RANGE", "offsets[0].offset"),
        ({"offsets": [{**AT_ONE, "to": "latest"}]}, "UNKNOWN_FIELD", None),
    ],
)
@pytest.mark.parametrize("nodes", NODES)
def test_wrong_use_changes_nothing(nodes: int, body: dict[str, Any], code: str, field: str | None) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        answer = await client.put("/groups/workers/offsets", json=body)
        assert 400 <= answer.status_code < 500
        assert answer.json()["code"] == code
        assert field is None or answer.json()["field"] == field
        assert (await client.get("/groups/workers/offsets")).json()["offsets"] == []

    run(main, nodes=nodes)


def test_the_bounds() -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        longest = "ä" * (COMMIT_METADATA_BYTES_MAX // 2)
        assert (await commit(client, 1, metadata=longest)).status_code == 200
        too_long = await commit(client, 2, metadata=longest + "x")
        assert (too_long.json()["code"], too_long.json()["field"]) == ("INVALID_FIELD", "offsets[0].metadata")
        position = AT_ONE
        many = await client.put("/groups/workers/offsets", json={"offsets": [position] * (COMMITS_MAX + 1)})
        assert (many.json()["code"], many.json()["field"]) == ("INVALID_FIELD", "offsets")
        assert (await progress(client))["committed"]["metadata"] == longest

    run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_of_many_that_expect_the_same_one_wins(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        await commit(client, 1)
        answers = await asyncio.gather(*(commit(client, 2 + number, expected=1) for number in range(5)))
        codes = [answer.json().get("code") for answer in answers]
        assert codes.count(None) == 1
        assert set(codes) <= {None, "COMMIT_CONFLICT", "CONFLICT"}

    run(main, nodes=nodes)


def test_it_waits_until_every_node_knows_it() -> None:
    async def main(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        item = await cluster.store.get(keys.node(1))
        assert item is not None
        earlier = msgspec.structs.replace(decode(NodeRegistration, item.value), newest_protocol=0)
        await cluster.store.transact([], [Put(item.key, encode(earlier), item.lease_id)])
        view = cluster.gateways[0].metadata
        await cluster.until(lambda: view.steering.membership.get(1).newest_protocol == 0)
        answer = await commit(client, 3)
        assert (answer.status_code, answer.json()["code"]) == (409, "NODES_TOO_OLD")
        assert (await client.get("/groups/workers/offsets")).json()["offsets"] == []

    run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_a_member_of_an_exclusive_group_says_who_it_is(nodes: int) -> None:
    async def main(_: Cluster, client: httpx2.AsyncClient) -> None:
        assert (await client.put("/groups/workers-in-turn", json={"mode": "exclusive"})).status_code == 201

        async def member_commits(offset: int, **fields: Any) -> httpx2.Response:
            body = {"offsets": [{**AT_ONE, "offset": offset}], **fields}
            return await client.put("/groups/workers-in-turn/offsets", json=body)

        joined = await client.put("/groups/workers-in-turn/members/ada", json={"topics": ["orders"]})
        assert joined.status_code in {200, 201}, joined.text
        ada = {"member": "ada", "memberEpoch": joined.json()["memberEpoch"]}
        done = await member_commits(4, **ada)
        assert done.status_code == 200, done.text
        refusals: list[tuple[dict[str, Any], str]] = [
            ({}, "MISSING_FIELD"),
            ({"member": "ada"}, "MISSING_FIELD"),
            ({"member": "bob", "memberEpoch": 1}, "MEMBER_UNKNOWN"),
        ]
        for fields, code in refusals:
            refused = await member_commits(6, **fields)
            assert (refused.status_code // 100, refused.json()["code"]) == (4, code)
        assert (await client.delete("/groups/workers-in-turn/members/ada")).status_code in {200, 204}
        assert (await member_commits(6, **ada)).json()["code"] == "MEMBER_UNKNOWN"
        [seen] = (await client.get("/groups/workers-in-turn/offsets")).json()["offsets"]
        assert seen["progress"] == 4

    run(main, nodes=nodes)


async def _topic(cluster: Cluster) -> Any:
    topic = cluster.gateways[0].metadata.topic("orders")
    assert topic is not None
    return topic
