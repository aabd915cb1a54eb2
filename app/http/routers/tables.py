"""`/topics/{topic}/keys/{key}`: the latest value of a key."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.responses import json_response
from app.http.parsing.path_text import path_text
from app.http.parsing.query import NO_PARAMETERS


def add_tables(router: APIRouter, services: HttpServices) -> None:
    callers = services.callers

    # All that follows is the key: it may hold slashes, which a server unpacks before it looks for the parts of a path.
    @router.get("/topics/{topic}/keys/{key:path}", operation_id="latestOfKey", tags=["topics"])
    async def latest_of_key(request: Request) -> Response:
        principal = principal_of(RequestHeaders(request), callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        key = path_text(request, "key")
        return json_response(await services.tables.latest(request.path_params["topic"], key, principal))
