"""The body of a call that administers something: small, and read from nobody who may not make the call."""

from starlette.requests import Request

from app.auth.principal import Principal, Scope
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from app.http.exchange.request_body import ADMINISTRATION_BYTES_MAX, read_body


async def body_of(
    request: Request,
    principal: Principal,
    services: HttpServices,
    *,
    scope: Scope = Scope.ADMIN,
    bytes_max: int = ADMINISTRATION_BYTES_MAX,
) -> bytes:
    """Raises ServerError FORBIDDEN, and what `read_body` raises."""
    principal.require(scope)
    with services.bytes_in_flight.hold(principal) as hold:
        return await read_body(
            request,
            RequestHeaders(request),
            hold,
            services.turns,
            timeout_ms=services.settings.body_timeout_ms,
            bytes_max=bytes_max,
        )
