"""A rule of the tokens file about callers whom others vouch for: whom it is for, and what these may do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from app.auth.claim_patterns import ClaimUnusableError, claims_named_in, filled
from app.auth.claims import Claims, is_beyond_texts, texts_of
from app.auth.client_certificate import ClientCertificate
from app.auth.principal import TokenQuotas
from app.auth.right import Effect, Right


@dataclass(frozen=True, slots=True)
class ClaimCondition:
    """Some value of the claim is like one of the `patterns`."""

    path: str
    patterns: tuple[str, ...]

    def is_met_by(self, claims: Claims) -> bool:
        return any(_is_like(value, self.patterns) for value in texts_of(claims, self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRule:
    """For signed tokens that meet all `conditions`, or for certificates whose name is like one of `certificates`: never
    for both. `rights` may name claims in their patterns."""

    conditions: tuple[ClaimCondition, ...] = ()
    certificates: tuple[str, ...] = ()
    rights: tuple[Right, ...]
    quotas: TokenQuotas | None = None

    def is_for_claims(self, claims: Claims) -> bool:
        """Raises ClaimUnusableError where nobody can say so, and the rule denies something: that must not get lost."""
        unmet = [each.path for each in self.conditions if not each.is_met_by(claims)]
        if not unmet:
            return bool(self.conditions)
        is_certain = any(not is_beyond_texts(claims, path) for path in unmet)
        if not is_certain and any(right.effect is Effect.DENY for right in self.rights):
            detail = (
                "is neither a text nor a whole number nor true or false, and a rule that denies something asks for it"
            )
            raise ClaimUnusableError(f"the token's claim {unmet[0]!r} {detail}")
        return False

    def is_for_certificate(self, certificate: ClientCertificate) -> bool:
        return _is_like(certificate.name, self.certificates)

    def rights_with(self, claims: Claims) -> tuple[Right, ...]:
        """Raises ClaimUnusableError."""
        return tuple(_filled(each, claims) for each in self.rights)


def names_claims(rights: Sequence[Right]) -> bool:
    """Whether some pattern does. Raises ValueError for one that is none."""
    patterns = [pattern for right in rights for pattern in (*right.topics, *right.groups)]
    return bool([claim for pattern in patterns for claim in claims_named_in(pattern)])


def _is_like(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _filled(right: Right, claims: Claims) -> Right:
    topics = tuple(filled(pattern, claims) for pattern in right.topics)
    groups = tuple(filled(pattern, claims) for pattern in right.groups)
    return replace(right, topics=topics, groups=groups)
