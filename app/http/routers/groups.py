"""`/groups`: administration, progress, seeks and commits."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.calls.commits import CommitFields, CommitView
from app.calls.groups import SeekView
from app.http.audit.begun_act import begin_act
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.request_body import COMMIT_BYTES_MAX
from app.http.exchange.responses import json_response
from app.http.parsing.groups import parse_copy, parse_demand, parse_group, parse_offsets, parse_pause, parse_positions
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.topics import parse_listing
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_groups(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/groups", operation_id="listGroups", tags=["groups"])
    async def list_groups(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        limit, after = parse_listing(request.scope["query_string"])
        return json_response(services.groups.list_page(principal, limit=limit, after=after))

    @router.put("/groups/{group}", operation_id="putGroup", tags=["groups"])
    async def put_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_group(await body_of(request, principal, services, action=Action.MANAGE))
        view, is_created = await services.groups.create(request.path_params["group"], fields, principal)
        return json_response(view, 201 if is_created else 200)

    @router.patch("/groups/{group}", operation_id="updateGroup", tags=["groups"])
    async def patch_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_group(await body_of(request, principal, services, action=Action.MANAGE))
        return json_response(await services.groups.update(request.path_params["group"], fields, principal))

    @router.get("/groups/{group}", operation_id="describeGroup", tags=["groups"])
    async def describe_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.groups.describe(request.path_params["group"], principal))

    @router.delete("/groups/{group}", operation_id="deleteGroup", tags=["groups"])
    async def delete_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.groups.delete(request.path_params["group"], principal)
        return Response(status_code=204)

    _add_pauses(router, services)
    _add_progress(router, services)


def _add_pauses(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.post("/groups/{group}/pause", operation_id="pauseGroup", tags=["groups"])
    async def pause_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        command = parse_pause(await body_of(request, principal, services, action=Action.MANAGE))
        return json_response(await services.pauses.pause(request.path_params["group"], command, principal))

    @router.post("/groups/{group}/resume", operation_id="resumeGroup", tags=["groups"])
    async def resume_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        command = parse_pause(await body_of(request, principal, services, action=Action.MANAGE))
        return json_response(await services.pauses.resume(request.path_params["group"], command, principal))


def _add_progress(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/groups/{group}/offsets", operation_id="groupOffsets", tags=["groups"])
    async def group_offsets(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        topics = parse_offsets(request.scope["query_string"])
        return json_response(await services.groups.offsets(request.path_params["group"], topics, principal))

    @router.get("/groups/{group}/demand", operation_id="groupDemand", tags=["groups"])
    async def group_demand(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        wanted = parse_demand(request.scope["query_string"])
        return json_response(await services.demand.demand(request.path_params["group"], wanted, principal))

    async def position(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        body = await body_of(
            request, principal, services, action=Action.SETTLE, or_action=Action.SEEK, bytes_max=COMMIT_BYTES_MAX
        )
        command = parse_positions(body)
        view: CommitView | SeekView
        if isinstance(command, CommitFields):
            view = await services.commits.commit(request.path_params["group"], command, principal)
        else:
            await begin_act(request.scope, body)
            view = await services.seeks.seek(request.path_params["group"], command, principal)
        return json_response(view, 207 if view.failed else 200)

    @router.post("/groups/{group}/offsets/copy", operation_id="copyPosition", tags=["groups"])
    async def copy_position(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_copy(await body_of(request, principal, services, action=Action.SEEK))
        view = await services.seeks.copy(request.path_params["group"], fields, principal)
        return json_response(view, 207 if view.failed else 200)

    @router.put("/groups/{group}/offsets", operation_id="seekGroup", tags=["groups"])
    async def put_offsets(request: Request) -> Response:
        return await position(request)

    @router.post("/groups/{group}/offsets", operation_id="seekGroupByPost", tags=["groups"])
    async def post_offsets(request: Request) -> Response:
        return await position(request)
