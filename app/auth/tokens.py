"""The tokens file: static bearer tokens.

It is JSON or TOML:

    {"tokens": [{"name": "orders", "sha256": "<64 hex digits>", "roles": ["producer"], "topics": ["orders.*"]}]}

Callers who have none of these are in its `identities` (`app.auth.identity_entry`).

A token says what it may do by `rights`, `roles` (those of the file's `roles`, or Acklog's own) and `scopes`, together.
`requestsPerSecond`, `messagesPerSecond` and `bytesPerSecond` are quotas; tokens of one name share theirs.
`token` may stand in the place of `sha256`, for trying things out. Only digests are kept in memory. A token may have
`accessKeys` beside them, or alone: their secrets are needed as they are, so that nobody but the server may read a file
that has any.
"""

import hashlib
import hmac
import stat
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec

from acklog.wire.limits import TOKEN_NAME_LENGTH_MAX
from acklog.wire.problems import ProblemCode
from app.auth.access_key import AccessKey, AccessKeyEntries
from app.auth.given_rights import GivenRights, RightEntries, RoleName
from app.auth.identities import CERTIFICATE_PREFIX, JWT_PREFIX, NO_IDENTITIES, RULES_MAX, Identities
from app.auth.identity_entry import IdentityEntry, IdentityEntryError, rule_of
from app.auth.principal import Principal, TokenQuotas
from app.auth.right import ROLES_MAX
from app.auth.rights import rights_of
from app.auth.roles import BUILT_IN
from app.auth.scopes import Scope
from app.auth.token_rights import token_rights
from app.auth.written_rights import RightEntryError
from cluster.errors import ServerError
from cluster.metadata.listeners import Listeners
from cluster.model.right_entry import RightEntry
from cluster.regular_file import RegularFile

TOKENS_MAX = 10_000
TOKEN_BYTES_MAX = 4096
_SCHEME = "bearer "
_OF_OTHERS = stat.S_IRWXO
"""Beside the owner and the group: a server's group is how it reads what root writes for it."""


class TokensFileError(ValueError):
    """The tokens file cannot be used. The text holds no token."""


Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _Entry(GivenRights, forbid_unknown_fields=True, kw_only=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=TOKEN_NAME_LENGTH_MAX)]
    scopes: Annotated[list[Scope], msgspec.Meta(min_length=1)] | None = None
    token: Annotated[str, msgspec.Meta(min_length=16, max_length=TOKEN_BYTES_MAX)] | None = None
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{64}$")] | None = None
    access_keys: AccessKeyEntries | None = msgspec.field(name="accessKeys", default=None)
    expires_at: Time | None = msgspec.field(name="expiresAt", default=None)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    tokens: Annotated[list[_Entry], msgspec.Meta(max_length=TOKENS_MAX)]
    roles: Annotated[dict[RoleName, RightEntries], msgspec.Meta(max_length=ROLES_MAX)] = {}
    identities: Annotated[list[IdentityEntry], msgspec.Meta(max_length=RULES_MAX)] = []


@dataclass(frozen=True, slots=True)
class FileToken:
    """An entry of the file. `digest` None: it is shown by its access keys alone."""

    principal: Principal
    digest: bytes | None
    access_keys: tuple[AccessKey, ...] = ()


