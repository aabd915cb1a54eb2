"""`/topics/{topic}/compact` and `/compaction`: topics of which the last message of each key stays."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.compactions import parse_compact
from app.http.parsing.query import NO_PARAMETERS
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_compactions(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.post("/topics/{topic}/compact", operation_id="compactTopic", tags=["topics"])
    async def compact_topic(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_compact(await body_of(request, principal, services, action=Action.MANAGE))
        view = await services.compactions.ask(request.path_params["topic"], fields.partitions, principal)
        return json_response(view, 207 if view.failed else 202)

    @router.get("/topics/{topic}/compaction", operation_id="describeCompaction", tags=["topics"])
    async def describe_compaction(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        view = await services.compactions.state(request.path_params["topic"], principal)
        return json_response(view, 207 if view.failed else 200)
