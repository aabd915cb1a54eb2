"""Tokens that an issuer has signed: whose they are, and what these may do here.

To check a signature takes as long as all else of a request together, so a token that was found good is remembered until
it ends, by its digest. What is remembered is what the keys and the rules of that moment made of it: with others it is
looked at anew.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple, Protocol

from acklog.wire.problems import ProblemCode
from app.auth.identities import Identities, signed_name
from app.auth.principal import Principal
from app.auth.refused_caller import RefusedCallerError
from app.jwt.expected_claims import ExpectedClaims
from app.jwt.jwt_refused import JwtRefusal, JwtRefusedError
from app.jwt.key_set import KeySet
from app.jwt.refused_jwts import RefusedJwts
from app.jwt.signature import header_of, signed_claims, unverified_claims
from cluster.errors import ServerError

RETRY_AFTER_MS = 1_000
_DOTS = 2


class Keys(Protocol):
    """`app.jwt.key_watch.KeyWatch`, as far as it is asked here."""

    def keys(self) -> KeySet | None: ...

    def wait_ms(self, key_id: str | None) -> int | None: ...

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]: ...


class _Known(NamedTuple):
    keys: KeySet
    identities: Identities
    principal: Principal


class IssuerTokens:
    """`app.auth.callers.SignedTokens`. Never waits: where keys have to be looked for, the caller is asked to come
    again."""

    def __init__(
        self,
        keys: Keys,
        expected: ExpectedClaims,
        *,
        algorithms: tuple[str, ...],
        token_bytes_max: int,
        cached_max: int,
        refused: RefusedJwts,
    ) -> None:
        self._keys = keys
        self._expected = expected
        self._algorithms = algorithms
        self.token_bytes_max = token_bytes_max
        self._cached_max = cached_max
        self._refused = refused
        self._cached: dict[bytes, _Known] = {}

    @property
    def cached(self) -> int:
        return len(self._cached)

    def find(self, token: str, identities: Identities, now_ms: int) -> Principal | None:
        """None for what is no JWT. Raises ServerError UNAUTHENTICATED, TOKEN_EXPIRED, KEYS_UNAVAILABLE."""
        if token.count(".") != _DOTS:
            return None
        keys = self._keys.keys()
        if keys is None:
            raise _keys_unavailable("the issuer's keys cannot be read now")
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        known = self._cached.get(digest)
        if known is not None and known.keys is keys and known.identities is identities:
            return known.principal
        try:
            principal = self._principal(token, keys, identities, now_ms)
        except JwtRefusedError as refusal:
            self._cached.pop(digest, None)
            self._refused.note(refusal)
            raise self._answer_to(refusal, token, now_ms) from None
        self._remember(digest, _Known(keys, identities, principal))
        return principal

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call it when the issuer has other keys; returns how to stop that."""
        return self._keys.subscribe(listener)

    def _principal(self, token: str, keys: KeySet, identities: Identities, now_ms: int) -> Principal:
        """Raises JwtRefusedError."""
        if len(token) > self.token_bytes_max:
            detail = f"the token has more than {self.token_bytes_max} bytes"
            raise JwtRefusedError(JwtRefusal.LENGTH, detail, told=detail)
        claims = signed_claims(token, header_of(token, self._algorithms), keys)
        bearer = self._expected.check(claims, now_ms)
        try:
            return identities.of_claims(bearer.name, claims, expires_at_ms=bearer.expires_at_ms)
        except ServerError as error:
            raise JwtRefusedError(JwtRefusal.RULES, error.detail, told=error.detail, name=bearer.name) from None

    def _answer_to(self, refusal: JwtRefusedError, token: str, now_ms: int) -> ServerError:
        """Of a signature that is not the issuer's nothing is told. A key that is not known may be a new one: whoever
        looks for it again in a moment finds it, if there is one."""
        wait_ms = self._wait_ms(token, now_ms) if refusal.reason is JwtRefusal.KEY else None
        if wait_ms is not None:
            return _keys_unavailable("the token names a key that is looked for", wait_ms)
        code = ProblemCode.TOKEN_EXPIRED if refusal.reason is JwtRefusal.EXPIRED else ProblemCode.UNAUTHENTICATED
        if refusal.name:
            return RefusedCallerError(code, refusal.told, signed_name(refusal.name))
        return ServerError(code, refusal.told or "the token is not known")

    def _wait_ms(self, token: str, now_ms: int) -> int | None:
        """How long until its key may be known; None where that is told already, or no key would make it good."""
        try:
            self._expected.check(unverified_claims(token), now_ms)
        except JwtRefusedError:
            return None
        return self._keys.wait_ms(header_of(token, self._algorithms).key_id)

    def _remember(self, digest: bytes, known: _Known) -> None:
        self._cached.pop(digest, None)
        if len(self._cached) >= self._cached_max:
            del self._cached[next(iter(self._cached))]  # the one that was found good longest ago
        self._cached[digest] = known


def _keys_unavailable(detail: str, wait_ms: int = 0) -> ServerError:
    retry_after_ms = max(RETRY_AFTER_MS, wait_ms)
    return ServerError(ProblemCode.KEYS_UNAVAILABLE, f"{detail}: ask again", retry_after_ms=retry_after_ms)
