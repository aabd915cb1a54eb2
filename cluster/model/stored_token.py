"""A token that is kept in the coordination store, for all gateways. Of its secret there is a digest."""

import hashlib
import hmac
import re
from typing import NamedTuple

import msgspec

from acklog.wire.limits import TOKEN_NAME_LENGTH_MAX
from acklog.wire.names import name_fault
from cluster.model.right_entry import RightEntry

SECRETS_MAX = 2
"""Of one token: the newest, and the one before it until its grace is over."""

_MARK = "ak_"
_TEXT = re.compile(r"ak_([0-9a-z]{13})_([0-9a-z]{52})")


class ShownToken(NamedTuple):
    """What a client shows: `ak_<id>_<secret>`."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"{_MARK}{self.id}_{self.secret}"


def parse_shown_token(text: str) -> ShownToken | None:
    match = _TEXT.fullmatch(text)
    return None if match is None else ShownToken(match[1], match[2])


class StoredSecret(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`sha256` is of the salt and the secret, in hex. `until_ms` None: as long as the token.

    Secrets are 256 random bits of Acklog's own making, so one fast digest is enough: there is nothing to guess, and a
    slow one would be work for the server with every request. The salt keeps one precomputed table from serving many.
    """

    salt: str
    sha256: str
    until_ms: int | None = None

    def is_good_at(self, now_ms: int) -> bool:
        return self.until_ms is None or now_ms < self.until_ms

    def is_of(self, secret: str) -> bool:
        """In the same time whatever of it is right."""
        return hmac.compare_digest(_digest(self.salt, secret), self.sha256)


def secret_of(secret: str, salt: str) -> StoredSecret:
    return StoredSecret(salt, _digest(salt, secret))


def _digest(salt: str, secret: str) -> str:
    return hashlib.sha256(f"{salt}{secret}".encode()).hexdigest()


class StoredToken(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """`id` is the identity: a name that is revoked and made again has another. `secrets`: the newest first. `topics`
    and `groups` are what its roles are for, as in a tokens file; quotas are per second."""

    id: str
    name: str
    created_at_ms: int
    secrets: tuple[StoredSecret, ...]
    roles: tuple[str, ...] = ()
    rights: tuple[RightEntry, ...] = ()
    topics: tuple[str, ...] = ("*",)
    groups: tuple[str, ...] | None = None
    expires_at_ms: int | None = None
    requests_per_second: int | None = None
    messages_per_second: int | None = None
    bytes_per_second: int | None = None

    def accepts(self, secret: str, now_ms: int) -> bool:
        """Whether this is a secret of it that is good now. Each is looked at, whatever the others say."""
        found = False
        for each in self.secrets[:SECRETS_MAX]:
            found |= each.is_of(secret) and each.is_good_at(now_ms)
        return found


def token_name_fault(name: str) -> str | None:
    """Why `name` may not name a stored token; None if it may."""
    if len(name) > TOKEN_NAME_LENGTH_MAX:
        return f"has {len(name)} characters, the limit is {TOKEN_NAME_LENGTH_MAX}"
    return name_fault(name)
