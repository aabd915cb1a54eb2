"""`/topics/{topic}/producers`: opening a name to send under."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.producers import parse_open
from app.http.parsing.query import NO_PARAMETERS
from app.http.routers.administration_body import body_of
from cluster.model.action import Action


def add_producers(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.put("/topics/{topic}/producers/{producer}", operation_id="openProducer", tags=["topics"])
    async def open_producer(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        fields = parse_open(await body_of(request, principal, services, action=Action.SEND))
        topic, producer = request.path_params["topic"], request.path_params["producer"]
        return json_response(await services.producers.open(topic, producer, fields, principal))
