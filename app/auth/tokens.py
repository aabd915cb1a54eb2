"""The tokens file: static bearer tokens.

It is JSON or TOML:

    {"tokens": [{"name": "orders", "sha256": "<64 hex digits>", "roles": ["producer"], "topics": ["orders.*"]}]}

A token says what it may do by `rights`, `roles` (those of the file's `roles`, or Acklog's own) and `scopes`, together.
`requestsPerSecond`, `messagesPerSecond` and `bytesPerSecond` are quotas; tokens of one name share theirs.
`token` may stand in the place of `sha256`, for trying things out. Only digests are kept in memory.
"""

import hashlib
import hmac
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from acklog.wire.limits import (
    QUOTA_PER_SECOND_MAX,
    RIGHTS_MAX,
    ROLE_NAME_LENGTH_MAX,
    ROLES_PER_TOKEN_MAX,
    TOKEN_NAME_LENGTH_MAX,
)
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal, TokenQuotas
from app.auth.right import EVERY, ROLES_MAX
from app.auth.rights import rights_of
from app.auth.roles import BUILT_IN
from app.auth.scopes import Scope
from app.auth.token_rights import token_rights
from app.auth.written_rights import RightEntryError
from cluster.errors import ServerError
from cluster.model.right_entry import RightEntry

TOKENS_MAX = 10_000
TOKEN_BYTES_MAX = 4096
_SCHEME = "bearer "


class TokensFileError(ValueError):
    """The tokens file cannot be used. The text holds no token."""


PerSecond = Annotated[int, msgspec.Meta(ge=1, le=QUOTA_PER_SECOND_MAX)]
RoleName = Annotated[str, msgspec.Meta(min_length=1, max_length=ROLE_NAME_LENGTH_MAX)]
RightEntries = Annotated[list[RightEntry], msgspec.Meta(min_length=1, max_length=RIGHTS_MAX)]
Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=TOKEN_NAME_LENGTH_MAX)]
    scopes: Annotated[list[Scope], msgspec.Meta(min_length=1)] | None = None
    topics: tuple[str, ...] = EVERY
    groups: tuple[str, ...] | None = None
    token: Annotated[str, msgspec.Meta(min_length=16, max_length=TOKEN_BYTES_MAX)] | None = None
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{64}$")] | None = None
    rights: RightEntries | None = None
    roles: Annotated[list[RoleName], msgspec.Meta(min_length=1, max_length=ROLES_PER_TOKEN_MAX)] | None = None
    expires_at: Time | None = msgspec.field(name="expiresAt", default=None)
    requests_per_second: PerSecond | None = msgspec.field(name="requestsPerSecond", default=None)
    messages_per_second: PerSecond | None = msgspec.field(name="messagesPerSecond", default=None)
    bytes_per_second: PerSecond | None = msgspec.field(name="bytesPerSecond", default=None)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    tokens: Annotated[list[_Entry], msgspec.Meta(max_length=TOKENS_MAX)]
    roles: Annotated[dict[RoleName, RightEntries], msgspec.Meta(max_length=ROLES_MAX)] = {}


class TokenTable:
    """Digest to principal. The digest of what a client sends is looked up, so neither the lookup's time nor the final
    comparison tells anything about a token that is not known already."""

    def __init__(self, principals: dict[bytes, Principal]) -> None:
        self._principals = principals

    @classmethod
    def load(cls, path: str) -> "TokenTable":
        """Read a tokens file, TOML if it is named so. Raises TokensFileError."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise TokensFileError(f"the tokens file {path} cannot be read: {error.strerror}") from None
        return parse_token_table(content, toml=path.endswith(".toml"))

    def __len__(self) -> int:
        return len(self._principals)

    def names(self) -> frozenset[str]:
        """Of all tokens; several may have one name."""
        return frozenset(each.name for each in self._principals.values())

    def named(self, name: str) -> list[Principal]:
        """Those of that name, in the file's order."""
        return [each for each in self._principals.values() if each.name == name]

    def adopt(self, other: "TokenTable") -> None:
        """Know the other one's tokens, and no others, from the next request on: whoever holds this table asks it each
        time, also on connections that are open."""
        self._principals = other._principals

    def is_same_as(self, other: "TokenTable") -> bool:
        return self._principals == other._principals

    def find(self, token: str) -> Principal | None:
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        for known, principal in self._candidates(digest):
            if hmac.compare_digest(known, digest):
                return principal
        return None

    def _candidates(self, digest: bytes) -> list[tuple[bytes, Principal]]:
        principal = self._principals.get(digest)
        return [] if principal is None else [(digest, principal)]


