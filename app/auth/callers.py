"""Who makes a request, by the header that says so, or by the certificate of its connection."""

from collections.abc import Callable
from typing import Protocol

from acklog.wire.problems import ProblemCode
from app.auth.access_key import AccessKey
from app.auth.client_certificate import ClientCertificate
from app.auth.identities import Identities
from app.auth.principal import ANYONE, Principal
from app.auth.refused_caller import RefusedCallerError
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import TOKEN_BYTES_MAX, TokenTable, bearer_token
from cluster.errors import ServerError
from cluster.ports.clock import Clock


class Enforcement(Protocol):
    """What is made of rights once it is known whose they are."""

    def of(self, principal: Principal) -> Principal: ...


class Enforced:
    """As they are."""

    def of(self, principal: Principal) -> Principal:
        return principal


class SignedTokens(Protocol):
    """Tokens that an issuer has signed, who keeps them."""

    @property
    def token_bytes_max(self) -> int: ...

    def find(self, token: str, identities: Identities, now_ms: int) -> Principal | None:
        """Whose it is; None for what is no such token. Raises ServerError UNAUTHENTICATED, TOKEN_EXPIRED,
        KEYS_UNAVAILABLE."""
        ...

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call it when others may be let in than before; returns how to stop that."""
        ...


class Callers:
    """`tokens` None: nobody is asked for one. That is the process's own decision, when it starts: what is stored has no
    say in it, so that whoever revokes the last token closes the server and does not open it. `signed` None: tokens of
    no issuer are taken.

    A bearer token counts alone where there is one, good or not: who shows it wants to be judged by it, and two sets of
    rights never add up. The certificate counts where there is none.
    """

    def __init__(
        self,
        tokens: TokenTable | None,
        stored: StoredTokens,
        *,
        clock: Clock,
        enforcement: Enforcement,
        signed: SignedTokens | None = None,
    ) -> None:
        self._tokens = tokens
        self._stored = stored
        self._clock = clock
        self._enforcement = enforcement
        self._signed = signed
        self._token_bytes_max = max(TOKEN_BYTES_MAX, 0 if signed is None else signed.token_bytes_max)

    def of(self, authorization: str | None, certificate: ClientCertificate | None = None) -> Principal:
        """Who sent this Authorization header, on a connection with that certificate. Raises ServerError
        UNAUTHENTICATED, TOKEN_EXPIRED, KEYS_UNAVAILABLE; RefusedCallerError where it is known who it is."""
        tokens = self._tokens
        if tokens is None:
            return ANYONE
        now_ms = self._clock.now_ms()
        principal = None
        if authorization is None and certificate is not None:
            principal = tokens.identities.of_certificate(certificate)
        if principal is None:
            principal = self._of_token(bearer_token(authorization, bytes_max=self._token_bytes_max), tokens, now_ms)
        return self._let_in(principal, now_ms, what="token" if authorization is not None else "certificate")

    @property
    def asks_nobody(self) -> bool:
        return self._tokens is None

    def access_key(self, key_id: str) -> AccessKey | None:
        """The one of that id in the tokens file."""
        return None if self._tokens is None else self._tokens.access_key(key_id)

    def of_access_key(self, key: AccessKey) -> Principal:
        """Who has shown that they have its secret. Raises ServerError TOKEN_EXPIRED."""
        return self._let_in(key.holder, self._clock.now_ms(), what="token of the access key")

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call it when others may be let in than before; returns how to stop that."""
        if self._tokens is None:
            return lambda: None
        stops = [self._stored.subscribe(listener), self._tokens.listeners.add(listener)]
        if self._signed is not None:
            stops.append(self._signed.subscribe(listener))

        def stop() -> None:
            for each in stops:
                each()

        return stop

    def ms_left(self, principal: Principal) -> int | None:
        """Until nobody gets in as that any more by itself; None: that never comes."""
        return None if principal.expires_at_ms is None else principal.expires_at_ms - self._clock.now_ms()

    def _let_in(self, principal: Principal, now_ms: int, *, what: str) -> Principal:
        """Raises RefusedCallerError TOKEN_EXPIRED."""
        if principal.expires_at_ms is not None and principal.expires_at_ms <= now_ms:
            raise RefusedCallerError(ProblemCode.TOKEN_EXPIRED, f"the {what} has expired", principal)
        return self._enforcement.of(principal)

    def _of_token(self, token: str, tokens: TokenTable, now_ms: int) -> Principal:
        """Raises ServerError."""
        principal = self._stored.find(token, now_ms) or tokens.find(token)
        if principal is None and self._signed is not None:
            principal = self._signed.find(token, tokens.identities, now_ms)
        if principal is None:
            raise ServerError(ProblemCode.UNAUTHENTICATED, "the token is not known")
        return principal
