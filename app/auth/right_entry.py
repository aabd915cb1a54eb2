"""Rights as people write them: in a tokens file, and in calls that make tokens."""

from typing import Annotated

import msgspec

from app.auth.action import Action
from app.auth.right import EVERY, PATTERN_LENGTH_MAX, PATTERNS_MAX, Effect, Right

Actions = Annotated[tuple[Action, ...], msgspec.Meta(min_length=1, max_length=len(Action))]
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=PATTERN_LENGTH_MAX)]
Patterns = Annotated[tuple[Pattern, ...], msgspec.Meta(min_length=1, max_length=PATTERNS_MAX)]


class RightEntryError(ValueError):
    """It says nothing that can be decided by."""


class RightEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Exactly one of `allow` and `deny`. Without `topics`, `groups` and `cluster` it is for the token's topics and
    groups, and for the cluster where those are all; else for what it names, and nothing beside it."""

    allow: Actions | None = None
    deny: Actions | None = None
    topics: Patterns | None = None
    groups: Patterns | None = None
    cluster: bool | None = None

    def right(self, source: str, *, topics: tuple[str, ...], groups: tuple[str, ...]) -> Right:
        """Of a token for these topics and groups. Raises RightEntryError."""
        if (self.allow is None) == (self.deny is None):
            raise RightEntryError(f"{source} needs either allow or deny")
        effect = Effect.DENY if self.allow is None else Effect.ALLOW
        actions = tuple(dict.fromkeys(self.allow or self.deny or ()))
        is_for_cluster = bool(self.cluster)
        if self.topics is None and self.groups is None and self.cluster is None:
            is_for_cluster = topics == EVERY and groups == EVERY
            return Right(
                effect=effect,
                actions=actions,
                topics=topics,
                groups=groups,
                is_for_cluster=is_for_cluster,
                source=source,
            )
        if not (self.topics or self.groups or is_for_cluster):
            raise RightEntryError(f'{source} is for nothing: name topics, groups, or "cluster": true')
        return Right(
            effect=effect,
            actions=actions,
            topics=self.topics or (),
            groups=self.groups or (),
            is_for_cluster=is_for_cluster,
            source=source,
        )