def bearer_token(authorization: str | None) -> str:
    """What the header shows. Raises ServerError UNAUTHENTICATED."""
    if authorization is None:
        raise ServerError(ProblemCode.UNAUTHENTICATED, "send the header 'Authorization: Bearer <token>'")
    if authorization[: len(_SCHEME)].lower() != _SCHEME or len(authorization) > TOKEN_BYTES_MAX + len(_SCHEME):
        raise ServerError(ProblemCode.UNAUTHENTICATED, "the Authorization header holds no bearer token")
    return authorization[len(_SCHEME) :].strip()


def parse_token_table(content: bytes, *, toml: bool = False) -> TokenTable:
    """The table in the content of a tokens file. Raises TokensFileError."""
    content = content.removeprefix(BOM_UTF8)  # with which editors of Windows begin a file
    try:
        file = msgspec.toml.decode(content, type=_File) if toml else msgspec.json.decode(content, type=_File)
    except (ValueError, RecursionError) as error:  # of msgspec, of text, and of numbers that TOML has no end for
        raise TokensFileError(f"the tokens file is not valid: {error}") from None
    for name in file.roles:
        if name in BUILT_IN:
            raise TokensFileError(f"the role {name!r} is one of Acklog's own: give yours another name")
    principals: dict[bytes, Principal] = {}
    for entry in file.tokens:
        digest = _digest(entry)
        if digest in principals:
            raise TokensFileError(f"the token of {entry.name!r} is already that of {principals[digest].name!r}")
        principals[digest] = _principal(entry, file.roles)
    _check_quotas_of_names(principals.values())
    return TokenTable(principals)


def _principal(entry: _Entry, roles: Mapping[str, list[RightEntry]]) -> Principal:
    """Raises TokensFileError."""
    try:
        rights = token_rights(
            scopes=entry.scopes or (),
            rights=entry.rights or (),
            roles=entry.roles or (),
            topics=entry.topics,
            groups=entry.groups,
            known_roles=roles,
        )
    except RightEntryError as error:
        raise TokensFileError(f"the token of {entry.name!r}: {error}") from None
    expires_at_ms = None if entry.expires_at is None else round(entry.expires_at.timestamp() * 1000)
    return Principal(entry.name, rights_of(rights), _quotas(entry), expires_at_ms)


def _quotas(entry: _Entry) -> TokenQuotas | None:
    quotas = TokenQuotas(
        requests_per_second=entry.requests_per_second,
        messages_per_second=entry.messages_per_second,
        bytes_per_second=entry.bytes_per_second,
    )
    return None if quotas == TokenQuotas() else quotas


def _check_quotas_of_names(principals: Iterable[Principal]) -> None:
    """Raises TokensFileError."""
    by_name: dict[str, TokenQuotas | None] = {}
    for each in principals:
        if by_name.setdefault(each.name, each.quotas) != each.quotas:
            raise TokensFileError(f"the tokens of {each.name!r} share their quotas, and have different ones")


def _digest(entry: _Entry) -> bytes:
    if (entry.token is None) == (entry.sha256 is None):
        raise TokensFileError(f"{entry.name!r} needs either token or sha256")
    if entry.sha256 is not None:
        return bytes.fromhex(entry.sha256)
    assert entry.token is not None
    return hashlib.sha256(entry.token.encode()).digest()
