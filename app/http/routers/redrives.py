"""`/groups/{group}/redrive`: dead letters that are sent back."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.redrives import parse_redrive
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_redrives(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.post("/groups/{group}/redrive", operation_id="startRedrive", tags=["groups"])
    async def start_redrive(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        command = parse_redrive(await body_of(request, principal, services, action=Action.SEND))
        return json_response(await services.redrives.start(request.path_params["group"], command, principal), 201)

    @router.get("/groups/{group}/redrive", operation_id="listRedrives", tags=["groups"])
    async def list_redrives(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.redrives.list(request.path_params["group"], principal))

    @router.get("/groups/{group}/redrive/{jobId}", operation_id="lookAtRedrive", tags=["groups"])
    async def look_at_redrive(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        group, job_id = request.path_params["group"], request.path_params["jobId"]
        return json_response(await services.redrives.look(group, job_id, principal))

    @router.delete("/groups/{group}/redrive/{jobId}", operation_id="cancelRedrive", tags=["groups"])
    async def cancel_redrive(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        group, job_id = request.path_params["group"], request.path_params["jobId"]
        return json_response(await services.redrives.cancel(group, job_id, principal))
