"""The act of a request whose body says what it is."""

from starlette.types import Scope

from app.audit.asked import asked_in_body
from app.http.audit.act import ACT, Act
from app.http.audit.administrative import fields_of


async def begin_act(scope: Scope, body: bytes) -> None:
    """For endpoints that have read what is asked. Raises ServerError AUDIT_UNAVAILABLE."""
    act = scope.get(ACT)
    if isinstance(act, Act):
        await act.begin(asked_in_body(body, fields_of(act.operation)))
