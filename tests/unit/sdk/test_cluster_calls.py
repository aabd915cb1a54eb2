"""What the SDK asks of a cluster, and what it makes of the answers."""

import asyncio
import json
from typing import Any

import pytest

from acklog import AsyncClient
from acklog.client import catalog_calls, cluster_calls
from acklog.client.call import Request, Response
from acklog.client.client import Client
from acklog.cluster import MoveOrder
from acklog.errors import InvalidArgument, InvalidField
from tests.unit.sdk.fake_log import answer, problem

NODE = {
    "node": 3,
    "address": "c:7000",
    "rack": "",
    "live": True,
    "draining": True,
    "leaving": False,
    "replicas": 2,
    "leaders": 0,
}
STATUS = {
    "embedded": False,
    "controller": None,
    "storeReachable": True,
    "automaticMoves": False,
    "nodes": [NODE],
    "partitions": 1,
    "withoutLeader": 0,
    "belowMinInsync": 0,
    "underReplicated": 1,
    "decommissioned": 0,
    "moving": 1,
    "ordersWaiting": 0,
    "moves": [{"topic": "t", "partition": 0, "from": [1], "to": [2], "waitingFor": [2]}],
    "troubled": [
        {
            "topic": "t",
            "partition": 0,
            "trouble": "underReplicated",
            "leader": 1,
            "replicas": [1, 2],
            "inSyncReplicas": [1],
        }
    ],
    "complete": True,
    "madeLater": "a field of a newer server is passed over",
}
MOVE = {"topic": "t", "partition": 0, "kind": "drain", "from": [1], "to": [2], "reason": "node 1 is drained"}


def test_looking() -> None:
    call = cluster_calls.status(7)
    assert (call.request.method, call.request.target) == ("GET", "/cluster?limit=7")
    seen = call.read(answer(200, STATUS))
    assert (seen.controller, seen.automatic_moves, seen.nodes[0].draining) == (None, False, True)
    assert (seen.moves[0].from_nodes, seen.moves[0].to_nodes, seen.moves[0].waiting_for) == ([1], [2], [2])
    assert seen.troubled[0].in_sync_replicas == [1]
    assert cluster_calls.status(None).request.target == "/cluster"


def test_planning() -> None:
    call = cluster_calls.plan(drain=[1], lost=(2,), moves=[MoveOrder("t", 0, [3, 1])], limit=5)
    assert (call.request.method, call.request.target, call.is_repeatable) == ("POST", "/cluster/plan", True)
    moves = [{"topic": "t", "partition": 0, "replicas": [3, 1]}]
    assert json.loads(call.request.body) == {"drain": [1], "lost": [2], "moves": moves, "limit": 5}
    found = call.read(answer(200, {"moves": [MOVE], "stuck": [{"topic": "t", "partition": 1}], "complete": False}))
    assert (found.moves[0].to_nodes, found.stuck[0].partition, found.complete) == ([2], 1, False)
    empty = cluster_calls.plan(drain=[], lost=[], moves=[], limit=None)
    assert "limit" not in json.loads(empty.request.body)


@pytest.mark.parametrize(
    ("request_of", "method", "target", "body"),
    [
        (lambda: cluster_calls.drain(3), "PUT", "/cluster/nodes/3/drain", None),
        (lambda: cluster_calls.stop_draining(3), "DELETE", "/cluster/nodes/3/drain", None),
        (lambda: cluster_calls.reassign("a/b", 2, [1]), "PUT", "/cluster/moves/a%2Fb/2", {"replicas": [1]}),
        (lambda: cluster_calls.cancel("t", 2), "DELETE", "/cluster/moves/t/2", None),
        (cluster_calls.pause_moves, "PUT", "/cluster/pause", None),
        (cluster_calls.resume_moves, "DELETE", "/cluster/pause", None),
        (lambda: catalog_calls.get_partition("t", 2), "GET", "/topics/t/partitions/2", None),
        (lambda: catalog_calls.decommission("t", [2]), "PUT", "/topics/t/decommissioned", {"partitions": [2]}),
    ],
)
def test_requests(request_of: Any, method: str, target: str, body: Any) -> None:
    call = request_of()
    assert (call.request.method, call.request.target) == (method, target)
    assert call.request.body == (b"" if body is None else json.dumps(body, separators=(",", ":")).encode())
    assert call.is_repeatable, "a wish that is stored twice is one wish"
    with pytest.raises(InvalidField):
        call.read(problem(400, "INVALID_FIELD", False))


def test_names_that_would_make_another_path() -> None:
    with pytest.raises(InvalidArgument):
        cluster_calls.cancel("..", 0)


class Answers:
    """A transport that answers everything well."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.seen.append((request.method, request.target))
        path = request.target.partition("?")[0]
        if path == "/cluster":
            return answer(200, STATUS)
        if path == "/cluster/plan":
            return answer(200, {"moves": [], "stuck": [], "complete": True})
        if request.method == "PUT" and path.startswith("/cluster/moves"):
            return answer(202, {"topic": "t", "partition": 0, "replicas": [1]})
        if request.method == "PUT" and path.startswith("/cluster/nodes"):
            return answer(202, NODE)
        return Response(204, b"", {})

    async def close(self) -> None:
        return


WAYS = ["/cluster", "/cluster/plan", "/cluster/nodes/3/drain", "/cluster/moves/t/0", "/cluster/pause"]


def test_the_plain_client() -> None:
    transport = Answers()
    with Client(transport=transport) as client:
        cluster = client.cluster
        assert cluster.status(limit=3).complete
        assert cluster.plan(drain=[3]).moves == []
        assert cluster.drain(3).replicas == 2
        assert cluster.reassign("t", 0, [1]) == MoveOrder("t", 0, [1])
        cluster.stop_draining(3)
        cluster.cancel("t", 0)
        cluster.pause_moves()
        cluster.resume_moves()
    assert list(dict.fromkeys(target.partition("?")[0] for _, target in transport.seen)) == WAYS


def test_the_asynchronous_client() -> None:
    transport = Answers()

    async def run() -> None:
        async with AsyncClient(transport=transport) as client:
            cluster = client.cluster
            assert (await cluster.status()).under_replicated == 1
            assert (await cluster.plan(lost=[1])).complete
            assert (await cluster.drain(3)).node == 3
            assert (await cluster.reassign("t", 0, [1])).replicas == [1]
            await cluster.stop_draining(3)
            await cluster.cancel("t", 0)
            await cluster.pause_moves()
            await cluster.resume_moves()

    asyncio.run(run())
    assert len(transport.seen) == 8
