"""Rights as people write them: in a tokens file, in calls that make tokens, and in the coordination store."""

from typing import Annotated

import msgspec

from acklog.wire.limits import PATTERN_LENGTH_MAX, PATTERNS_MAX
from cluster.model.action import Action

Actions = Annotated[tuple[Action, ...], msgspec.Meta(min_length=1, max_length=len(Action))]
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=PATTERN_LENGTH_MAX)]
Patterns = Annotated[tuple[Pattern, ...], msgspec.Meta(min_length=1, max_length=PATTERNS_MAX)]


class RightEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Exactly one of `allow` and `deny`. Without `topics`, `groups` and `cluster` it is for the token's topics and
    groups, and for the cluster where those are all; else for what it names, and nothing beside it."""

    allow: Actions | None = None
    deny: Actions | None = None
    topics: Patterns | None = None
    groups: Patterns | None = None
    cluster: bool | None = None
