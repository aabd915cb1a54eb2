"""Stored tokens: what is asked for, and how they are shown."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from cluster.catalog.token_admin import Discard
from cluster.model.action import Action
from cluster.model.right_entry import Patterns, RightEntry

_PerSecond = Annotated[int, Meta(ge=1, le=limits.QUOTA_PER_SECOND_MAX)]
_RoleName = Annotated[str, Meta(min_length=1, max_length=limits.ROLE_NAME_LENGTH_MAX)]


class TokenFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The body of `POST /tokens`. `roles` are Acklog's own, for `topics` and `groups`; `rights` are for what they name.
    `expiresAt` is in milliseconds. What a token is given, who makes it has."""

    name: Annotated[str, Meta(min_length=1, max_length=limits.TOKEN_NAME_LENGTH_MAX)]
    roles: Annotated[list[_RoleName], Meta(max_length=limits.ROLES_PER_TOKEN_MAX)] = []
    rights: Annotated[list[RightEntry], Meta(max_length=limits.RIGHTS_MAX)] = []
    topics: Patterns | None = None
    groups: Patterns | None = None
    expires_at: Annotated[int, Meta(ge=0, le=limits.TIMESTAMP_MS_MAX)] | None = None
    requests_per_second: _PerSecond | None = None
    messages_per_second: _PerSecond | None = None
    bytes_per_second: _PerSecond | None = None


class RotateFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The body of `POST /tokens/{token}/rotate`. The secret that was good until now stays so for `graceSeconds`; null:
    for an hour, or as long as it was promised by a rotation before. Where two are good already, `discard` says which of
    them ends at once; `newest` ends the newest also where it is the only one."""

    grace_seconds: Annotated[int, Meta(ge=0, le=limits.TOKEN_GRACE_SECONDS_MAX)] | None = None
    discard: Discard | None = None


class TokenView(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """`topics` and `groups` are what `roles` are for, `groups` left out as when the token was made. `earlierUntil` is
    there while the secret from before the last rotation is good, and says until when. Times are in milliseconds."""

    name: str
    id: str
    created_at: int
    expires_at: int | UnsetType = UNSET
    earlier_until: int | UnsetType = UNSET
    roles: list[str] = []
    rights: list[RightEntry] = []
    topics: tuple[str, ...] | UnsetType = UNSET
    groups: tuple[str, ...] | UnsetType = UNSET
    requests_per_second: int | UnsetType = UNSET
    messages_per_second: int | UnsetType = UNSET
    bytes_per_second: int | UnsetType = UNSET


class TokenMade(msgspec.Struct, rename="camel", kw_only=True):
    """`token` is what clients show as their bearer token. It is told this once, and kept nowhere."""

    token: str
    made: TokenView


class TokenListing(msgspec.Struct, omit_defaults=True):
    """`next` is there when there is more: ask again with `after` set to it."""

    tokens: list[TokenView]
    next: str | None = None


class RightView(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One right as it is decided by. `from` says where it comes from: `rights[0]`, `role 'viewer'`, `scope 'read'`."""

    source: str = msgspec.field(name="from")
    allow: tuple[Action, ...] | UnsetType = UNSET
    deny: tuple[Action, ...] | UnsetType = UNSET
    topics: list[str] = []
    groups: list[str] = []
    cluster: bool = False


class OwnTokenView(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The token that asks, and all its rights: what one denies, no other allows."""

    name: str
    rights: list[RightView]
    expires_at: int | UnsetType = UNSET


class Resource(msgspec.Struct, frozen=True):
    """Of the two at most one is there; neither: the cluster."""

    topic: str | None = None
    group: str | None = None


class NamesakeView(msgspec.Struct, omit_defaults=True, kw_only=True):
    """As of a decision."""

    allowed: bool
    by: RightView | UnsetType = UNSET


class DecisionView(msgspec.Struct, omit_defaults=True, kw_only=True):
    """Whether it is allowed, and `by` which right it is allowed or denied; without one, nothing allows it. `namesakes`
    are other tokens of that name, which the gateway's file has: each decides for itself."""

    allowed: bool
    token: str
    action: Action
    resource: str
    by: RightView | UnsetType = UNSET
    namesakes: list[NamesakeView] = []
