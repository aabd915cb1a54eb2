"""`/messages`: send, receive, look."""

from starlette.requests import Request
from starlette.responses import Response

from app.http.answers.receive import RECEIVE_TYPES, LeasedResponse, received_steps
from app.http.answers.send import send_response
from app.http.audit.refusal_watch import RefusalWatch
from app.http.audit.refused_things import tell_about
from app.http.exchange.caller_standing import CallerStanding
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.request_body import read_body
from app.http.exchange.responses import json_response
from app.http.exchange.routes import Routes
from app.http.parsing.accept import chosen_type
from app.http.parsing.producers import producer_of
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.receive import parse_receive
from app.http.parsing.send import check_idempotency_key, send_steps
from cluster.model.action import Action


def add_messages(router: Routes, services: HttpServices) -> None:
    settings = services.settings
    callers = services.callers
    refusals = RefusalWatch(services)

    @router.post("/messages", operation_id="sendMessages", tags=["messages"])
    async def send_messages(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        principal.require_before_body(Action.SEND)
        idempotency_key = headers.get(b"idempotency-key")
        named = producer_of(headers)
        if idempotency_key is not None:
            check_idempotency_key(idempotency_key)
        with services.bytes_in_flight.hold(principal) as hold:
            body = await read_body(request, headers, hold, services.turns, timeout_ms=settings.body_timeout_ms)
            content_type = headers.get(b"content-type") or ""
            steps = send_steps(body, content_type=content_type, query_string=request.scope["query_string"])
            produce = await services.turns.take(steps)
            produce.idempotency_key = idempotency_key
            if named is not None:
                produce.producer, produce.idempotency_key = named.producer, named.idempotency_key
            tell_about(request.scope, {"queue": produce.queue})
            trace_headers = headers.trace()
            if trace_headers is not None:
                produce.add_trace(trace_headers)
            sent = await services.send.send(produce, principal)
            if sent.faults:
                refusals.sent_in_part(request.scope, sent)
            return send_response(sent)

    @router.get("/messages", operation_id="receiveMessages", tags=["messages"])
    async def receive_messages(request: Request) -> Response:
        headers = RequestHeaders(request)
        standing = CallerStanding(headers, callers)
        principal = standing.principal
        media_type = chosen_type(headers.get(b"accept"), RECEIVE_TYPES)
        command = parse_receive(request.scope["query_string"])
        async with ClientWatch(request.receive, services.gateway.shutdown, standing) as watch:
            received = await services.receive.receive(command, principal, watch)
            body, answer_headers = await services.turns.take(received_steps(received, media_type))
            return LeasedResponse(
                body,
                media_type,
                answer_headers,
                watch=watch.hand_over(),
                release=lambda: services.receive.release(received),
                write_timeout_ms=settings.write_timeout_ms,
            )

    @router.get("/messages/{messageId}", operation_id="lookAtMessage", tags=["messages"])
    async def look_at_message(request: Request) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, callers)
        NO_PARAMETERS.parse(request.scope["query_string"])
        return json_response(await services.look.look(request.path_params["messageId"], principal))
