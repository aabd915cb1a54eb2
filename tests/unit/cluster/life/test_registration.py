import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from cluster.life.eviction import declared_dead
from cluster.life.node_id import DirectoryConflictError
from cluster.life.registration import NodeRegistrar, ReplacedError
from cluster.life.registration_settings import RegistrationSettings
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import ControllerClaim, NodeRegistration
from cluster.ports.coordination import (
    CoordinationUnavailableError,
    Delete,
    KeyValue,
    OutcomeUnknownError,
    Put,
    StoreLease,
)
from cluster.stores.memory_store import MemoryStore
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

    async def slow_grant(ttl_ms: int) -> StoreLease:
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


async def test_several_nodes_do_not_disturb_each_other(machine: Machine) -> None:
    others = [NodeRegistration(number, 1, f"directory-{number}", "there", "rack") for number in (2, 3)]
    await asyncio.gather(*(machine.registrar(node).start() for node in (NODE, *others)))
    await machine.registrars[1].close()
    await machine.clock.advance_ms(60_000)
    items = (await machine.store.list(keys.NODES)).items
    assert [decode(NodeRegistration, item.value) for item in items] == [NODE, others[1]]


async def test_one_that_was_declared_dead_registers_again(machine: Machine) -> None:
    """Its lease lives on, only its key is gone."""
    registrar = machine.registrar()
    await registrar.start()
    item = await machine.store.get(keys.node(1))
    assert item is not None
    compares, operations = declared_dead(item)
    assert (await machine.store.transact(compares, operations)).succeeded
    await machine.clock.advance_ms(3_000)
    assert registrar.is_registered
    assert await machine.registered() == NODE
    assert [registered for _, registered in machine.told] == [True, False, True]
    again = await machine.store.get(keys.node(1))
    assert again is not None
    assert again.create_revision > item.create_revision
    assert not (await machine.store.transact(compares, operations)).succeeded, "a late word kills no later life"


async def test_an_earlier_start_never_registers_again_even_when_the_later_one_is_gone(machine: Machine) -> None:
    older = machine.registrar(NODE)
    await older.start()
    await machine.store.transact([], [Put(keys.incarnation(1), b"6")])
    newer = machine.registrar(NodeRegistration(1, 6, "directory", "here:2"))
    await newer.start()
    await newer.close()
    await machine.clock.advance_ms(60_000)
    assert not older.is_registered
    assert await machine.registered() is None
    with pytest.raises(ReplacedError):
        await machine.registrar(NODE).start()


async def test_a_registered_one_that_is_replaced_knows_within_a_keep_alive(machine: Machine) -> None:
    older = machine.registrar(NODE)
    await older.start()
    await machine.registrar(NodeRegistration(1, 6, "directory", "here:2")).start()
    await machine.clock.advance_ms(SETTINGS.keep_alive_interval_ms)
    assert not older.is_registered
    assert machine.told[-1][1] is False


async def test_whoever_runs_it_is_told_that_it_ended(machine: Machine) -> None:
    reasons: list[Exception] = []
    registrar = NodeRegistrar(
        machine.store, NODE, clock=machine.clock, on_change=lambda _: None, on_ended=reasons.append, settings=SETTINGS
    )
    machine.registrars.append(registrar)
    await registrar.start()
    await machine.clock.advance_ms(60_000)
    assert reasons == []
    later = NodeRegistration(1, 6, "directory", "here:2")
    await machine.store.store.transact([], [Put(keys.node(1), encode(later))])
    await machine.clock.advance_ms(SETTINGS.keep_alive_interval_ms)
    [reason] = reasons
    assert isinstance(reason, ReplacedError)
    assert not registrar.is_registered


async def test_two_machines_with_one_id_are_told_so(machine: Machine) -> None:
    await machine.registrar(NODE).start()
    starting = asyncio.ensure_future(machine.registrar(NodeRegistration(1, 6, "another", "there")).start())
    await machine.clock.advance_ms(SETTINGS.directory_conflict_wait_ms)
    await machine.clock.advance_ms(5_000)
    with pytest.raises(DirectoryConflictError, match="another id"):
        await starting
    assert await machine.registered() == NODE, "who was there first stays"


