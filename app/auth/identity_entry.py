"""Rules about callers whom others vouch for, as they stand in the tokens file.

{"identities": [{"name": "tenants", "claims": {"tenant": "*"}, "roles": ["producer"], "topics": ["{tenant}.*"]},
                {"name": "billing", "certificates": ["acklog://client/billing-*"], "roles": ["viewer"]}]}
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import msgspec

from acklog.wire.limits import PATTERN_LENGTH_MAX, PATTERNS_MAX, TOKEN_NAME_LENGTH_MAX
from app.auth.given_rights import GivenRights
from app.auth.identity_rule import ClaimCondition, IdentityRule, names_claims
from app.auth.right import Right
from app.auth.roles import Role
from app.auth.token_rights import token_rights
from app.auth.written_rights import RightEntryError

CONDITIONS_MAX = 16
"""Claims that one rule looks at to see whom it is for."""

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=PATTERN_LENGTH_MAX)]
_Texts = Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=PATTERNS_MAX)]


class IdentityEntryError(ValueError):
    """A rule says nothing that can be decided by."""


class IdentityEntry(GivenRights, forbid_unknown_fields=True, kw_only=True):
    """Either `claims`, by their names or paths, with the patterns that their values are compared with; or patterns of
    the names in `certificates`."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=TOKEN_NAME_LENGTH_MAX)]
    claims: Annotated[dict[_Text, _Text | _Texts], msgspec.Meta(min_length=1, max_length=CONDITIONS_MAX)] | None = None
    certificates: _Texts | None = None


def rule_of(entry: IdentityEntry, known_roles: Mapping[str, Role]) -> IdentityRule:
    """Raises IdentityEntryError."""
    if (entry.claims is None) == (entry.certificates is None):
        raise IdentityEntryError(f"the identity {entry.name!r} needs either claims or certificates")
    rights = _rights_of(entry, known_roles)
    try:
        has_claims = names_claims(rights)
    except ValueError as error:
        raise IdentityEntryError(f"the identity {entry.name!r}: {error}") from None
    if has_claims and entry.claims is None:
        raise IdentityEntryError(f"the identity {entry.name!r} has claims in its patterns, and a certificate has none")
    return IdentityRule(
        conditions=tuple(_condition(path, value) for path, value in (entry.claims or {}).items()),
        certificates=tuple(entry.certificates or ()),
        rights=rights,
        quotas=entry.quotas(),
    )


def _rights_of(entry: IdentityEntry, known_roles: Mapping[str, Role]) -> tuple[Right, ...]:
    try:
        rights = token_rights(
            scopes=(),
            rights=entry.rights or (),
            roles=entry.roles or (),
            topics=entry.topics,
            groups=entry.groups,
            known_roles=known_roles,
        )
    except RightEntryError as error:
        raise IdentityEntryError(f"the identity {entry.name!r}: {error}") from None
    return tuple(replace(each, source=f"identity {entry.name!r}: {each.source}") for each in rights)


def _condition(path: str, value: str | list[str]) -> ClaimCondition:
    return ClaimCondition(path, (value,) if isinstance(value, str) else tuple(value))
