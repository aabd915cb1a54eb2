"""What a token that its issuer has signed has to say: who signed it, for whom, from when, until when, and whose it is.

Times are judged by our clock, with a leeway for the issuer's. Pure.
"""

from dataclasses import dataclass

from acklog.wire.limits import TIMESTAMP_MS_MAX
from app.auth.claims import Claims
from app.jwt.jwt_refused import JwtRefusal, JwtRefusedError

SUBJECT_LENGTH_MAX = 255
"""As much as OpenID Connect gives `sub`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedClaims:
    """`name_claim` is the one that names the caller."""

    issuer: str
    audiences: tuple[str, ...]
    name_claim: str
    leeway_ms: int

    def check(self, claims: Claims, now_ms: int) -> "Bearer":
        """Raises JwtRefusedError."""
        if claims.get("iss") != self.issuer:
            raise _refused(JwtRefusal.ISSUER, "the token is another issuer's")
        if not self._is_for_us(claims.get("aud")):
            raise _refused(JwtRefusal.AUDIENCE, "the token is for another audience")
        name = self._name_in(claims)
        try:
            return Bearer(name, self._expires_at_ms(claims, now_ms))
        except JwtRefusedError as refusal:
            raise _refused(refusal.reason, refusal.told, name) from None

    def _expires_at_ms(self, claims: Claims, now_ms: int) -> int:
        """Raises JwtRefusedError where it is not good by now."""
        ends_at_ms = _time_ms(claims, "exp")
        if ends_at_ms is None:
            raise _refused(JwtRefusal.CLAIMS, "the token does not say when it ends (exp)")
        expires_at_ms = ends_at_ms + self.leeway_ms
        if expires_at_ms <= now_ms:
            raise _refused(JwtRefusal.EXPIRED, "the token has expired")
        for claim in ("nbf", "iat"):
            begins_at_ms = _time_ms(claims, claim)
            if begins_at_ms is not None and begins_at_ms - self.leeway_ms > now_ms:
                raise _refused(JwtRefusal.NOT_YET_VALID, f"the token is not valid yet ({claim})")
        return expires_at_ms

    def _is_for_us(self, audience: object) -> bool:
        named = audience if isinstance(audience, list) else [audience]
        return any(each in self.audiences for each in named if isinstance(each, str))

    def _name_in(self, claims: Claims) -> str:
        name = claims.get(self.name_claim)
        if not isinstance(name, str) or not 0 < len(name) <= SUBJECT_LENGTH_MAX or not name.isprintable():
            detail = f"has to be a printable text of up to {SUBJECT_LENGTH_MAX} characters, as it names the caller"
            raise _refused(JwtRefusal.CLAIMS, f"the token's claim {self.name_claim!r} {detail}")
        return name


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whose token it is, and from when on it is nobody's any more, by our clock and with its leeway."""

    name: str
    expires_at_ms: int


def _time_ms(claims: Claims, name: str) -> int | None:
    """None where it is not said. Raises JwtRefusedError for what is no time."""
    seconds = claims.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds * 1000 <= TIMESTAMP_MS_MAX:
        return round(seconds * 1000)
    raise _refused(JwtRefusal.CLAIMS, f"the token's claim {name!r} is no time")


def _refused(reason: JwtRefusal, told: str, name: str = "") -> JwtRefusedError:
    return JwtRefusedError(reason, told, told=told, name=name)