async def test_a_new_disk_waits_for_the_end_of_the_earlier_life(machine: Machine) -> None:
    lease = await machine.store.grant_lease(10_000)
    earlier = NodeRegistration(1, 4, "the old disk", "here:1")
    await machine.store.transact([], [Put(keys.node(1), encode(earlier), lease.lease_id)])
    starting = asyncio.ensure_future(machine.registrar().start())
    await machine.clock.advance_ms(9_000)
    assert await machine.registered() == earlier
    await machine.clock.advance_ms(6_000)
    await starting
    assert await machine.registered() == NODE


async def test_a_time_without_the_store_does_not_count_against_the_earlier_life(machine: Machine) -> None:
    earlier = NodeRegistration(1, 4, "the old disk", "here:1")
    await machine.store.transact([], [Put(keys.node(1), encode(earlier))])
    starting = asyncio.ensure_future(machine.registrar().start())
    await machine.clock.advance_ms(9_000)
    for call in ("get", "grant_lease"):
        machine.store.before[call] = [CoordinationUnavailableError("away")] * 4
    await machine.clock.advance_ms(SETTINGS.directory_conflict_wait_ms - 1_000)
    assert not starting.done()
    await machine.store.store.transact([], [Delete(keys.node(1))])
    await machine.clock.advance_ms(5_000)
    await starting
    assert await machine.registered() == NODE


async def test_leaving_is_told_and_stays_told(machine: Machine) -> None:
    registrar = machine.registrar()
    await registrar.start()
    machine.store.before["transact"] = [CoordinationUnavailableError("down")]
    leaving = asyncio.ensure_future(registrar.announce_leaving())
    await machine.clock.advance_ms(1_000)
    await leaving
    found = await machine.registered()
    assert found is not None
    assert found.is_leaving
    assert registrar.is_registered
    item = await machine.store.get(keys.node(1))
    assert item is not None
    await machine.store.store.revoke_lease(item.lease_id)
    await machine.clock.advance_ms(5_000)
    found = await machine.registered()
    assert found is not None
    assert found.is_leaving


async def test_a_full_disk_is_told_and_taken_back(machine: Machine) -> None:
    registrar = machine.registrar()
    await registrar.start()
    for is_impaired in (True, False):
        await registrar.announce_storage(is_impaired=is_impaired)
        found = await machine.registered()
        assert found is not None
        assert found.has_impaired_storage is is_impaired


async def test_leaving_ends_well_where_the_lease_is_lost_meanwhile(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    registrar = machine.registrar()
    await registrar.start()
    get, gate = machine.store.get, asyncio.Event()

    async def slow_get(key: str) -> KeyValue | None:
        item = await get(key)
        await gate.wait()
        return item

    monkeypatch.setattr(machine.store, "get", slow_get)
    leaving = asyncio.ensure_future(registrar.announce_leaving())
    await settle()
    machine.store.before["grant_lease"] = [CoordinationUnavailableError("down")] * 100
    machine.store.before["keep_alive"] = [CoordinationUnavailableError("down")] * 100
    await machine.clock.advance_ms(20_000)
    assert not registrar.is_registered
    gate.set()
    await leaving


async def test_leaving_gives_up_on_a_store_that_stays_away(machine: Machine) -> None:
    registrar = machine.registrar()
    await registrar.start()
    machine.store.before["transact"] = [CoordinationUnavailableError("down")] * 100
    leaving = asyncio.ensure_future(registrar.announce_leaving())
    await machine.clock.advance_ms(5_000)
    with pytest.raises(CoordinationUnavailableError):
        await leaving


async def test_a_controller_that_is_declared_dead_loses_its_office_too(machine: Machine) -> None:
    await machine.registrar().start()
    registration = await machine.store.get(keys.node(1))
    await machine.store.transact([], [Put(keys.CONTROLLER, encode(ControllerClaim(1, 5)))])
    controller = await machine.store.get(keys.CONTROLLER)
    assert registration is not None
    assert controller is not None
    assert (await machine.store.transact(*declared_dead(registration, controller))).succeeded
    assert await machine.store.get(keys.CONTROLLER) is None
    other = KeyValue(keys.CONTROLLER, encode(ControllerClaim(1, 6)), 1, 1, 1)
    _, operations = declared_dead(registration, other)
    assert [operation.key for operation in operations] == [keys.node(1)], "a later life's office is not its own"


def test_settings_that_leave_no_time() -> None:
    with pytest.raises(ValueError):
        RegistrationSettings(ttl_ms=1000, margin_ms=500, keep_alive_interval_ms=500)
