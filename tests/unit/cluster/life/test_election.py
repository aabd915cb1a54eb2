import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from cluster.life.election import Election, ElectionSettings, Term
from cluster.model import keys
from cluster.model.values import ControllerClaim
from cluster.ports.coordination import CoordinationUnavailableError, Delete, OutcomeUnknownError, Put
from cluster.stores.memory_store import MemoryStore
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock, settle

SETTINGS = ElectionSettings(ttl_ms=3_000, margin_ms=700, keep_alive_interval_ms=700)


@dataclass
class Candidate:
    """A node's own connection to the common store, and its own time."""

    store: FlakyStore
    clock: ManualClock
    election: Election
    terms: list[Term] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    @property
    def is_elected(self) -> bool:
        return bool(self.terms) and self.terms[-1].is_valid

    async def run(self) -> None:
        while True:
            self.terms.append(await self.election.campaign())
            await self.election.hold(self.terms[-1])


@dataclass
class Race:
    clock: ManualClock
    store: MemoryStore
    candidates: list[Candidate] = field(default_factory=list)

    async def join(self) -> Candidate:
        connection = FlakyStore(self.store)
        claim = ControllerClaim(len(self.candidates) + 1, 1)
        election = Election(connection, claim, clock=self.clock, settings=SETTINGS)
        candidate = Candidate(connection, self.clock, election)
        candidate.task = asyncio.create_task(candidate.run())
        self.candidates.append(candidate)
        await settle()
        return candidate

    def elected(self) -> list[int]:
        return [number for number, candidate in enumerate(self.candidates) if candidate.is_elected]


@pytest.fixture
async def race() -> AsyncIterator[Race]:
    clock = ManualClock()
    race = Race(clock, MemoryStore(clock))
    yield race
    for candidate in race.candidates:
        assert candidate.task is not None
        candidate.task.cancel()
    await asyncio.gather(*(each.task for each in race.candidates if each.task), return_exceptions=True)
    await race.store.close()


def cut_off(candidate: Candidate) -> None:
    for call in ("keep_alive", "get", "list", "transact", "grant_lease"):
        candidate.store.before[call] = [CoordinationUnavailableError("cut off")] * 1_000


async def test_one_is_elected_and_stays(race: Race) -> None:
    for _ in range(3):
        await race.join()
    await race.clock.advance_ms(60_000)
    assert race.elected() == [0]
    item = await race.store.get(keys.CONTROLLER)
    assert item is not None
    assert item.create_revision == race.candidates[0].terms[0].token


async def test_its_term_is_over_before_another_begins(race: Race) -> None:
    first, second = await race.join(), await race.join()
    await race.clock.advance_ms(1_000)
    cut_off(first)
    ended_at_ms = begun_at_ms = None
    for _ in range(5_000):
        await race.clock.advance_ms(1)
        assert len(race.elected()) <= 1
        if ended_at_ms is None and not first.is_elected:
            ended_at_ms = race.clock.monotonic_ms()
        if begun_at_ms is None and second.is_elected:
            begun_at_ms = race.clock.monotonic_ms()
    assert ended_at_ms is not None
    assert begun_at_ms is not None
    assert begun_at_ms - ended_at_ms >= SETTINGS.margin_ms
    assert second.terms[0].token > first.terms[0].token


async def test_after_a_pause_it_knows_at_once(race: Race) -> None:
    first = await race.join()
    race.clock._monotonic_ms += SETTINGS.ttl_ms - SETTINGS.margin_ms  # nothing runs while the process stands still
    assert not first.is_elected


async def test_a_claim_that_was_deleted_ends_the_term(race: Race) -> None:
    first = await race.join()
    await race.store.transact([], [Delete(keys.CONTROLLER)])
    await race.clock.advance_ms(SETTINGS.keep_alive_interval_ms)
    assert not first.terms[0].is_valid
    await race.clock.advance_ms(1_000)
    assert first.is_elected, "it campaigns again"
    assert first.terms[1].token > first.terms[0].token


async def test_an_unknown_outcome_leaves_no_claim_that_nobody_holds(race: Race) -> None:
    connection = FlakyStore(race.store)
    connection.after["transact"] = [OutcomeUnknownError("?")]
    election = Election(connection, ControllerClaim(9, 1), clock=race.clock, settings=SETTINGS)
    campaign = asyncio.ensure_future(election.campaign())
    await race.clock.advance_ms(150)
    term = await campaign
    item = await race.store.get(keys.CONTROLLER)
    assert item is not None
    assert (item.create_revision, item.lease_id) == (term.token, term.lease.lease_id)


async def test_the_first_of_many_wins_each_time(race: Race) -> None:
    """Whoever holds the office dies, again and again; there is never more than one, and soon one again."""
    for _ in range(4):
        await race.join()
    tokens = []
    for _ in range(4):
        [elected] = race.elected()
        tokens.append(race.candidates[elected].terms[-1].token)
        cut_off(race.candidates[elected])
        for _ in range(45):
            await race.clock.advance_ms(100)
            assert len(race.elected()) <= 1
        race.candidates[elected].store.before.clear()
    assert tokens == sorted(set(tokens))


async def test_resigning_needs_no_waiting(race: Race) -> None:
    election = Election(race.store, ControllerClaim(9, 1), clock=race.clock, settings=SETTINGS)
    term = await election.campaign()
    other = await race.join()
    assert not other.is_elected
    await election.resign(term)
    await settle()
    assert other.is_elected
    assert not term.is_valid


async def test_a_foreign_key_beside_it_does_not_matter(race: Race) -> None:
    await race.store.transact([], [Put(f"{keys.CONTROLLER}-old", b"")])
    assert (await race.join()).is_elected
