"""`/ack`, `/nack`, `/extend`: what becomes of a delivery."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from app.calls.settle import SettleCommand
from app.http.answers.settle import settle_response
from app.http.audit.refusal_watch import RefusalWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders, principal_of
from app.http.exchange.request_body import SETTLEMENT_BYTES_MAX, read_body
from app.http.exchange.routes import Routes
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.settle import parse_ack, parse_extend, parse_nack
from cluster.model.action import Action


def add_settlements(router: Routes, services: HttpServices) -> None:
    watch = RefusalWatch(services)

    async def settle(request: Request, parse: Callable[[bytes], SettleCommand]) -> Response:
        headers = RequestHeaders(request)
        principal = principal_of(headers, services.callers)
        principal.require_before_body(Action.SETTLE)
        NO_PARAMETERS.parse(request.scope["query_string"])
        with services.settlement_bytes.hold(principal) as hold:
            body = await read_body(
                request,
                headers,
                hold,
                services.turns,
                timeout_ms=services.settings.body_timeout_ms,
                bytes_max=SETTLEMENT_BYTES_MAX,
            )
            settlement = parse(body)
            results = await services.settle.settle_all(settlement, principal)
            if any(results):
                watch.in_part(request.scope, settlement.items, results)
            return settle_response(settlement, results)

    @router.post("/ack", operation_id="acknowledge", tags=["settlements"])
    async def acknowledge(request: Request) -> Response:
        return await settle(request, parse_ack)

    @router.post("/nack", operation_id="giveBack", tags=["settlements"])
    async def give_back(request: Request) -> Response:
        return await settle(request, parse_nack)

    @router.post("/extend", operation_id="extend", tags=["settlements"])
    async def extend(request: Request) -> Response:
        return await settle(request, parse_extend)
