"""`/audit`: who did what, and who was refused."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.answers.audit import AUDIT_TYPES, audit_response
from app.http.exchange.caller_standing import CallerStanding
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from app.http.parsing.accept import chosen_type
from app.http.parsing.audit import parse_audit


def add_audit(router: APIRouter, services: HttpServices) -> None:
    @router.get("/audit", operation_id="readAudit", tags=["operations"])
    async def read_audit(request: Request) -> Response:
        headers = RequestHeaders(request)
        standing = CallerStanding(headers, services.callers)
        principal = standing.principal
        media_type = chosen_type(headers.get(b"accept"), AUDIT_TYPES)
        query = parse_audit(request.scope["query_string"])
        async with ClientWatch(request.receive, services.gateway.shutdown, standing) as watch:
            return audit_response(await services.audit_reader.read(query, principal, watch), media_type)
