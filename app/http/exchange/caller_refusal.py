"""That somebody was not let in, for as long as their request lasts: who asks again hears the same, and what was shown
is looked at once."""

from typing import NamedTuple

from starlette.types import Scope

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.auth.refused_caller import RefusedCallerError
from cluster.errors import ServerError

CALLER = "acklog.caller"
"""Where a request's scope holds who asks, once that was found out: a `Principal`, or a `CallerRefusal`."""


class CallerRefusal(NamedTuple):
    """In the place of the error, which holds all that it came through, and so the scope that would hold it."""

    code: ProblemCode
    detail: str
    retry_after_ms: int | None
    principal: Principal | None

    def error(self) -> ServerError:
        return ServerError(self.code, self.detail, retry_after_ms=self.retry_after_ms)


def refusal_of(error: ServerError) -> CallerRefusal:
    """Of what `Callers.of` raises."""
    principal = error.principal if isinstance(error, RefusedCallerError) else None
    return CallerRefusal(error.code, error.detail, error.retry_after_ms, principal)


def refused_principal(scope: Scope) -> Principal | None:
    """Whose request was not let in; None where nobody knows."""
    caller = scope.get(CALLER)
    return caller.principal if isinstance(caller, CallerRefusal) else None
