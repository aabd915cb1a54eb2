"""`/events`: how the cluster is, and what changes, as a stream."""

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.caller_standing import StreamStanding
from app.http.exchange.event_stream import EVENT_STREAM, EventStreamResponse, last_event_id
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from app.http.parsing.accept import chosen_type
from app.http.parsing.events import parse_events


def add_events(router: APIRouter, services: HttpServices) -> None:
    @router.get("/events", operation_id="watchEvents", tags=["events"])
    async def watch_events(request: Request) -> Response:
        headers = RequestHeaders(request)
        standing = StreamStanding(headers, services.callers)
        services.events.admit(standing.principal)
        chosen_type(headers.get(b"accept"), (EVENT_STREAM,))
        command = parse_events(request.scope["query_string"], last_event_id(headers))
        return EventStreamResponse(
            partial(services.events.watch, command, standing.principal),
            place=services.events.places.one_more(standing.principal),
            shutdown=services.gateway.shutdown,
            standing=standing,
        )
