"""Who makes a request, by the header that says so."""

from typing import Protocol

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import TokenTable, bearer_token
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
    """`tokens` None: nobody is asked for one. That is the process's own decision, when it starts: what is stored has no
    say in it, so that whoever revokes the last token closes the server and does not open it."""

    def __init__(
        self, tokens: TokenTable | None, stored: StoredTokens, *, clock: Clock, enforcement: Enforcement
    ) -> None:
        self._tokens = tokens
        self._stored = stored
        self._clock = clock
        self._enforcement = enforcement

    def of(self, authorization: str | None) -> Principal:
        """Who sent this Authorization header. Raises ServerError UNAUTHENTICATED."""
        if self._tokens is None:
            return ANYONE
        token = bearer_token(authorization)
        now_ms = self._clock.now_ms()
        principal = self._stored.find(token, now_ms) or self._tokens.find(token)
        if principal is None:
            raise ServerError(ProblemCode.UNAUTHENTICATED, "the token is not known")
        if principal.expires_at_ms is not None and principal.expires_at_ms <= now_ms:
            raise ServerError(ProblemCode.UNAUTHENTICATED, "the token has expired")
        return self._enforcement.of(principal)
