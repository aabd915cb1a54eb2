"""Tokens in the coordination store."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.token_admin import Discard, TokenAdmin
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.stored_token import StoredToken, parse_shown_token
from cluster.ports.coordination import OutcomeUnknownError, Put
from tests.unit.cluster.conftest import Catalogue

GRACE_MS = 60_000
_Answer = TypeVar("_Answer")


def admin_of(catalogue: Catalogue, **settings: int) -> TokenAdmin:
    return TokenAdmin(
        catalogue.store,
        catalogue.metadata,
        clock=catalogue.clock,
        entropy=catalogue.entropy,
        settings=CatalogSettings(**settings),  # type: ignore[arg-type]
    )


def wanted(name: str = "shop") -> StoredToken:
    return StoredToken(id="", name=name, created_at_ms=0, secrets=(), roles=("producer",))


def known(catalogue: Catalogue, name: str = "shop") -> StoredToken:
    found = catalogue.metadata.tokens.find(name)
    assert found is not None
    return found


async def with_lost_answer(catalogue: Catalogue, call: Coroutine[Any, Any, _Answer]) -> _Answer:
    """What comes of it although the store does not say that it has written."""
    catalogue.store.after = {"transact": [OutcomeUnknownError("lost")]}
    asking = asyncio.ensure_future(call)
    await catalogue.clock.advance_ms(1_000)
    return await asking


async def test_what_is_stored_tells_no_secret(catalogue: Catalogue) -> None:
    made, shown = await admin_of(catalogue).create(wanted())
    assert parse_shown_token(str(shown)) == shown
    assert str(shown).startswith("ak_")
    [item] = (await catalogue.store.list(keys.STORED_TOKENS)).items
    assert shown.secret not in item.value.decode()
    token = known(catalogue)
    assert token == made
    assert catalogue.metadata.tokens.by_id(shown.id) == made
    assert token.accepts(shown.secret, catalogue.clock.now_ms())
    assert not token.accepts(shown.secret[::-1], catalogue.clock.now_ms())


async def test_a_name_is_there_once_and_another_life_has_another_id(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    _, first = await admin.create(wanted())
    with pytest.raises(ServerError) as refused:
        await admin.create(wanted())
    assert refused.value.code is ProblemCode.TOKEN_EXISTS
    await admin.revoke("shop")
    assert catalogue.metadata.tokens.by_id(first.id) is None
    _, second = await admin.create(wanted())
    assert second.id != first.id
    with pytest.raises(ServerError) as missing:
        await admin.revoke("shop-2")
    assert missing.value.code is ProblemCode.TOKEN_NOT_FOUND


async def test_after_a_rotation_two_secrets_are_good_for_the_grace(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    made, first = await admin.create(wanted())
    _, second = await admin.rotate(made, grace_ms=GRACE_MS, discard=None)
    now_ms = catalogue.clock.now_ms()
    token = known(catalogue)
    for secret in (first.secret, second.secret):
        assert token.accepts(secret, now_ms + GRACE_MS - 1)
    assert token.accepts(second.secret, now_ms + GRACE_MS)
    assert not token.accepts(first.secret, now_ms + GRACE_MS)
    _, third = await admin.rotate(token, grace_ms=0, discard=Discard.OLDEST)
    token = known(catalogue)
    assert [token.accepts(each.secret, now_ms) for each in (first, second, third)] == [False, False, True]


@pytest.mark.parametrize("discard", list(Discard))
async def test_while_two_are_good_somebody_says_which_gives_way(catalogue: Catalogue, discard: Discard) -> None:
    """Who never got the new secret keeps the one in use, and who has rolled it out keeps that."""
    admin = admin_of(catalogue)
    made, first = await admin.create(wanted())
    rotated, second = await admin.rotate(made, grace_ms=GRACE_MS, discard=None)
    with pytest.raises(ServerError) as refused:
        await admin.rotate(rotated, grace_ms=GRACE_MS, discard=None)
    assert (refused.value.code, refused.value.field) == (ProblemCode.TOKEN_ROTATING, "discard")
    _, third = await admin.rotate(rotated, grace_ms=GRACE_MS, discard=discard)
    token, now_ms = known(catalogue), catalogue.clock.now_ms()
    assert token.accepts(third.secret, now_ms)
    assert token.accepts(first.secret, now_ms) == (discard is Discard.NEWEST)
    assert token.accepts(second.secret, now_ms) == (discard is Discard.OLDEST)
    await catalogue.clock.advance_ms(GRACE_MS)
    await admin.rotate(token, grace_ms=GRACE_MS, discard=None)


async def test_the_newest_gives_way_where_it_is_the_only_one(catalogue: Catalogue) -> None:
    """It has leaked, and the grace of the one before is over: an hour more would be an hour for the thief."""
    admin = admin_of(catalogue)
    made, first = await admin.create(wanted())
    _, second = await admin.rotate(made, grace_ms=None, discard=Discard.NEWEST)
    token, now_ms = known(catalogue), catalogue.clock.now_ms()
    assert [token.accepts(each.secret, now_ms) for each in (first, second)] == [False, True]


@pytest.mark.parametrize(("grace_ms", "good_ms"), [(None, 24 * GRACE_MS), (GRACE_MS, GRACE_MS)])
async def test_what_was_promised_to_a_secret_holds_unless_something_else_is_said(
    catalogue: Catalogue, grace_ms: int | None, good_ms: int
) -> None:
    admin = admin_of(catalogue)
    made, first = await admin.create(wanted())
    rotated, _ = await admin.rotate(made, grace_ms=24 * GRACE_MS, discard=None)
    await admin.rotate(rotated, grace_ms=grace_ms, discard=Discard.NEWEST)
    token, now_ms = known(catalogue), catalogue.clock.now_ms()
    assert token.accepts(first.secret, now_ms + good_ms - 1)
    assert not token.accepts(first.secret, now_ms + good_ms)


async def test_one_that_has_expired_gets_no_secret(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    made, _ = await admin.create(replace(wanted(), expires_at_ms=catalogue.clock.now_ms() + GRACE_MS))
    await catalogue.clock.advance_ms(GRACE_MS)
    with pytest.raises(ServerError) as refused:
        await admin.rotate(made, grace_ms=None, discard=None)
    assert refused.value.code is ProblemCode.TOKEN_OVER
    assert known(catalogue) == made


async def test_a_write_that_nobody_knows_of_is_done_once(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    made, first = await with_lost_answer(catalogue, admin.create(wanted()))
    _, second = await with_lost_answer(catalogue, admin.rotate(made, grace_ms=GRACE_MS, discard=None))
    token, now_ms = known(catalogue), catalogue.clock.now_ms()
    assert len(token.secrets) == 2
    assert token.accepts(first.secret, now_ms)
    assert token.accepts(second.secret, now_ms)
    await with_lost_answer(catalogue, admin.revoke("shop"))


async def test_there_are_no_more_than_may_be(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue, tokens_max=2)
    for name in ("a", "b"):
        await admin.create(wanted(name))
    with pytest.raises(ServerError) as refused:
        await admin.create(wanted("c"))
    assert refused.value.code is ProblemCode.TOO_MANY_TOKENS
    await admin.revoke("a")
    await admin.create(wanted("c"))


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 129, "__x"])
async def test_names_that_cannot_be(catalogue: Catalogue, name: str) -> None:
    with pytest.raises(ServerError) as refused:
        await admin_of(catalogue).create(wanted(name))
    assert refused.value.code is ProblemCode.INVALID_NAME
    await admin_of(catalogue).create(wanted("x" * 128))


async def test_what_is_not_understood_lets_nobody_in(catalogue: Catalogue) -> None:
    made, _ = await admin_of(catalogue).create(wanted())
    result = await catalogue.store.transact([], [Put(keys.stored_token("shop"), b'{"name": 1}')])
    await catalogue.metadata.wait_for(result.revision)
    assert catalogue.metadata.tokens.find("shop") is None
    assert catalogue.metadata.tokens.by_id(made.id) is None
    assert list(catalogue.metadata.tokens.undecodable) == [keys.stored_token("shop")]


async def test_what_is_not_understood_is_no_place_for_another(catalogue: Catalogue) -> None:
    """A newer version may have written it, and some gateways let its holder in."""
    admin = admin_of(catalogue)
    made, _ = await admin.create(wanted())
    await catalogue.store.transact([], [Put(keys.stored_token("shop"), b'{"id": 5}')])
    with pytest.raises(ServerError) as caught:
        await admin.create(wanted())
    assert caught.value.code is ProblemCode.TOKEN_EXISTS
    with pytest.raises(ServerError) as caught:
        await admin.rotate(made, grace_ms=GRACE_MS, discard=None)
    assert caught.value.code is ProblemCode.CONFLICT
    await admin.revoke("shop")
    again, _ = await admin.create(wanted())
    assert known(catalogue) == again
