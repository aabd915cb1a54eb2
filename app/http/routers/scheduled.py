"""`/topics/{topic}/scheduled`: what is to be seen later."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.scheduled import cursor_text, parse_move_in_time, parse_scheduled_page, schedule_id_of
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_scheduled(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/topics/{topic}/scheduled", operation_id="listScheduled", tags=["messages"])
    async def list_scheduled(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        page = parse_scheduled_page(request.scope["query_string"])
        return json_response(await services.scheduled.list(request.path_params["topic"], page, principal, cursor_text))

    @router.get("/topics/{topic}/scheduled/{scheduleId}", operation_id="lookAtScheduled", tags=["messages"])
    async def look_at_scheduled(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        schedule_id = schedule_id_of(request.path_params["scheduleId"])
        return json_response(await services.scheduled.look(request.path_params["topic"], schedule_id, principal))

    @router.delete("/topics/{topic}/scheduled/{scheduleId}", operation_id="cancelScheduled", tags=["messages"])
    async def cancel_scheduled(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        schedule_id = schedule_id_of(request.path_params["scheduleId"])
        return json_response(await services.scheduled.cancel(request.path_params["topic"], schedule_id, principal))

    @router.patch("/topics/{topic}/scheduled/{scheduleId}", operation_id="moveScheduled", tags=["messages"])
    async def move_scheduled(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        schedule_id = schedule_id_of(request.path_params["scheduleId"])
        move = parse_move_in_time(await body_of(request, principal, services, action=Action.SEND))
        return json_response(await services.scheduled.move(request.path_params["topic"], schedule_id, move, principal))
