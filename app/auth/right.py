"""One right: some actions, allowed or denied, on what some patterns name."""

from dataclasses import dataclass
from enum import Enum

from acklog.wire.limits import NAME_LENGTH_MAX
from app.auth.action import Action

EVERY = ("*",)
"""The patterns of a right for everything of a kind: this one, and no other beside it."""

RIGHTS_MAX = 100
"""Of a token, those of its roles among them."""
PATTERNS_MAX = 100
"""Of topics, and of groups, in one right."""
PATTERN_LENGTH_MAX = NAME_LENGTH_MAX
ROLES_MAX = 1_000
"""Named in one tokens file."""
ROLES_PER_TOKEN_MAX = 16
ROLE_NAME_LENGTH_MAX = 64


class Effect(Enum):
    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """`topics` and `groups` hold shell patterns of names (`orders.*`). `source` says where it comes from, for people:
    `rights[0]`, `role 'viewer'`."""

    effect: Effect
    actions: tuple[Action, ...]
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_for_cluster: bool = False
    source: str = ""
