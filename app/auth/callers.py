"""Who makes a request, by the header that says so."""

from typing import Protocol

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.auth.tokens import TokenTable
from cluster.errors import ServerError
from cluster.ports.clock import Clock


class Enforcement(Protocol):
    """What is made of rights once it is known whose they are."""

    def of(self, principal: Principal) -> Principal: ...


class Enforced:
    """As they are."""

    def of(self, principal: Principal) -> Principal:
        return principal


class Callers:
    """`tokens` None: nobody is asked for one."""

    def __init__(self, tokens: TokenTable | None, clock: Clock, enforcement: Enforcement) -> None:
        self._tokens = tokens
        self._clock = clock
        self._enforcement = enforcement

    def of(self, authorization: str | None) -> Principal:
        """Who sent this Authorization header. Raises ServerError UNAUTHENTICATED."""
        if self._tokens is None:
            return ANYONE
        principal = self._tokens.authenticate(authorization)
        if principal.expires_at_ms is not None and principal.expires_at_ms <= self._clock.now_ms():
            raise ServerError(ProblemCode.UNAUTHENTICATED, "the token has expired")
        return self._enforcement.of(principal)
