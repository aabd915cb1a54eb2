"""The body of a call that administers something: small, and read from nobody who may not make the call."""

from starlette.requests import Request

from app.auth.principal import Principal
from app.http.audit.begun_act import begin_act
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from app.http.exchange.request_body import ADMINISTRATION_BYTES_MAX, read_body
from cluster.model.action import Action


async def body_of(
    request: Request,
    principal: Principal,
    services: HttpServices,
    *,
    action: Action,
    or_action: Action | None = None,
    bytes_max: int = ADMINISTRATION_BYTES_MAX,
) -> bytes:
    """`action` is one that the call needs in any case: nothing is read for who may do that with nothing at all. Where
    the body says which of two calls it is, one may need that and the other `or_action`.

    An administrative act begins when its body is there; where the body says whether it is one, the endpoint begins it.

    Raises ServerError FORBIDDEN, AUDIT_UNAVAILABLE, and what `read_body` raises.
    """
    is_the_other = or_action is not None and principal.may_somewhere(or_action)
    principal.require_before_body(or_action if is_the_other and or_action is not None else action)
    with services.bytes_in_flight.hold(principal) as hold:
        body = await read_body(
            request,
            RequestHeaders(request),
            hold,
            services.turns,
            timeout_ms=services.settings.body_timeout_ms,
            bytes_max=bytes_max,
        )
    if or_action is None:
        await begin_act(request.scope, body)
    return body
