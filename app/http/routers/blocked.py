"""`/groups/{group}/keys`: what waits for a person's decision, in groups that block."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.blocked import parse_blocked, parse_blocked_listing
from app.http.parsing.query import NO_PARAMETERS
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_blocked(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/groups/{group}/keys", operation_id="listBlocked", tags=["groups"])
    async def list_blocked(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        topics, limit = parse_blocked_listing(request.scope["query_string"])
        return json_response(await services.blocked.listed(request.path_params["group"], topics, limit, principal))

    @router.post("/groups/{group}/keys/release", operation_id="releaseBlocked", tags=["groups"])
    async def release_blocked(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        command = parse_blocked(await body_of(request, principal, services, action=Action.SEEK))
        return json_response(await services.blocked.release(request.path_params["group"], command, principal))

    @router.post("/groups/{group}/keys/skip", operation_id="skipBlocked", tags=["groups"])
    async def skip_blocked(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        command = parse_blocked(await body_of(request, principal, services, action=Action.SEEK))
        return json_response(await services.blocked.skip(request.path_params["group"], command, principal))
