"""Callers whom others vouch for, by the rules of the tokens file: the issuer of a signed token, or the authority that
made a certificate."""

from collections.abc import Sequence

from acklog.wire.problems import ProblemCode
from app.auth.claim_patterns import ClaimUnusableError
from app.auth.claims import Claims
from app.auth.client_certificate import ClientCertificate
from app.auth.identity_rule import IdentityRule
from app.auth.principal import Principal, PrincipalKind
from app.auth.right import Right
from app.auth.rights import rights_of
from cluster.errors import ServerError

JWT_PREFIX, CERTIFICATE_PREFIX = "jwt:", "certificate:"
"""What names of such callers begin with, and of no token: nobody is mistaken for another."""

RULES_MAX = 1_000
IDENTITY_RIGHTS_MAX = 1_000
"""Rights of one caller, of all rules that are for it."""

CERTIFICATES_KNOWN_MAX = 10_000
"""Whose rights are kept ready. One more, and all are made anew as they come."""


class Identities:
    """All rules that are for a caller count together, as rights of a token do. They do not change: another file makes
    others."""

    def __init__(self, rules: Sequence[IdentityRule] = ()) -> None:
        self.rules = tuple(rules)
        self._known: dict[ClientCertificate, Principal | None] = {}

    def of_claims(self, name: str, claims: Claims, *, expires_at_ms: int) -> Principal:
        """One without any right where no rule is for these claims. Raises ServerError UNAUTHENTICATED where a rule is,
        and cannot be applied: a right that denies something must not get lost."""
        try:
            found = [rule for rule in self.rules if rule.is_for_claims(claims)]
            rights = [right for rule in found for right in rule.rights_with(claims)]
        except ClaimUnusableError as error:
            raise ServerError(ProblemCode.UNAUTHENTICATED, str(error)) from None
        return _principal(PrincipalKind.JWT, JWT_PREFIX + name, found, rights, expires_at_ms)

    def of_certificate(self, certificate: ClientCertificate) -> Principal | None:
        """None where no rule is for it: then it says nothing here. Raises ServerError UNAUTHENTICATED."""
        if certificate not in self._known:
            if len(self._known) >= CERTIFICATES_KNOWN_MAX:
                self._known.clear()
            self._known[certificate] = self._principal_of_certificate(certificate)
        return self._known[certificate]

    def _principal_of_certificate(self, certificate: ClientCertificate) -> Principal | None:
        found = [rule for rule in self.rules if rule.is_for_certificate(certificate)]
        if not found:
            return None
        rights = [right for rule in found for right in rule.rights]
        name = CERTIFICATE_PREFIX + certificate.name
        return _principal(PrincipalKind.CERTIFICATE, name, found, rights, certificate.ends_at_ms)


def signed_name(name: str) -> Principal:
    """Whom an issuer has named so, without anything that they may do."""
    return Principal(JWT_PREFIX + name, rights_of(()), kind=PrincipalKind.JWT)


NO_IDENTITIES = Identities()


def _principal(
    kind: PrincipalKind, name: str, rules: Sequence[IdentityRule], rights: Sequence[Right], expires_at_ms: int
) -> Principal:
    """Its quotas are those of the first rule that has any."""
    if len(rights) > IDENTITY_RIGHTS_MAX:
        detail = f"the rules that are for this caller give more than {IDENTITY_RIGHTS_MAX:,} rights"
        raise ServerError(ProblemCode.UNAUTHENTICATED, detail)
    quotas = next((rule.quotas for rule in rules if rule.quotas is not None), None)
    return Principal(name, rights_of(rights), quotas, expires_at_ms, kind)
