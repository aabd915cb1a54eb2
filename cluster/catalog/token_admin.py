"""Making, rotating and revoking tokens in the coordination store."""

import asyncio
from enum import Enum

import msgspec
from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.limits import TOKEN_GRACE_SECONDS_DEFAULT
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogChanger, CatalogSettings, NothingToWrite, Step, Write
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.stored_token import SECRETS_MAX, ShownToken, StoredSecret, StoredToken, secret_of, token_name_fault
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, Delete, KeyValue, Put, absent, unchanged
from cluster.ports.entropy import Entropy

GRACE_DEFAULT_MS = TOKEN_GRACE_SECONDS_DEFAULT * 1000
_SECRET_PARTS = 4  # of 64 bits


class Discard(Enum):
    """Which of two secrets that are both good gives way to a new one."""

    NEWEST = "newest"
    OLDEST = "oldest"


class TokenAdmin:
    """Every call returns once the metadata view shows its effect, and raises ServerError: UNAVAILABLE, CONFLICT,
    OUTCOME_UNKNOWN, TIMED_OUT beside what it names."""

    def __init__(
        self,
        store: CoordinationStore,
        metadata: MetadataView,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: CatalogSettings | None = None,
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or CatalogSettings()
        self._changer = CatalogChanger(store, metadata, clock, self._settings)
        self._one_creation = asyncio.Lock()  # so that the view's count is exact when it is checked

    async def create(self, wanted: StoredToken) -> tuple[StoredToken, ShownToken]:
        """`wanted` has no id, time and secrets yet. What is to be shown is nowhere but in the answer.

        Raises ServerError INVALID_NAME, TOKEN_EXISTS, TOO_MANY_TOKENS.
        """
        _check_name(wanted.name)
        shown, stored = self._new_secret(id_from_bits(self._entropy.bits64()))
        made = replace(wanted, id=shown.id, created_at_ms=self._clock.now_ms(), secrets=(stored,))
        key = keys.stored_token(wanted.name)
        async with self._one_creation:

            def decide(item: KeyValue | None) -> Step:
                if item is None:
                    self._check_room()
                    return Write([absent(key)], [Put(key, encode(made))])
                found = _decoded(item)
                if found is None or found.id != made.id:
                    raise ServerError(ProblemCode.TOKEN_EXISTS, f"There is a token {wanted.name!r}.", field="name")
                return NothingToWrite()  # it was this call's own write whose outcome was unknown

            await self._changer.change(key, decide)
        return made, shown

    async def rotate(
        self, token: StoredToken, *, grace_ms: int | None, discard: Discard | None
    ) -> tuple[StoredToken, ShownToken]:
        """A new secret; the one that stays beside it is good for the grace, or where that is None for as long as it was
        promised before, else for GRACE_DEFAULT_MS. Where two are good already, `discard` says which of them ends at
        once; the newest ends also where it is the only one, as it may have leaked.

        Raises ServerError TOKEN_NOT_FOUND, TOKEN_OVER, TOKEN_ROTATING (nothing says which).
        """
        key = keys.stored_token(token.name)
        shown, stored = self._new_secret(token.id)
        now_ms = self._clock.now_ms()
        found: StoredToken | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal found
            if item is None:
                raise no_token(token.name)
            before = _decoded(item)
            if before is None:
                detail = f"What is stored of the token {token.name!r} is a newer version's by now: upgrade this one."
                raise ServerError(ProblemCode.CONFLICT, detail)
            if before.id != token.id:
                raise no_token(token.name)
            if before.secrets and before.secrets[0] == stored:
                found = before
                return NothingToWrite()
            if before.expires_at_ms is not None and before.expires_at_ms <= now_ms:
                raise ServerError(ProblemCode.TOKEN_OVER, f"The token {token.name!r} has expired: make another one.")
            kept = _with_grace(_kept(before, discard, now_ms), grace_ms, now_ms)
            found = replace(before, secrets=(stored, *kept))
            return Write([unchanged(item)], [Put(key, encode_instead(found, item.value))])

        await self._changer.change(key, decide)
        assert found is not None
        return found, shown

    async def revoke(self, name: str) -> None:
        """It lets nobody in any more. Raises ServerError INVALID_NAME, TOKEN_NOT_FOUND."""
        _check_name(name)
        key = keys.stored_token(name)
        is_there = False

        def decide(item: KeyValue | None) -> Step:
            nonlocal is_there
            if item is None:
                return NothingToWrite()
            is_there = True
            return Write([unchanged(item)], [Delete(key)])

        await self._changer.change(key, decide)
        if not is_there:
            raise no_token(name)

    def _new_secret(self, token_id: str) -> tuple[ShownToken, StoredSecret]:
        secret = "".join(id_from_bits(self._entropy.bits64()) for _ in range(_SECRET_PARTS))
        return ShownToken(token_id, secret), secret_of(secret, id_from_bits(self._entropy.bits64()))

    def _check_room(self) -> None:
        if len(self._metadata.tokens) >= self._settings.tokens_max:
            detail = f"There are {self._settings.tokens_max} tokens already, the limit: revoke those of no use."
            raise ServerError(ProblemCode.TOO_MANY_TOKENS, detail, field="name")


def _decoded(item: KeyValue) -> StoredToken | None:
    """None for what this version does not understand: a newer one may have written it, so it is not written over."""
    try:
        return decode(StoredToken, item.value)
    except msgspec.DecodeError:
        return None


def no_token(name: str) -> ServerError:
    return ServerError(ProblemCode.TOKEN_NOT_FOUND, f"There is no token {name[:128]!r}.", field="name")


def _kept(token: StoredToken, discard: Discard | None, now_ms: int) -> StoredSecret | None:
    """The secret that stays beside a new one; None: none does. Raises ServerError TOKEN_ROTATING."""
    newest, *earlier = [each for each in token.secrets[:SECRETS_MAX] if each.is_good_at(now_ms)]
    if earlier and discard is None:
        detail = f"Two secrets of {token.name!r} are good until {earlier[0].until_ms}: say which one gives way."
        raise ServerError(ProblemCode.TOKEN_ROTATING, detail, field="discard")
    if discard is Discard.NEWEST:
        return earlier[0] if earlier else None
    return newest


def _with_grace(kept: StoredSecret | None, grace_ms: int | None, now_ms: int) -> tuple[StoredSecret, ...]:
    """Nothing where it ends at once."""
    if kept is None or grace_ms == 0:
        return ()
    if grace_ms is None and kept.until_ms is not None:
        return (kept,)
    return (replace(kept, until_ms=now_ms + (GRACE_DEFAULT_MS if grace_ms is None else grace_ms)),)


def _check_name(name: str) -> None:
    fault = token_name_fault(name)
    if fault is not None:
        raise ServerError(ProblemCode.INVALID_NAME, f"The name of the token {fault}.", field="name")
