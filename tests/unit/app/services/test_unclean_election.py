"""Unclean election over HTTP: what would be lost, and the election; with real controllers, and nodes that are told what
to say."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.http.application import create_app
from cluster.model import keys
from cluster.model.values import Topic
from cluster.ports.coordination import Compare, Operation, Put, TransactionResult
from storage.rpc import messages
from storage.rpc.node_api import NodeApi
from tests.support.memory_gateway import MemoryWorld
from tests.support.memory_node import MemoryNode
from tests.support.operated_cluster import OperatedCluster
from tests.unit.app.conftest import client_of

PATH = "/cluster/partitions/orders/0/unclean-election"
OPERATOR = "operator-token-01234567"
TENANT = "tenant-token-0123456789"
READER = "reader-token-0123456789"
TOKENS = {
    "tokens": [
        {"name": "operator", "token": OPERATOR, "scopes": ["admin"]},
        {"name": "tenant", "token": TENANT, "scopes": ["read", "admin"], "topics": ["orders"]},
        {"name": "reader", "token": READER, "scopes": ["read"]},
    ]
}


class TellingNode(MemoryNode):
    """Says of its replica what a test wants."""

    def __init__(self, node_id: int, log_end: int) -> None:
        super().__init__()
        reach = messages.LogReach(0, log_end, 1, log_end)
        self.report = messages.ReplicaReportResponse(1, f"directory-{node_id}", 1, reach, reach, False)

    async def replica_report(self, request: messages.ReplicaReportRequest) -> messages.ReplicaReportResponse:
        return self.report


class Scene:
    """A partition on three nodes, of which only the first was in sync, and that one is gone."""

    def __init__(self, cluster: OperatedCluster, topic: Topic, gone: int) -> None:
        self.cluster = cluster
        self.topic = topic
        self.gone = gone
        self.nodes = {number: TellingNode(number, 10 * number) for number in (1, 2, 3)}

    def client(self, node_id: int) -> NodeApi:
        return self.nodes[node_id]

    @property
    def left(self) -> list[int]:
        return [number for number in (1, 2, 3) if number != self.gone]

    async def plan(self, status: int = 200, **fields: Any) -> Any:
        answer = await self.cluster.client.post(f"{PATH}/plan", json=fields)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def elect(self, order: Any, status: int = 200) -> Any:
        answer = await self.cluster.client.post(PATH, json=order)
        assert answer.status_code == status, answer.text
        return answer.json()


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with OperatedCluster.open() as cluster:
        topic = await cluster.orders(partitions=1, replicas=3)
        state = await cluster.controlled.state(topic)
        scene = Scene(cluster, topic, state.leader)
        gateway = replace(cluster.gateway, nodes=scene)
        async with client_of(create_app(gateway)) as client:
            cluster.client = client
            for node in scene.left:
                await cluster.controlled.stop_node(node)
            await cluster.controlled.clock.advance_ms(5_000)
            assert (await cluster.controlled.state(topic)).isr == (state.leader,)
            await cluster.controlled.stop_node(state.leader)
            for node in scene.left:
                await cluster.controlled.start_node(node)
            await cluster.controlled.clock.advance_ms(5_000)
            yield scene


async def test_the_plan_says_what_is_lost_and_changes_nothing(scene: Scene) -> None:
    before = await scene.cluster.controlled.item(keys.partition(scene.topic.id, 0))
    plan = await scene.plan()
    lower, higher = scene.left
    assert [each["node"] for each in plan["replicas"] if each["problem"]] == [scene.gone]
    assert plan["order"]["node"] == higher
    assert plan["loss"] == {
        "fromOffset": 10 * higher,
        "belowOffset": 10 * higher,
        "unknownBeyond": [scene.gone],
        "groups": [],
    }
    named = await scene.plan(node=lower)
    assert named["order"]["node"] == lower
    assert (named["loss"]["fromOffset"], named["loss"]["belowOffset"]) == (10 * lower, 10 * higher)
    assert await scene.cluster.controlled.item(keys.partition(scene.topic.id, 0)) == before


async def test_it_is_done_once_and_leaves_its_mark(scene: Scene) -> None:
    order = (await scene.plan())["order"]
    done = await scene.elect(order)
    state = await scene.cluster.controlled.state(scene.topic)
    assert (state.leader, state.isr) == (order["node"], (order["node"],))
    mark = done["uncleanElection"]
    assert (mark["count"], mark["leaderEpoch"], mark["node"]) == (1, state.leader_epoch, order["node"])
    [partition] = (await scene.cluster.client.get("/topics/orders")).json()["partitionStates"]
    assert partition["uncleanElection"] == mark
    assert (await scene.elect(order, 409))["code"] == "CLEAN_ELECTION_POSSIBLE", "it has a leader now"
    await scene.cluster.controlled.clock.advance_ms(60_000)
    assert (await scene.cluster.controlled.state(scene.topic)).unclean_election == state.unclean_election


async def test_what_has_changed_since_the_plan_is_a_conflict(scene: Scene) -> None:
    order = (await scene.plan())["order"]
    for change in ({"revision": order["revision"] + 1}, {"incarnation": 9}, {"directoryId": "another"}):
        assert (await scene.elect({**order, **change}, 409))["code"] == "CONFLICT"
    key = keys.partition(scene.topic.id, 0)
    item = await scene.cluster.controlled.item(key)
    await scene.cluster.controlled.store.transact([], [Put(key, item.value)])
    assert (await scene.elect(order, 409))["code"] == "CONFLICT"


async def test_a_member_that_comes_back_now_prevents_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last look and the transaction."""
    order = (await scene.plan())["order"]
    store, transact = scene.cluster.store, scene.cluster.store.transact

    async def after_it_came_back(
        compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        if scene.gone not in scene.cluster.controlled.nodes:
            await scene.cluster.controlled.start_node(scene.gone, incarnation=2)
        return await transact(compares, then, otherwise)

    monkeypatch.setattr(store, "transact", after_it_came_back)
    answer = await scene.elect(order, 409)
    assert answer["code"] in {"CONFLICT", "CLEAN_ELECTION_POSSIBLE"}
    state = await scene.cluster.controlled.state(scene.topic)
    assert (state.leader, state.unclean_election) == (scene.gone, None)


async def test_who_cannot_be_elected(scene: Scene) -> None:
    lower, higher = scene.left
    refused = await scene.plan(409, node=scene.gone)
    assert (refused["code"], "not registered" in refused["detail"]) == ("REPLICA_NOT_ELECTABLE", True)
    scene.nodes[higher].report.is_damaged = True
    assert (await scene.plan(409, node=higher))["code"] == "REPLICA_NOT_ELECTABLE"
    assert (await scene.plan())["order"]["node"] == lower
    scene.nodes[lower].report.messages = messages.LogReach(0, 0, -1, 0)
    nobody = await scene.plan()
    assert (nobody["order"], nobody["loss"]) == (None, None)
    assert (await scene.plan(409, node=99))["code"] == "REPLICA_NOT_ELECTABLE"


async def test_a_partition_with_a_leader_is_refused() -> None:
    async with OperatedCluster.open() as cluster:
        await cluster.orders(partitions=1, replicas=3)
        answer = await cluster.client.post(f"{PATH}/plan")
        assert (answer.status_code, answer.json()["code"]) == (409, "CLEAN_ELECTION_POSSIBLE")


async def test_it_needs_the_right_to_administer_every_topic() -> None:
    async with OperatedCluster.open(tokens=parse_token_table(json.dumps(TOKENS).encode())) as cluster:
        await cluster.orders(partitions=1, replicas=3)
        order = {"node": 1, "incarnation": 1, "directoryId": "d", "revision": 1}
        for token, status in ((TENANT, 403), (READER, 403), (OPERATOR, 409)):
            headers = {"Authorization": f"Bearer {token}"}
            for path, body in ((f"{PATH}/plan", {}), (PATH, order)):
                answer = await cluster.client.post(path, json=body, headers=headers)
                assert answer.status_code == status, answer.text


async def test_bad_orders_are_refused(scene: Scene) -> None:
    order = (await scene.plan())["order"]
    for name in order:
        missing = {key: value for key, value in order.items() if key != name}
        assert (await scene.elect(missing, 400))["code"] == "MISSING_FIELD"
    assert (await scene.elect({**order, "force": True}, 400))["code"] == "UNKNOWN_FIELD"
    assert (await scene.elect({**order, "node": 0}, 400))["code"] == "INVALID_FIELD"


async def test_one_node_by_itself_has_nobody_else(world: MemoryWorld) -> None:
    async with client_of(create_app(replace(world.gateway, is_embedded=True))) as client:
        answer = await client.post(f"{PATH}/plan")
    assert (answer.status_code, answer.json()["code"]) == (400, "UNSUPPORTED")
