"""`/topics/{topic}/partitions/{partition}/records`: the log as it is."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.answers.records import records_response, records_type
from app.http.exchange.caller_standing import CallerStanding
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from app.http.parsing.records import parse_records


def add_records(router: APIRouter, services: HttpServices) -> None:
    @router.get("/topics/{topic}/partitions/{partition}/records", operation_id="readRecords", tags=["records"])
    async def read_records(request: Request) -> Response:
        headers = RequestHeaders(request)
        standing = CallerStanding(headers, services.callers)
        principal = standing.principal
        media_type = records_type(headers.get(b"accept"))
        path = request.path_params
        command = parse_records(path["topic"], path["partition"], request.scope["query_string"])
        async with ClientWatch(request.receive, services.gateway.shutdown, standing) as watch:
            read = await services.records.read(command, principal, watch)
        return await records_response(read, media_type, services.turns, services.gateway.in_thread)
