"""Operators look at a cluster and steer it: over HTTP, with real controllers behind it, and on one node."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from app.calls.cluster import LISTED_MAX, NODE_ID_MAX, NODES_NAMED_MAX
from app.configuration.server_settings import Settings
from app.http.application import create_app
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.model import keys
from cluster.model.values import UNTOLD_PROTOCOL
from cluster.ports.coordination import CoordinationUnavailableError, KeyValue
from tests.support.flaky_store import FlakyStore
from tests.support.memory_gateway import MemoryWorld
from tests.support.operated_cluster import OperatedCluster
from tests.unit.app.conftest import client_of

LOOKER = "looker-token-0123456789"
OPERATOR = "operator-token-01234567"
TENANT = "tenant-token-0123456789"
TOKENS = {
    "tokens": [
        {"name": "looker", "token": LOOKER, "scopes": ["read"]},
        {"name": "operator", "token": OPERATOR, "scopes": ["admin"]},
        {"name": "tenant", "token": TENANT, "scopes": ["read", "admin"], "topics": ["mail.*"]},
    ]
}


@pytest.fixture
async def cluster() -> AsyncIterator[OperatedCluster]:
    async with OperatedCluster.open() as cluster:
        yield cluster


async def status(cluster: OperatedCluster, **query: Any) -> Any:
    answer = await cluster.client.get("/cluster", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def plan(cluster: OperatedCluster, **fields: Any) -> Any:
    answer = await cluster.client.post("/cluster/plan", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def code_and_field(answer: httpx2.Response) -> tuple[str, str | None]:
    return answer.json()["code"], answer.json().get("field")


class TestLooking:
    async def test_a_cluster_in_which_all_is_well(self, cluster: OperatedCluster) -> None:
        await cluster.orders()
        seen = await status(cluster)
        nodes = seen.pop("nodes")
        assert seen == {
            "embedded": False,
            "controller": 1,
            "neededProtocol": 0,
            "storeReachable": True,
            "automaticMoves": True,
            "partitions": 3,
            "withoutLeader": 0,
            "belowMinInsync": 0,
            "underReplicated": 0,
            "decommissioned": 0,
            "moving": 0,
            "ordersWaiting": 0,
            "moves": [],
            "troubled": [],
            "complete": True,
        }
        assert [node["node"] for node in nodes] == [1, 2, 3]
        assert nodes[0] == {
            "node": 1,
            "address": "node-1:7000",
            "rack": "rack-1",
            "live": True,
            "draining": False,
            "leaving": False,
            "replicas": 2,
            "leaders": 1,
            "protocol": UNTOLD_PROTOCOL,
        }

    async def test_a_node_that_is_away_and_what_suffers(self, cluster: OperatedCluster) -> None:
        await cluster.orders(min_isr=2)
        await cluster.controlled.stop_node(2)
        await cluster.controlled.stop_node(1)
        seen = await status(cluster)
        assert [(node["node"], node["live"]) for node in seen["nodes"]] == [(1, False), (2, False), (3, True)]
        assert (seen["withoutLeader"], seen["belowMinInsync"], seen["underReplicated"]) == (1, 3, 3)
        worst = {each["partition"]: each["trouble"] for each in seen["troubled"]}
        assert sorted(worst.values()) == ["belowMinInsync", "belowMinInsync", "withoutLeader"]
        assert seen["complete"]
        bounded = await status(cluster, limit=2)
        assert (len(bounded["troubled"]), bounded["complete"]) == (2, False)
        assert bounded["underReplicated"] == 3, "the counts are those of the whole cluster"

    async def test_the_controller_is_followed(self, cluster: OperatedCluster) -> None:
        await cluster.controlled.stop_node(1)
        await cluster.go_on()
        assert (await status(cluster))["controller"] in {2, 3}

    async def test_without_the_store_the_last_known_is_shown(self, cluster: OperatedCluster) -> None:
        await cluster.orders()
        cluster.store.before["get"] = [CoordinationUnavailableError("gone")]
        seen = await status(cluster)
        assert (seen["storeReachable"], len(seen["nodes"]), seen["partitions"]) == (False, 3, 3)

    @pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": str(LISTED_MAX + 1)}, {"limit": "x"}])
    async def test_a_bad_limit(self, cluster: OperatedCluster, query: dict[str, str]) -> None:
        answer = await cluster.client.get("/cluster", params=query)
        assert (answer.status_code, *code_and_field(answer)) == (400, "INVALID_FIELD", "limit")


async def test_a_store_that_does_not_answer_counts_as_away(cluster: OperatedCluster) -> None:
    class SilentStore(FlakyStore):
        async def get(self, key: str) -> KeyValue | None:
            await asyncio.Event().wait()
            raise AssertionError

    admin = ClusterAdmin(
        SilentStore(cluster.controlled.store), cluster.controlled.metadata, clock=cluster.controlled.clock
    )
    assert not await admin.store_answers(within_ms=1)


class TestPlans:
    async def test_of_a_drain(self, cluster: OperatedCluster) -> None:
        await cluster.orders()
        revision = (await cluster.controlled.store.list(keys.ROOT)).revision
        found = await plan(cluster, drain=[3])
        assert (await cluster.controlled.store.list(keys.ROOT)).revision == revision, "nothing is written"
        assert len(found["moves"]) == 2
        assert (found["stuck"], found["complete"]) == ([], True)
        for move in found["moves"]:
            assert (move["topic"], move["kind"], move["reason"]) == ("orders", "drain", "node 3 is drained")
            assert 3 in move["from"]
            assert 3 not in move["to"]

    async def test_of_a_loss_for_which_there_is_no_room(self, cluster: OperatedCluster) -> None:
        await cluster.orders(replicas=3)
        found = await plan(cluster, lost=[2])
        assert found["moves"] == []
        assert found["stuck"] == [{"topic": "orders", "partition": number} for number in range(3)]

    async def test_of_a_move(self, cluster: OperatedCluster) -> None:
        topic = await cluster.orders(partitions=1)
        held = list((await cluster.controlled.state(topic)).replicas)
        other = next(node for node in (1, 2, 3) if node not in held)
        move = {"topic": "orders", "partition": 0, "replicas": [other, held[0]]}
        found = await plan(cluster, moves=[move])
        assert found["moves"][0] == {
            "topic": "orders",
            "partition": 0,
            "kind": "ordered",
            "from": held,
            "to": [other, held[0]],
            "reason": "an operator asked for it",
        }

    async def test_that_is_longer_than_asked_for(self, cluster: OperatedCluster) -> None:
        await cluster.orders(partitions=30)
        whole = await plan(cluster, drain=[3])
        assert (len(whole["moves"]), whole["complete"]) == (20, True)
        cut = await plan(cluster, drain=[3], limit=5)
        assert (cut["moves"], cut["complete"], cut["stuck"]) == (whole["moves"][:5], False, [])

    async def test_of_nothing(self, cluster: OperatedCluster) -> None:
        await cluster.orders()
        answer = await cluster.client.post("/cluster/plan")
        assert answer.json() == {"moves": [], "stuck": [], "complete": True}

    @pytest.mark.parametrize(
        ("fields", "code", "field"),
        [
            ({"drain": [1, 9]}, "INVALID_FIELD", "drain[1]"),
            ({"drain": [0]}, "INVALID_FIELD", "drain[0]"),
            ({"drain": [1] * (NODES_NAMED_MAX + 1)}, "INVALID_FIELD", "drain"),
            ({"lost": [9]}, "INVALID_FIELD", "lost[0]"),
            ({"limit": 0}, "INVALID_FIELD", "limit"),
            ({"moves": [{"topic": "nowhere", "partition": 0, "replicas": [1]}]}, "TOPIC_NOT_FOUND", "moves[0].topic"),
            (
                {"moves": [{"topic": "orders", "partition": 3, "replicas": [1, 2]}]},
                "INVALID_FIELD",
                "moves[0].partition",
            ),
            ({"moves": [{"topic": "orders", "partition": 0, "replicas": [1]}]}, "INVALID_FIELD", "moves[0].replicas"),
            ({"moves": [{"topic": "orders"}]}, "MISSING_FIELD", "moves[0].partition"),
            ({"drian": [1]}, "UNKNOWN_FIELD", "drian"),
        ],
    )
    async def test_that_cannot_be(
        self, cluster: OperatedCluster, fields: dict[str, Any], code: str, field: str
    ) -> None:
        await cluster.orders()
        assert code_and_field(await cluster.client.post("/cluster/plan", json=fields)) == (code, field)


class TestSteering:
    async def test_draining(self, cluster: OperatedCluster) -> None:
        await cluster.orders()
        asked = await cluster.client.put("/cluster/nodes/3/drain")
        assert (asked.status_code, asked.json()["draining"], asked.json()["replicas"]) == (202, True, 2)
        assert (await cluster.client.put("/cluster/nodes/3/drain")).status_code == 202
        await cluster.go_on()
        seen = await status(cluster)
        assert (seen["nodes"][2]["draining"], seen["moving"]) == (True, 2)
        for move in seen["moves"]:
            assert 3 in move["from"]
            assert move["waitingFor"] == [node for node in move["to"] if node not in move["from"]]
        answer = await cluster.client.delete("/cluster/nodes/3/drain")
        assert (answer.status_code, answer.content) == (204, b"")
        assert not (await status(cluster))["nodes"][2]["draining"]

    async def test_the_last_node_that_could_take_anything_is_not_drained(self, cluster: OperatedCluster) -> None:
        await cluster.orders()
        for node in (1, 2):
            assert (await cluster.client.put(f"/cluster/nodes/{node}/drain")).status_code == 202
        refused = await cluster.client.put("/cluster/nodes/3/drain")
        assert (refused.status_code, *code_and_field(refused)) == (400, "INVALID_FIELD", "node")
        assert "no node but node 3 could take replicas now: start another one first" in refused.json()["detail"]
        assert (await cluster.client.put("/cluster/nodes/2/drain")).status_code == 202, "it is drained already"

    @pytest.mark.parametrize("node", ["0", "x", "-1", "1.0", str(NODE_ID_MAX + 1), "9" * 30])
    async def test_what_is_no_node(self, cluster: OperatedCluster, node: str) -> None:
        for method in ("PUT", "DELETE"):
            answer = await cluster.client.request(method, f"/cluster/nodes/{node}/drain")
            assert (answer.status_code, *code_and_field(answer)) == (400, "INVALID_FIELD", "node")

    async def test_a_move_and_its_end(self, cluster: OperatedCluster) -> None:
        topic = await cluster.orders(partitions=1)
        held = list((await cluster.controlled.state(topic)).replicas)
        other = next(node for node in (1, 2, 3) if node not in held)
        asked = await cluster.client.put("/cluster/moves/orders/0", json={"replicas": [other, held[0]]})
        assert asked.status_code == 202
        assert asked.json() == {"topic": "orders", "partition": 0, "replicas": [other, held[0]]}
        await cluster.go_on()
        seen = await status(cluster)
        assert seen["ordersWaiting"] == 1
        assert seen["moves"] == [
            {"topic": "orders", "partition": 0, "from": held, "to": [other, held[0]], "waitingFor": [other]}
        ]
        described = (await cluster.client.get("/topics/orders")).json()["partitionStates"][0]
        assert (described["movingTo"], described["inSyncReplicas"]) == ([other, held[0]], held)
        assert (await cluster.client.delete("/cluster/moves/orders/0")).status_code == 204
        await cluster.go_on()
        await cluster.go_on()
        seen = await status(cluster)
        assert (seen["moving"], seen["ordersWaiting"]) == (0, 0)
        assert list((await cluster.controlled.state(topic)).replicas) == held

    @pytest.mark.parametrize(
        ("path", "fields", "code", "field"),
        [
            ("nowhere/0", {"replicas": [1, 2]}, "TOPIC_NOT_FOUND", "topic"),
            ("orders/3", {"replicas": [1, 2]}, "INVALID_FIELD", "partition"),
            ("orders/x", {"replicas": [1, 2]}, "INVALID_FIELD", "partition"),
            ("orders/0", {"replicas": [1, 1]}, "INVALID_FIELD", "replicas"),
            ("orders/0", {"replicas": [1, 9]}, "INVALID_FIELD", "replicas"),
            ("orders/0", {"replicas": [1]}, "INVALID_FIELD", "replicas"),
            ("orders/0", {"replicas": []}, "INVALID_FIELD", "replicas"),
            ("orders/0", {}, "MISSING_FIELD", "replicas"),
        ],
    )
    async def test_a_move_that_cannot_be(
        self, cluster: OperatedCluster, path: str, fields: dict[str, Any], code: str, field: str
    ) -> None:
        await cluster.orders()
        assert code_and_field(await cluster.client.put(f"/cluster/moves/{path}", json=fields)) == (code, field)

    async def test_pausing(self, cluster: OperatedCluster) -> None:
        for _ in range(2):
            assert (await cluster.client.put("/cluster/pause")).status_code == 204
        assert not (await status(cluster))["automaticMoves"]
        for _ in range(2):
            assert (await cluster.client.delete("/cluster/pause")).status_code == 204
        assert (await status(cluster))["automaticMoves"]

    async def test_the_store_is_needed_for_wishes(self, cluster: OperatedCluster) -> None:
        cluster.store.before["get"] = [CoordinationUnavailableError("gone")]
        answer = await cluster.client.put("/cluster/pause")
        assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")


class TestReplication:
    async def test_defaults_go_by_the_nodes_that_there_are(self, cluster: OperatedCluster) -> None:
        made = (await cluster.client.put("/topics/orders")).json()
        assert (made["replicationFactor"], made["config"]["minInsyncReplicas"]) == (3, 2)
        two = (await cluster.client.put("/topics/two", json={"replicationFactor": 2})).json()
        assert (two["replicationFactor"], two["config"]["minInsyncReplicas"]) == (2, 1)
        await cluster.controlled.stop_node(3)
        made = (await cluster.client.put("/topics/during-a-restart")).json()
        assert made["replicationFactor"] == 3, "it holds replicas, so it is to come back"
        assert (await cluster.client.put("/cluster/nodes/3/drain")).status_code == 202
        made = (await cluster.client.put("/topics/afterwards")).json()
        assert (made["replicationFactor"], made["config"]["minInsyncReplicas"]) == (2, 1)

    async def test_a_topic_that_a_send_makes_has_them_too(self, cluster: OperatedCluster) -> None:
        sending = asyncio.ensure_future(cluster.client.post("/messages", json={"queue": "orders", "body": 1}))
        await cluster.go_on()
        assert (await sending).json()["topicCreated"]
        topic = cluster.controlled.metadata.topic("orders")
        assert topic is not None
        assert (topic.replication_factor, topic.config.min_insync_replicas) == (3, 2)

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"replicationFactor": 4}, "replicationFactor"),
            ({"replicationFactor": 2, "config": {"minInsyncReplicas": 3}}, "config.minInsyncReplicas"),
            ({"config": {"minInsyncReplicas": 4}}, "config.minInsyncReplicas"),
            ({"replicationFactor": 0}, "replicationFactor"),
            ({"config": {"maxReplicaLagMs": 99}}, "config.maxReplicaLagMs"),
        ],
    )
    async def test_what_cannot_be_asked_for(self, cluster: OperatedCluster, fields: dict[str, Any], field: str) -> None:
        for existing in (False, True):
            name = "new" if not existing else "orders"
            if existing:
                await cluster.orders()
            method = "PATCH" if existing else "PUT"
            refused = await cluster.client.request(method, f"/topics/{name}", json=fields)
            assert (refused.status_code, *code_and_field(refused)) == (400, "INVALID_FIELD", field)

    async def test_more_and_fewer_replicas_later(self, cluster: OperatedCluster) -> None:
        topic = await cluster.orders(partitions=1)
        changed = await cluster.client.patch("/topics/orders", json={"replicationFactor": 3})
        assert (changed.status_code, changed.json()["replicationFactor"]) == (200, 3)
        await cluster.go_on()
        assert sorted((await cluster.controlled.state(topic)).replicas) == [1, 2, 3]
        seen = await status(cluster)
        assert (seen["underReplicated"], seen["moving"]) == (1, 1)
        assert seen["troubled"][0]["trouble"] == "underReplicated"
        least = {"config": {"minInsyncReplicas": 3}}
        assert (await cluster.client.patch("/topics/orders", json=least)).status_code == 200
        refused = await cluster.client.patch("/topics/orders", json={"replicationFactor": 2})
        assert code_and_field(refused) == ("INVALID_FIELD", "config.minInsyncReplicas")
        both = {"replicationFactor": 1, "config": {"minInsyncReplicas": 1}}
        assert (await cluster.client.patch("/topics/orders", json=both)).json()["replicationFactor"] == 1


class TestDecommissioning:
    async def test_partitions_go(self, cluster: OperatedCluster) -> None:
        await cluster.orders()
        changed = await cluster.client.put("/topics/orders/decommissioned", json={"partitions": [2]})
        assert (changed.status_code, changed.json()["decommissioned"]) == (200, [2])
        again = await cluster.client.put("/topics/orders/decommissioned", json={"partitions": [2, 1]})
        assert (again.json()["decommissioned"], again.json()["partitions"]) == ([1, 2], 3)
        await cluster.go_on()
        states = (await cluster.client.get("/topics/orders")).json()["partitionStates"]
        assert [state["life"] for state in states] == ["active", "decommissioned", "decommissioned"]
        assert (await status(cluster))["decommissioned"] == 2

    @pytest.mark.parametrize(
        ("path", "fields", "code", "field"),
        [
            ("orders", {"partitions": [3]}, "INVALID_FIELD", "partitions"),
            ("orders", {"partitions": [0, 1, 2]}, "INVALID_FIELD", "partitions"),
            ("orders", {"partitions": []}, "INVALID_FIELD", "partitions"),
            ("orders", {"partitions": [-1]}, "INVALID_FIELD", "partitions[0]"),
            ("orders", {}, "MISSING_FIELD", "partitions"),
            ("nowhere", {"partitions": [0]}, "TOPIC_NOT_FOUND", "topic"),
        ],
    )
    async def test_bad_requests(
        self, cluster: OperatedCluster, path: str, fields: dict[str, Any], code: str, field: str
    ) -> None:
        await cluster.orders()
        answer = await cluster.client.put(f"/topics/{path}/decommissioned", json=fields)
        assert code_and_field(answer) == (code, field)


class TestScopes:
    @pytest.mark.parametrize(
        ("method", "path", "body", "allowed"),
        [
            ("GET", "/cluster", None, [LOOKER, TENANT]),
            ("POST", "/cluster/plan", None, [LOOKER, TENANT]),
            ("PUT", "/cluster/nodes/3/drain", None, [OPERATOR]),
            ("DELETE", "/cluster/nodes/3/drain", None, [OPERATOR]),
            ("PUT", "/cluster/moves/orders/0", {"replicas": [1, 2]}, [OPERATOR]),
            ("DELETE", "/cluster/moves/orders/0", None, [OPERATOR]),
            ("PUT", "/cluster/moves/mail.in/0", {"replicas": [1, 2]}, [OPERATOR, TENANT]),
            ("DELETE", "/cluster/moves/mail.in/0", None, [OPERATOR, TENANT]),
            ("PUT", "/cluster/pause", None, [OPERATOR]),
            ("DELETE", "/cluster/pause", None, [OPERATOR]),
            ("PUT", "/topics/orders/decommissioned", {"partitions": [1]}, [OPERATOR]),
            ("PUT", "/topics/mail.in/decommissioned", {"partitions": [1]}, [OPERATOR, TENANT]),
            ("GET", "/topics/orders/partitions/0", None, [LOOKER]),
        ],
    )
    async def test_who_may(self, method: str, path: str, body: Any, allowed: list[str]) -> None:
        async with OperatedCluster.open(tokens=parse_token_table(json.dumps(TOKENS).encode())) as cluster:
            await cluster.orders()
            await cluster.controlled.create("mail.in", partitions=2, replicas=2)
            assert (await cluster.client.request(method, path, json=body)).status_code == 401
            for token in (LOOKER, OPERATOR, TENANT):
                headers = {"Authorization": f"Bearer {token}"}
                answer = await cluster.client.request(method, path, json=body, headers=headers)
                assert (answer.status_code == 403) == (token not in allowed), (token, answer.text)

    async def test_topics_of_others_are_counted_and_not_named(self) -> None:
        async with OperatedCluster.open(tokens=parse_token_table(json.dumps(TOKENS).encode())) as cluster:
            await cluster.orders()
            await cluster.controlled.create("mail.in", partitions=2, replicas=2)
            await cluster.controlled.stop_node(3)
            headers = {"Authorization": f"Bearer {TENANT}"}
            seen = (await cluster.client.get("/cluster", headers=headers)).json()
            assert seen["underReplicated"] > len(seen["troubled"]) > 0
            assert {each["topic"] for each in seen["troubled"]} == {"mail.in"}
            found = (await cluster.client.post("/cluster/plan", json={"lost": [3]}, headers=headers)).json()
            assert {each["topic"] for each in found["moves"] + found["stuck"]} == {"mail.in"}


class TestOneNode:
    async def test_it_says_so(self, client: httpx2.AsyncClient, world: MemoryWorld) -> None:
        await world.topic(partitions=2)
        seen = (await client.get("/cluster")).json()
        assert (len(seen["nodes"]), seen["partitions"], seen["storeReachable"]) == (1, 2, True)
        assert (seen["nodes"][0]["replicas"], seen["nodes"][0]["leaders"]) == (2, 2)

    async def test_it_cannot_be_drained(self, client: httpx2.AsyncClient, world: MemoryWorld) -> None:
        refused = await client.put("/cluster/nodes/1/drain")
        assert (refused.status_code, *code_and_field(refused)) == (400, "INVALID_FIELD", "node")
        assert "start another one first" in refused.json()["detail"]
        assert code_and_field(await client.post("/cluster/plan", json={"drain": [1]})) == ("INVALID_FIELD", "drain[0]")

    @pytest.mark.parametrize(
        ("method", "path", "body"),
        [
            ("PUT", "/cluster/nodes/1/drain", None),
            ("DELETE", "/cluster/nodes/1/drain", None),
            ("PUT", "/cluster/moves/orders/0", {"replicas": [1]}),
            ("DELETE", "/cluster/moves/orders/0", None),
            ("PUT", "/cluster/pause", None),
            ("DELETE", "/cluster/pause", None),
            ("POST", "/cluster/plan", {"drain": [1]}),
            ("POST", "/cluster/plan", {"moves": [{"topic": "orders", "partition": 0, "replicas": [1]}]}),
        ],
    )
    async def test_the_embedded_server_moves_nothing(self, method: str, path: str, body: Any) -> None:
        world = MemoryWorld()
        await world.topic()
        async with client_of(create_app(replace(world.gateway, is_embedded=True))) as client:
            refused = await client.request(method, path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (400, "UNSUPPORTED")
            assert "there is nowhere to move replicas" in refused.json()["detail"]
            assert (await client.post("/cluster/plan")).status_code == 200
            seen = (await client.get("/cluster")).json()
            assert (seen["embedded"], seen["controller"]) == (True, 1)

    async def test_a_topic_has_one_replica(self, client: httpx2.AsyncClient) -> None:
        made = (await client.put("/topics/orders")).json()
        assert (made["replicationFactor"], made["config"]["minInsyncReplicas"], made["decommissioned"]) == (1, 1, [])

    async def test_a_partition_with_its_groups(self, client: httpx2.AsyncClient, world: MemoryWorld) -> None:
        await world.topic(partitions=2)
        for number in range(2):
            await client.post("/messages", json={"queue": "orders", "body": number, "partition": 1})
        for group in ("mail", "billing"):
            await client.get(f"/messages?queue=orders&group={group}&max=1")
        found = (await client.get("/topics/orders/partitions/1")).json()
        assert (found["topic"], found["partition"], found["leader"], found["highWatermark"]) == ("orders", 1, 1, 2)
        assert [(each["group"], each["inFlight"], each["lag"]) for each in found["groups"]] == [
            ("billing", 1, 2),
            ("mail", 1, 2),
        ]
        missing = await client.get("/topics/orders/partitions/2")
        assert (missing.status_code, missing.json()["code"]) == (404, "PARTITION_NOT_FOUND")
        assert (await client.get("/topics/orders/partitions/x")).json()["field"] == "partition"


async def test_a_leader_that_is_away_does_not_hold_up_a_description(world: MemoryWorld) -> None:
    """Half the partitions have no leader: the answer has the others, after the time that a description may take."""
    world = MemoryWorld(Settings(request_timeout_ms=60_000))
    topic = await world.topic(partitions=2)
    world.metadata.leaderless.add((topic.id, 1))
    async with client_of(create_app(world.gateway)) as client:
        asking = asyncio.ensure_future(client.get("/topics/orders"))
        await world.clock.advance_ms(2_100)
        first, second = (await asking).json()["partitionStates"]
    assert (first["problem"], second["problem"]["code"]) == (None, ProblemCode.UNAVAILABLE.name)
