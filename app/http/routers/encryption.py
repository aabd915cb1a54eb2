"""`/topics/{topic}/encryption`: by which keys a topic is encrypted."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.query import NO_PARAMETERS


def add_encryption(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    @router.get("/topics/{topic}/encryption", operation_id="describeEncryption", tags=["topics"])
    async def describe_encryption(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.encryption.state(request.path_params["topic"], principal))

    @router.post("/topics/{topic}/encryption/rotate", operation_id="rotateDataKey", tags=["topics"])
    async def rotate_data_key(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.encryption.rotate(request.path_params["topic"], principal), 202)
