"""`/topics/{topic}/schedules`: messages that are sent again and again."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.recurring import parse_recurring
from app.http.parsing.topics import parse_listing
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_recurring(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/topics/{topic}/schedules", operation_id="listSchedules", tags=["topics"])
    async def list_schedules(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        limit, after = parse_listing(request.scope["query_string"])
        return json_response(
            await services.recurring.list(request.path_params["topic"], principal, limit=limit, after=after)
        )

    @router.put("/topics/{topic}/schedules/{schedule}", operation_id="putSchedule", tags=["topics"])
    async def put_schedule(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        wish = parse_recurring(await body_of(request, principal, services, action=Action.SEND))
        topic, name = request.path_params["topic"], request.path_params["schedule"]
        view, is_created = await services.recurring.create(topic, name, wish, principal)
        return json_response(view, 201 if is_created else 200)

    @router.patch("/topics/{topic}/schedules/{schedule}", operation_id="updateSchedule", tags=["topics"])
    async def patch_schedule(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        wish = parse_recurring(await body_of(request, principal, services, action=Action.SEND))
        topic, name = request.path_params["topic"], request.path_params["schedule"]
        return json_response(await services.recurring.update(topic, name, wish, principal))

    @router.get("/topics/{topic}/schedules/{schedule}", operation_id="describeSchedule", tags=["topics"])
    async def describe_schedule(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        topic, name = request.path_params["topic"], request.path_params["schedule"]
        return json_response(await services.recurring.describe(topic, name, principal))

    @router.delete("/topics/{topic}/schedules/{schedule}", operation_id="deleteSchedule", tags=["topics"])
    async def delete_schedule(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        await services.recurring.delete(request.path_params["topic"], request.path_params["schedule"], principal)
        return Response(status_code=204)
