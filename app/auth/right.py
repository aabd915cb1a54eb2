"""One right: some actions, allowed or denied, on what some patterns name."""

from dataclasses import dataclass
from enum import Enum

from cluster.model.action import Action

EVERY = ("*",)
"""The patterns of a right for everything of a kind: this one, and no other beside it."""

ROLES_MAX = 1_000
"""Named in one tokens file."""


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
