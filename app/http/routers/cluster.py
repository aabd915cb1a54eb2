"""`/cluster`: nodes, moves of replicas, and what operators want of them."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.cluster import (
    node_number,
    parse_cluster_limit,
    parse_move,
    parse_plan,
    parse_unclean_election,
    parse_unclean_plan,
)
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.records import partition_number
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_cluster(router: APIRouter, services: HttpServices) -> None:
    """Looking, and steering by wishes that the controller carries out."""
    callers = services.callers

    @router.get("/cluster", operation_id="lookAtCluster", tags=["cluster"])
    async def look_at_cluster(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        limit = parse_cluster_limit(request.scope["query_string"])
        return json_response(await services.cluster.look(principal, limit=limit))

    @router.post("/cluster/plan", operation_id="planMoves", tags=["cluster"])
    async def plan_moves(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_plan(await body_of(request, principal, services, action=Action.LOOK))
        return json_response(await services.cluster.plan(fields, principal))

    @router.put("/cluster/nodes/{node}/drain", operation_id="drainNode", tags=["cluster"])
    async def drain_node(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        node = node_number(request.path_params["node"])
        return json_response(await services.cluster.drain(node, principal), 202)

    @router.delete("/cluster/nodes/{node}/drain", operation_id="stopDrainingNode", tags=["cluster"])
    async def stop_draining_node(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.cluster.stop_draining(node_number(request.path_params["node"]), principal)
        return Response(status_code=204)

    @router.put("/cluster/moves/{topic}/{partition}", operation_id="reassignPartition", tags=["cluster"])
    async def reassign_partition(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        partition = partition_number(request.path_params["partition"])
        fields = parse_move(await body_of(request, principal, services, action=Action.MANAGE))
        topic = request.path_params["topic"]
        return json_response(await services.cluster.reassign(topic, partition, fields.replicas, principal), 202)

    @router.delete("/cluster/moves/{topic}/{partition}", operation_id="cancelMove", tags=["cluster"])
    async def cancel_move(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        partition = partition_number(request.path_params["partition"])
        await services.cluster.cancel(request.path_params["topic"], partition, principal)
        return Response(status_code=204)

    @router.put("/cluster/pause", operation_id="pauseMoves", tags=["cluster"])
    async def pause_moves(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.cluster.pause(principal)
        return Response(status_code=204)

    @router.delete("/cluster/pause", operation_id="resumeMoves", tags=["cluster"])
    async def resume_moves(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.cluster.resume(principal)
        return Response(status_code=204)


def add_unclean_elections(router: APIRouter, services: HttpServices) -> None:
    """What no controller ever does by itself."""
    callers = services.callers

    @router.post(
        "/cluster/partitions/{topic}/{partition}/unclean-election/plan",
        operation_id="planUncleanElection",
        tags=["cluster"],
    )
    async def plan_unclean_election(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        partition = partition_number(request.path_params["partition"])
        fields = parse_unclean_plan(await body_of(request, principal, services, action=Action.MANAGE))
        topic = request.path_params["topic"]
        return json_response(await services.unclean_elections.plan(topic, partition, fields, principal))

    @router.post(
        "/cluster/partitions/{topic}/{partition}/unclean-election", operation_id="electUnclean", tags=["cluster"]
    )
    async def elect_unclean(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        partition = partition_number(request.path_params["partition"])
        fields = parse_unclean_election(await body_of(request, principal, services, action=Action.MANAGE))
        topic = request.path_params["topic"]
        return json_response(await services.unclean_elections.elect(topic, partition, fields, principal))
