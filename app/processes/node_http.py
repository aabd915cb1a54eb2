"""The few HTTP calls of a node: for whoever runs it, not for its users."""

from collections.abc import Awaitable, Callable

from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from acklog.wire.problems import ProblemCode
from app.gateway.exposition import SteppedRegistry
from app.http.exchange.problems import problem_of
from app.http.exchange.responses import BytesResponse, json_response
from app.http.exchange.turns import Turns
from app.http.parsing import query
from app.processes.cluster_node import ClusterNode
from app.processes.cluster_node_metrics import ClusterNodeCollector
from app.processes.node_metrics import NodeCollector
from app.processes.node_standing import wait_until_stoppable, why_not_in_sync
from cluster.errors import ServerError

STOP_WAIT_SECONDS_MAX = 3_600

_STOPPABLE_QUERY = query.QueryTable(
    (
        query.integer(
            "waitSeconds", 0, STOP_WAIT_SECONDS_MAX, "how long to wait until the node may be stopped", default=0
        ),
    )
)

Endpoint = Callable[[Request], Awaitable[Response]]


def create_node_app(node: ClusterNode, *, metric_names_max: int, collectors: tuple[Collector, ...] = ()) -> Starlette:
    """/healthz (the process answers), /readyz (it serves), /in-sync (and has all that it should have: the next node may
    be restarted), /stoppable (the others can do without it), /metrics, with what `collectors` tell beside the node's
    own. Without tokens: keep the address to yourself."""
    registry = SteppedRegistry()
    turns = Turns()
    registry.register(NodeCollector(node.node, node.metadata, names_max=metric_names_max))
    registry.register(ClusterNodeCollector(node))
    for collector in collectors:
        registry.register(collector)

    async def is_alive(_request: Request) -> Response:
        return json_response({"status": "alive"})

    async def is_ready(_request: Request) -> Response:
        reason = node.why_not_ready
        if node.is_leaving:
            raise ServerError(ProblemCode.SHUTTING_DOWN, "the node is leaving")
        if reason is not None:
            raise ServerError(ProblemCode.STORAGE_FAILED, reason)
        return json_response({"status": "ready"})

    async def is_in_sync(_request: Request) -> Response:
        reason = why_not_in_sync(node)
        if reason is not None:
            raise ServerError(ProblemCode.UNAVAILABLE, reason)
        return json_response({"status": "in sync"})

    async def is_stoppable(request: Request) -> Response:
        wait_seconds = _STOPPABLE_QUERY.parse(request.scope["query_string"]).integer("waitSeconds") or 0
        reason = await wait_until_stoppable(node, wait_ms=1_000 * wait_seconds)
        if reason is not None:
            raise ServerError(ProblemCode.UNAVAILABLE, reason)
        return json_response({"status": "stoppable"})

    async def metrics(_request: Request) -> Response:
        return BytesResponse(await turns.take(registry.exposition()), 200, None, CONTENT_TYPE_LATEST)

    return Starlette(
        routes=[
            Route("/healthz", is_alive),
            Route("/readyz", is_ready),
            Route("/in-sync", is_in_sync),
            Route("/stoppable", is_stoppable),
            Route("/metrics", metrics),
        ],
        exception_handlers={ServerError: _as_problem},
    )


async def _as_problem(_request: Request, error: Exception) -> Response:
    return problem_of(error)
