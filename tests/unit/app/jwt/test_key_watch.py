"""An issuer over time: its keys are looked for in the background, and never more often than it was agreed."""

import asyncio
import json
from functools import partial
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from app.jwt.hearers import HEARD_AT_ONCE
from app.jwt.key_figures import KeyFigures
from app.jwt.key_ring import KeyRing, KeyRingSettings
from app.jwt.key_source import KeySourceError
from app.jwt.key_watch import KeyWatch
from tests.support.local_issuer import ec_key, jwk_of
from tests.support.manual_clock import ManualClock, settle

KEYS = {name: json.dumps({"keys": [jwk_of(ec_key(), name)]}).encode() for name in ("first", "second")}
REFRESH_MS, PAUSE_MS, GOOD_MS = 10_000, 1_000, 60_000


class Issuer:
    """Answers with `content`, unless it is an exception; counts its looks. Not before `may_answer`."""

    def __init__(self) -> None:
        self.content: bytes | Exception = KEYS["first"]
        self.looks = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self) -> bytes:
        self.looks += 1
        await self.may_answer.wait()
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.issuer = Issuer()
        self.ring = KeyRing(KeyRingSettings(refresh_ms=REFRESH_MS, pause_ms=PAUSE_MS, good_ms=GOOD_MS))
        self.watch = KeyWatch(self.ring, self.issuer, issuer="https://i", clock=self.clock, timeout_ms=100)

    def ids(self) -> list[str]:
        keys = self.watch.keys()
        return [] if keys is None else [each.id for each in keys.keys]

    def figures(self) -> dict[str, float]:
        found = KeyFigures(self.ring, clock=self.clock).collect()
        return {sample.name: sample.value for family in found for sample in family.samples}


@pytest.fixture
async def world() -> World:
    return World()


async def test_keys_are_read_at_the_start_and_as_they_grow_old(world: World) -> None:
    await world.watch.start()
    assert world.ids() == ["first"]
    world.issuer.content = KEYS["second"]
    await world.clock.advance_ms(REFRESH_MS - 1)
    assert (world.ids(), world.issuer.looks) == (["first"], 1)
    await world.clock.advance_ms(1)
    assert (world.ids(), world.issuer.looks) == (["second"], 2)
    await world.watch.close()
    await world.clock.advance_ms(10 * REFRESH_MS)
    assert world.issuer.looks == 2


async def test_an_issuer_that_is_away_at_the_start(world: World) -> None:
    world.issuer.content = KeySourceError("it is away")
    await world.watch.start()
    assert world.ids() == []
    await world.clock.advance_ms(5 * PAUSE_MS)
    assert world.issuer.looks == 6
    world.issuer.content = KEYS["first"]
    await world.clock.advance_ms(PAUSE_MS)
    assert world.ids() == ["first"]
    await world.watch.close()


async def test_an_issuer_that_goes_away_later_and_comes_back(world: World) -> None:
    await world.watch.start()
    world.issuer.content = KeySourceError("it is away")
    with capture_logs() as logs:
        await world.clock.advance_ms(GOOD_MS - 1)
        assert world.ids() == ["first"]
        assert world.figures()["acklog_jwt_keys_left_seconds"] == 0.001
        await world.clock.advance_ms(1)
    assert world.ids() == []
    assert world.figures() == {
        "acklog_jwt_keys_age_seconds": GOOD_MS / 1000,
        "acklog_jwt_keys_left_seconds": 0,
        "acklog_jwt_keys": 0,
        "acklog_jwt_key_refresh_failures_total": 1 + (GOOD_MS - REFRESH_MS) // PAUSE_MS,
    }
    assert [each["event"] for each in logs] == ["issuer_keys_not_read"], "it is said once"
    world.issuer.content = KEYS["first"]
    await world.clock.advance_ms(PAUSE_MS)
    assert world.ids() == ["first"]
    await world.watch.close()


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"x" * 300_000])
async def test_what_is_broken_changes_nothing(world: World, content: bytes) -> None:
    await world.watch.start()
    world.issuer.content = content
    await world.clock.advance_ms(REFRESH_MS)
    assert (world.ids(), world.ring.failures) == (["first"], 1)
    await world.watch.close()


