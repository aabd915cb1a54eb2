"""`/topics/{topic}/partitions/{partition}/records`: the log as it is."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.client_watch import ClientWatch
from app.http_request import RequestHeaders, principal_of
from app.parsing.records import parse_records
from app.services.records_answer import records_response, records_type
from app.services.registry import Services


def add_records(router: APIRouter, services: Services) -> None:
    @router.get("/topics/{topic}/partitions/{partition}/records", operation_id="readRecords", tags=["records"])
    async def read_records(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, services.gateway.tokens)
        media_type = records_type(headers.get(b"accept"))
        path = request.path_params
        command = parse_records(path["topic"], path["partition"], request.scope["query_string"])
        async with ClientWatch(request.receive, services.gateway.shutdown) as watch:
            read = await services.records.read(command, principal, watch)
        return await records_response(read, media_type, services.turns, services.gateway.in_thread)
