import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from cluster import keys
from cluster.codec import decode, encode
from cluster.coordination import CoordinationUnavailableError, Lease, OutcomeUnknownError, Put
from cluster.memory_store import MemoryStore
from cluster.model import NodeRegistration
from cluster.registration import NodeRegistrar, RegistrationSettings, ReplacedError
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock, settle

SETTINGS = RegistrationSettings(ttl_ms=10_000, margin_ms=2_000, keep_alive_interval_ms=2_500)
NODE = NodeRegistration(1, 5, "directory", "here:1")


@dataclass
class Machine:
    clock: ManualClock
    store: FlakyStore
    told: list[tuple[int, bool]] = field(default_factory=list)
    registrars: list[NodeRegistrar] = field(default_factory=list)

    def registrar(self, node: NodeRegistration = NODE) -> NodeRegistrar:
        registrar = NodeRegistrar(
            self.store,
            node,
            clock=self.clock,
            on_change=lambda registered: self.told.append((self.clock.monotonic_ms(), registered)),
            settings=SETTINGS,
        )
        self.registrars.append(registrar)
        return registrar

    async def registered(self) -> NodeRegistration | None:
        item = await self.store.store.get(keys.node(1))
        return None if item is None else decode(NodeRegistration, item.value)


@pytest.fixture
async def machine() -> AsyncIterator[Machine]:
    clock = ManualClock()
    machine = Machine(clock, FlakyStore(MemoryStore(clock)))
    yield machine
    machine.store.before.clear()
    for registrar in machine.registrars:
        await registrar.close()
    await machine.store.close()


async def test_a_node_is_registered_as_long_as_it_lives(machine: Machine) -> None:
    registrar = machine.registrar()
    assert not registrar.is_registered
    await registrar.start()
    assert registrar.is_registered
    await machine.clock.advance_ms(60_000)
    assert await machine.registered() == NODE
    assert machine.told == [(0, True)]
    await registrar.close()
    assert await machine.registered() is None, "nobody has to wait for the lease's end"
    assert not registrar.is_registered
    assert machine.told == [(0, True), (60_000, False)]


async def test_it_declares_itself_lost_before_the_store_does(machine: Machine) -> None:
    registrar = machine.registrar()
    await registrar.start()
    machine.store.before["keep_alive"] = [CoordinationUnavailableError("down")] * 100
    machine.store.before["grant_lease"] = [CoordinationUnavailableError("down")] * 100
    await machine.clock.advance_ms(7_999)
    assert registrar.is_registered
    await machine.clock.advance_ms(1)
    assert not registrar.is_registered
    assert machine.told == [(0, True), (8_000, False)]
    assert await machine.registered() == NODE, "the store still thinks it lives"
    machine.store.before.clear()
    await machine.clock.advance_ms(5_000)
    assert registrar.is_registered, "it registers again"
    assert machine.told[2:] == [(machine.told[2][0], True)]


async def test_a_short_outage_is_survived(machine: Machine) -> None:
    registrar = machine.registrar()
    await registrar.start()
    machine.store.before["keep_alive"] = [CoordinationUnavailableError("down")] * 3
    await machine.clock.advance_ms(60_000)
    assert machine.told == [(0, True)]
    assert await machine.registered() == NODE


async def test_after_a_pause_it_knows_at_once(machine: Machine) -> None:
    """A process that stood still must not act on a registration that has ended meanwhile, not even for a moment."""
    registrar = machine.registrar()
    await registrar.start()
    machine.clock._monotonic_ms += 8_000  # nothing runs while the process stands still
    assert not registrar.is_registered


async def test_time_counts_from_before_the_question(machine: Machine) -> None:
    real_grant = machine.store.store.grant_lease

    async def slow_grant(ttl_ms: int) -> Lease:
        lease = await real_grant(ttl_ms)
        machine.clock._monotonic_ms += 3_000
        return lease

    machine.store.store.grant_lease = slow_grant  # type: ignore[method-assign]
    registrar = machine.registrar()
    await registrar.start()
    machine.store.before["keep_alive"] = [CoordinationUnavailableError("down")] * 100
    machine.store.before["grant_lease"] = [CoordinationUnavailableError("down")] * 100
    await machine.clock.advance_ms(4_999)
    assert registrar.is_registered
    await machine.clock.advance_ms(1)
    assert not registrar.is_registered


async def test_a_lost_lease_is_replaced(machine: Machine) -> None:
    registrar = machine.registrar()
    await registrar.start()
    item = await machine.store.get(keys.node(1))
    assert item is not None
    await machine.store.store.revoke_lease(item.lease_id)
    await machine.clock.advance_ms(5_000)
    assert registrar.is_registered
    assert await machine.registered() == NODE
    assert [registered for _, registered in machine.told] == [True, False, True]


async def test_an_unknown_outcome_is_tried_again(machine: Machine) -> None:
    machine.store.after["transact"] = [OutcomeUnknownError("?")]
    registrar = machine.registrar()
    starting = asyncio.ensure_future(registrar.start())
    await machine.clock.advance_ms(1_000)
    await starting
    await machine.clock.advance_ms(30_000)  # past the first try's lease
    assert await machine.registered() == NODE
    assert [registered for _, registered in machine.told] == [True]


async def test_a_later_start_replaces_an_earlier_one_and_never_the_other_way_round(machine: Machine) -> None:
    older = machine.registrar(NODE)
    await older.start()
    newer = NodeRegistration(1, 6, "directory", "here:2")
    await machine.registrar(newer).start()
    assert await machine.registered() == newer
    with pytest.raises(ReplacedError):
        await machine.registrar(NODE).start()
    assert await machine.registered() == newer


async def test_a_node_whose_store_is_away_waits(machine: Machine) -> None:
    machine.store.before["grant_lease"] = [CoordinationUnavailableError("down")] * 3
    registrar = machine.registrar()
    starting = asyncio.ensure_future(registrar.start())
    await settle()
    assert not starting.done()
    await machine.clock.advance_ms(1_000)
    await starting
    assert machine.told == [(100 + 200 + 400, True)]


async def test_closing_lets_go_of_who_waits_for_the_start(machine: Machine) -> None:
    machine.store.before["grant_lease"] = [CoordinationUnavailableError("down")] * 100
    registrar = machine.registrar()
    starting = asyncio.ensure_future(registrar.start())
    await settle()
    await registrar.close()
    with pytest.raises(CoordinationUnavailableError):
        await starting
    assert machine.told == []


async def test_a_foreign_registration_of_an_older_start_is_taken_over(machine: Machine) -> None:
    await machine.store.transact([], [Put(keys.node(1), encode(NodeRegistration(1, 4, "directory", "x")))])
    await machine.registrar().start()
    assert await machine.registered() == NODE


def test_settings_that_leave_no_time() -> None:
    with pytest.raises(ValueError):
        RegistrationSettings(ttl_ms=1000, margin_ms=500, keep_alive_interval_ms=500)