async def test_an_emptied_set_is_heard_of_and_said_once(world: World) -> None:
    await world.watch.start()
    heard: list[list[str]] = []
    world.watch.subscribe(lambda: heard.append(world.ids()))
    world.issuer.content = b'{"keys": []}'
    with capture_logs() as logs:
        await world.clock.advance_ms(REFRESH_MS + 3 * PAUSE_MS)
    assert (world.ids(), heard, world.issuer.looks) == ([], [[]], 5)
    assert [(each["event"], each["log_level"]) for each in logs] == [("issuer_has_no_keys", "error")]
    figures = world.figures()
    assert (figures["acklog_jwt_keys"], figures["acklog_jwt_keys_left_seconds"]) == (0, 0)
    assert figures["acklog_jwt_key_refresh_failures_total"] == 0
    world.issuer.content = KEYS["first"]
    await world.clock.advance_ms(PAUSE_MS)
    assert world.ids() == ["first"]
    await world.watch.close()


async def test_an_unknown_key_has_it_look_and_a_crowd_of_them_has_it_look_once(world: World) -> None:
    await world.watch.start()
    await world.clock.advance_ms(PAUSE_MS - 1)
    assert world.watch.wait_ms("second") == 1, "the last look was a moment ago"
    await world.clock.advance_ms(1)
    world.issuer.content = KEYS["second"]
    world.issuer.may_answer.clear()
    assert {world.watch.wait_ms(str(number)) for number in range(900)} == {0}
    await settle()
    assert {world.watch.wait_ms(str(number)) for number in range(900)} == {0}
    world.issuer.may_answer.set()
    await settle()
    assert (world.ids(), world.issuer.looks) == (["second"], 2)
    assert {world.watch.wait_ms(str(number)) for number in range(900)} == {None}
    await world.clock.advance_ms(PAUSE_MS)
    for number in range(900):
        world.watch.wait_ms(str(number))
    await settle()
    assert world.issuer.looks == 3
    await world.watch.close()


async def test_a_look_that_takes_too_long_has_failed(world: World) -> None:
    world.issuer.may_answer.clear()
    await world.watch.start()  # which a time of its own ends
    assert (world.ids(), world.ring.failures, world.ring.is_looking) == ([], 1, False)
    await world.watch.close()


async def test_who_has_let_somebody_in_hears_of_other_keys(world: World) -> None:
    heard: list[list[str]] = []
    stop = world.watch.subscribe(lambda: heard.append(world.ids()))
    await world.watch.start()
    await world.clock.advance_ms(REFRESH_MS)
    assert heard == [["first"]], "of the same keys nobody hears"
    world.issuer.content = KEYS["second"]
    await world.clock.advance_ms(REFRESH_MS)
    assert heard == [["first"], ["second"]], "once they are what is known"
    world.issuer.content = KeySourceError("it is away")
    await world.clock.advance_ms(REFRESH_MS)
    stop()
    world.issuer.content = KEYS["first"]
    await world.clock.advance_ms(PAUSE_MS)
    assert (world.ids(), len(heard)) == (["first"], 2)
    await world.watch.close()


async def test_a_key_that_is_not_there_is_looked_for_again_by_whom_that_is_told() -> None:
    world = World()
    world.ring = KeyRing(KeyRingSettings(pause_ms=1))
    world.watch = KeyWatch(world.ring, world.issuer, issuer="https://i", clock=world.clock, timeout_ms=100)
    await world.watch.start()
    await world.clock.advance_ms(1)
    assert world.watch.wait_ms("second") == 0
    await settle()
    world.issuer.content = KEYS["second"]
    await world.clock.advance_ms(1)
    looks = world.issuer.looks
    assert world.watch.wait_ms("second") is None
    await settle()
    assert (world.ids(), world.issuer.looks) == (["second"], looks + 1)
    await world.watch.close()


async def test_of_other_keys_so_many_hear_in_each_turn_of_the_loop(world: World) -> None:
    """Each looks at a signature then: all who wait at once would keep the loop from everything else."""
    await world.watch.start()
    heard: list[int] = []
    stops = [world.watch.subscribe(partial(heard.append, number)) for number in range(3 * HEARD_AT_ONCE + 1)]
    stops[-1]()
    stops[-2]()
    world.issuer.content = KEYS["second"]
    await world.clock.advance_ms(PAUSE_MS)
    world.watch.wait_ms("second")
    counts = []
    for _ in range(20):
        counts.append(len(heard))
        await asyncio.sleep(0)
    assert heard == list(range(3 * HEARD_AT_ONCE - 1)), "in their order, but for those who have left"
    assert max(after - before for before, after in pairwise(counts)) <= HEARD_AT_ONCE
    await world.watch.close()
