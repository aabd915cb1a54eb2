"""`/topics/{topic}/tail`: messages as they come, as a stream."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.http.exchange.caller_standing import StreamStanding
from app.http.exchange.event_stream import EVENT_STREAM, EventStreamResponse, last_event_id
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from app.http.parsing.accept import chosen_type
from app.http.parsing.tail import parse_tail


def add_tails(router: APIRouter, services: HttpServices) -> None:
    @router.get("/topics/{topic}/tail", operation_id="tailTopic", tags=["records"])
    async def tail_topic(request: Request) -> Response:
        headers = RequestHeaders(request)
        standing = StreamStanding(headers, services.callers)
        chosen_type(headers.get(b"accept"), (EVENT_STREAM,))
        topic = request.path_params["topic"]
        command = parse_tail(topic, request.scope["query_string"], last_event_id(headers))
        stream = await services.tails.begin(command, standing.principal)
        return EventStreamResponse(
            stream.run,
            place=services.tails.places.one_more(standing.principal),
            shutdown=services.gateway.shutdown,
            standing=standing,
        )