class TokenTable:
    """Digest to principal. The digest of what a client sends is looked up, so neither the lookup's time nor the final
    comparison tells anything about a token that is not known already."""

    def __init__(self, tokens: Sequence[FileToken] = (), identities: Identities = NO_IDENTITIES) -> None:
        self._tokens = tuple(tokens)
        self._principals = {each.digest: each.principal for each in tokens if each.digest is not None}
        self._access_keys = {key.id: key for each in tokens for key in each.access_keys}
        self.identities = identities
        """Callers without a token of ours: those rules of the file."""
        self.listeners = Listeners()
        """Of whoever has let somebody in by it, and wants to know whether it still would."""

    @classmethod
    def load(cls, path: str) -> "TokenTable":
        """Read a tokens file, TOML if it is named so. Raises TokensFileError."""
        try:
            file = RegularFile.read(path)
        except OSError as error:
            raise TokensFileError(f"the tokens file {path} cannot be read: {error.strerror}") from None
        table = parse_token_table(file.content, toml=path.endswith(".toml"))
        if table.has_access_keys and file.mode & _OF_OTHERS:
            raise TokensFileError(
                f"the tokens file {path} has access keys, and others may read or change it: chmod o= {path}"
            )
        return table

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def has_access_keys(self) -> bool:
        return bool(self._access_keys)

    def names(self) -> frozenset[str]:
        """Of all tokens; several may have one name."""
        return frozenset(each.principal.name for each in self._tokens)

    def named(self, name: str) -> list[Principal]:
        """Those of that name, in the file's order."""
        return [each.principal for each in self._tokens if each.principal.name == name]

    def adopt(self, other: "TokenTable") -> None:
        """Know the other one's tokens, and no others, from the next request on: whoever holds this table asks it each
        time, also on connections that are open."""
        self._tokens = other._tokens
        self._principals = other._principals
        self._access_keys = other._access_keys
        self.identities = other.identities
        self.listeners.tell()

    def is_same_as(self, other: "TokenTable") -> bool:
        return self._tokens == other._tokens and self.identities.rules == other.identities.rules

    def find(self, token: str) -> Principal | None:
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        for known, principal in self._candidates(digest):
            if hmac.compare_digest(known, digest):
                return principal
        return None

    def access_key(self, key_id: str) -> AccessKey | None:
        return self._access_keys.get(key_id)

    def _candidates(self, digest: bytes) -> list[tuple[bytes, Principal]]:
        principal = self._principals.get(digest)
        return [] if principal is None else [(digest, principal)]


def bearer_token(authorization: str | None, *, bytes_max: int = TOKEN_BYTES_MAX) -> str:
    """What the header shows. Raises ServerError UNAUTHENTICATED."""
    if authorization is None:
        raise ServerError(ProblemCode.UNAUTHENTICATED, "send the header 'Authorization: Bearer <token>'")
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        raise ServerError(ProblemCode.UNAUTHENTICATED, "the Authorization header holds no bearer token")
    if len(authorization) > bytes_max + len(_SCHEME):
        raise ServerError(ProblemCode.UNAUTHENTICATED, f"the bearer token has more than {bytes_max} bytes")
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
    tokens = [_known(entry, file.roles) for entry in file.tokens]
    _check_each_stands_once(tokens)
    _check_quotas_of_names(each.principal for each in tokens)
    return TokenTable(tokens, _identities(file))


def _known(entry: _Entry, roles: Mapping[str, list[RightEntry]]) -> FileToken:
    """Raises TokensFileError."""
    if entry.name.startswith((JWT_PREFIX, CERTIFICATE_PREFIX)):
        raise TokensFileError(f"the token {entry.name!r} is named as callers are who have none: name it otherwise")
    principal = _principal(entry, roles)
    keys = tuple(AccessKey(each.id, each.secret, principal) for each in entry.access_keys or ())
    return FileToken(principal, _digest(entry), keys)


def _check_each_stands_once(tokens: Iterable[FileToken]) -> None:
    """Raises TokensFileError."""
    by_digest: dict[bytes, str] = {}
    by_key: dict[str, str] = {}
    for each in tokens:
        name = each.principal.name
        if each.digest is not None and each.digest in by_digest:
            raise TokensFileError(f"the token of {name!r} is already that of {by_digest[each.digest]!r}")
        if each.digest is not None:
            by_digest[each.digest] = name
        for key in each.access_keys:
            if key.id in by_key:
                raise TokensFileError(f"the access key {key.id} of {name!r} is already one of {by_key[key.id]!r}")
            by_key[key.id] = name


def _identities(file: _File) -> Identities:
    """Raises TokensFileError."""
    try:
        return Identities([rule_of(entry, file.roles) for entry in file.identities])
    except IdentityEntryError as error:
        raise TokensFileError(str(error)) from None


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
    return Principal(entry.name, rights_of(rights), entry.quotas(), expires_at_ms)


def _check_quotas_of_names(principals: Iterable[Principal]) -> None:
    """Raises TokensFileError."""
    by_name: dict[str, TokenQuotas | None] = {}
    for each in principals:
        if by_name.setdefault(each.name, each.quotas) != each.quotas:
            raise TokensFileError(f"the tokens of {each.name!r} share their quotas, and have different ones")


def _digest(entry: _Entry) -> bytes | None:
    """None: it has access keys alone. Raises TokensFileError."""
    if entry.token is not None and entry.sha256 is None:
        return hashlib.sha256(entry.token.encode()).digest()
    if entry.sha256 is not None and entry.token is None:
        return bytes.fromhex(entry.sha256)
    if entry.token is None and entry.access_keys is not None:
        return None
    raise TokensFileError(f"{entry.name!r} needs either token or sha256, or accessKeys alone")
