"""Patterns of names in which claims stand: `{tenant}.*`. Who has the claim `tenant` = `acme` has `acme.*`.

A value comes from outside, so it must not say more than a name: one with a star would be every tenant, and one with a
dot would lie within another's names. What has anything but letters, digits, `_` and `-` fills no pattern.
"""

import re

from acklog.wire.limits import PATTERN_LENGTH_MAX
from app.auth.claims import Claims, texts_of

_CLAIM = re.compile(r"\{([^{}]+)\}")
_VALUE = re.compile(r"[A-Za-z0-9_-]+")


class ClaimUnusableError(ValueError):
    """The claim that a pattern names cannot stand in it. The text holds no value."""


def claims_named_in(pattern: str) -> list[str]:
    """Raises ValueError for a brace that is not one of a pair around a claim's name."""
    found = _CLAIM.findall(pattern)
    if "{" in _CLAIM.sub("", pattern) or "}" in _CLAIM.sub("", pattern):
        raise ValueError(f"{pattern!r} has a brace that holds no claim's name")
    return found


def filled(pattern: str, claims: Claims) -> str:
    """With the values of the claims that it names. Raises ClaimUnusableError."""
    text = _CLAIM.sub(lambda match: _value_of(claims, match[1]), pattern)
    if len(text) > PATTERN_LENGTH_MAX:
        raise ClaimUnusableError(f"a pattern with the token's claims has more than {PATTERN_LENGTH_MAX} characters")
    return text


def _value_of(claims: Claims, path: str) -> str:
    values = texts_of(claims, path)
    if len(values) != 1:
        raise ClaimUnusableError(f"the token's claim {path!r} has {len(values)} values, and a pattern needs one")
    if not _VALUE.fullmatch(values[0]):
        detail = "may hold only letters, digits, '_' and '-', as it stands in a pattern"
        raise ClaimUnusableError(f"the token's claim {path!r} {detail}")
    return values[0]
