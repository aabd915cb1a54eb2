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
    scope: Scope,
    or_scope: Scope | None = None,
    bytes_max: int = ADMINISTRATION_BYTES_MAX,
) -> bytes:
    """`scope` is one that the call needs in any case: nothing is read for who may not make it. Where the body says
    which of two calls it is, one may need that and the other `or_scope`.

    Raises ServerError FORBIDDEN, and what `read_body` raises.
    """
    principal.require(or_scope if or_scope in principal.scopes else scope)
    with services.bytes_in_flight.hold(principal) as hold:
        return await read_body(
            request,
            RequestHeaders(request),
            hold,
            services.turns,
            timeout_ms=services.settings.body_timeout_ms,
            bytes_max=bytes_max,
        )
