"""Stored tokens and what tokens may do, as the API describes them. Times are in milliseconds since 1970."""

import msgspec
from msgspec import field


class TokenRight(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Actions (send, receive, settle, look, seek, manage, purge, audit), allowed or denied on what it names. `source`
    says where it comes from where that is known: `rights[0]`, `role 'viewer'`."""

    source: str | None = field(name="from", default=None)
    allow: list[str] | None = None
    deny: list[str] | None = None
    topics: list[str] | None = None
    groups: list[str] | None = None
    cluster: bool | None = None


class KnownToken(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A token without its secret. `topics` and `groups` are what `roles` are for. `earlier_until_ms` says until when
    the secret from before the last rotation is good; quotas are per second."""

    name: str
    id: str
    created_at_ms: int = field(name="createdAt")
    expires_at_ms: int | None = field(name="expiresAt", default=None)
    earlier_until_ms: int | None = field(name="earlierUntil", default=None)
    roles: list[str] = field(default_factory=list)
    rights: list[TokenRight] = field(default_factory=list)
    topics: list[str] | None = None
    groups: list[str] | None = None
    requests_per_second: int | None = field(name="requestsPerSecond", default=None)
    messages_per_second: int | None = field(name="messagesPerSecond", default=None)
    bytes_per_second: int | None = field(name="bytesPerSecond", default=None)


class NewToken(msgspec.Struct, kw_only=True):
    """`token` is told this once, and kept nowhere."""

    token: str
    made: KnownToken

    def __repr__(self) -> str:
        return f"NewToken(token=..., made={self.made!r})"  # it is not for logs


class TokenPage(msgspec.Struct):
    """By name; `next` is there when there is more."""

    tokens: list[KnownToken]
    next: str | None = None


class OwnToken(msgspec.Struct, kw_only=True):
    """The token of the client, with all its rights."""

    name: str
    rights: list[TokenRight]
    expires_at_ms: int | None = field(name="expiresAt", default=None)


class NamesakeDecision(msgspec.Struct, kw_only=True, omit_defaults=True):
    """As `TokenDecision`, of another token of the same name."""

    allowed: bool
    by: TokenRight | None = None


class TokenDecision(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Whether a token may do something, and `by` which right it is allowed or denied; None: nothing allows it.
    `namesakes` are other tokens of that name, which the gateway's tokens file has: each decides for itself."""

    allowed: bool
    token: str
    action: str
    resource: str
    by: TokenRight | None = None
    namesakes: list[NamesakeDecision] = field(default_factory=list)
