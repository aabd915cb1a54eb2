"""`/groups/{group}/members`: members of exclusive groups."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.caller_standing import CallerStanding
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.request_body import JOIN_BYTES_MAX
from app.http.exchange.responses import json_response
from app.http.parsing.members import parse_heartbeat, parse_join, parse_leave
from app.http.parsing.path_text import path_text
from app.http.parsing.query import NO_PARAMETERS
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_members(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/groups/{group}/members", operation_id="listMembers", tags=["groups"])
    async def list_members(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.members.members(request.path_params["group"], principal))

    @router.put("/groups/{group}/members/{member:path}", operation_id="joinGroup", tags=["groups"])
    async def join_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        body = await body_of(request, principal, services, action=Action.RECEIVE, bytes_max=JOIN_BYTES_MAX)
        fields = parse_join(body)
        group, member = request.path_params["group"], path_text(request, "member")
        return json_response(await services.members.join(group, member, fields, principal))

    @router.post("/groups/{group}/members/{member:path}/heartbeat", operation_id="heartbeat", tags=["groups"])
    async def heartbeat(request: Request) -> Response:
        headers = RequestHeaders(request)
        standing = CallerStanding(headers, callers)
        principal = standing.principal
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_heartbeat(await body_of(request, principal, services, action=Action.RECEIVE))
        group, member = request.path_params["group"], path_text(request, "member")
        async with ClientWatch(request.receive, services.gateway.shutdown, standing) as watch:
            return json_response(await services.members.heartbeat(group, member, fields, principal, watch))

    @router.delete("/groups/{group}/members/{member:path}", operation_id="leaveGroup", tags=["groups"])
    async def leave_group(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        command = parse_leave(request.scope["query_string"])
        group, member = request.path_params["group"], path_text(request, "member")
        await services.members.leave(group, member, command, principal)
        return Response(status_code=204)
