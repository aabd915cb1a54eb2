"""`/topics/{topic}/purge` and `/delete-before`: messages that go before retention takes them."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.deletions import parse_delete_before, parse_purge
from app.http.parsing.query import NO_PARAMETERS
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_deletions(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.post("/topics/{topic}/purge", operation_id="purgeTopic", tags=["topics"])
    async def purge_topic(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        command = parse_purge(await body_of(request, principal, services, action=Action.PURGE))
        view = await services.deletions.delete(request.path_params["topic"], command, principal)
        return json_response(view, 207 if view.failed else 200)

    @router.post("/topics/{topic}/delete-before", operation_id="deleteBefore", tags=["topics"])
    async def delete_before(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        command = parse_delete_before(await body_of(request, principal, services, action=Action.PURGE))
        view = await services.deletions.delete(request.path_params["topic"], command, principal)
        return json_response(view, 207 if view.failed else 200)
