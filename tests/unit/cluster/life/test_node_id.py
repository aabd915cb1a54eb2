import asyncio

import pytest

from cluster.life.node_id import DirectoryConflictError, wait_for_node_id
from cluster.life.registration_settings import RegistrationSettings
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import CoordinationUnavailableError, Delete, KeyValue, Put
from cluster.stores.memory_store import MemoryStore
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock, settle

SETTINGS = RegistrationSettings(directory_conflict_wait_ms=15_000)


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = FlakyStore(MemoryStore(self.clock))

    async def register(self, directory: str, *, lease_id: int = 0) -> None:
        registration = NodeRegistration(1, 5, directory, "there:1")
        await self.store.store.transact([], [Put(keys.node(1), encode(registration), lease_id)])

    def wait(self, directory: str) -> "asyncio.Task[None]":
        return asyncio.create_task(
            wait_for_node_id(self.store, 1, directory, clock=self.clock, settings=SETTINGS), name="wait"
        )


async def test_an_id_that_nobody_has_is_free() -> None:
    scene = Scene()
    await scene.wait("")


async def test_an_earlier_life_on_the_same_directory_is_no_conflict() -> None:
    scene = Scene()
    await scene.register("mine")
    await scene.wait("mine")


@pytest.mark.parametrize("directory", ["", "mine"])
async def test_another_directory_is_waited_for_as_long_as_it_may_be_a_dead_ones(directory: str) -> None:
    scene = Scene()
    await scene.register("theirs")
    waiting = scene.wait(directory)
    await scene.clock.advance_ms(10_000)
    assert not waiting.done()
    await scene.store.store.transact([], [Delete(keys.node(1))])
    await scene.clock.advance_ms(5_000)
    await waiting


async def test_one_that_lives_is_told() -> None:
    scene = Scene()
    await scene.register("theirs")
    waiting = scene.wait("mine")
    await scene.clock.advance_ms(20_000)
    with pytest.raises(DirectoryConflictError, match=r"node 1 at there:1 .* theirs, and lives: give this node another"):
        await waiting


async def test_a_store_that_is_away_is_waited_for_and_does_not_count_against_the_other() -> None:
    scene = Scene()
    await scene.register("theirs")
    scene.store.before["get"] = [CoordinationUnavailableError("away")] * 10
    waiting = scene.wait("mine")
    await scene.clock.advance_ms(40_000)
    assert not scene.store.before["get"], "asked again and again"
    assert not waiting.done()
    await settle()
    await scene.clock.advance_ms(20_000)
    with pytest.raises(DirectoryConflictError):
        await waiting


@pytest.mark.parametrize("away_from_ms", [3_000, 14_000])
async def test_a_time_without_the_store_tells_nothing_of_the_other(away_from_ms: int) -> None:
    """No lease ends while etcd has no leader, and the next leader gives each of them its whole time anew."""
    scene = Scene()
    await scene.register("theirs")
    waiting = scene.wait("mine")
    await scene.clock.advance_ms(away_from_ms)
    scene.store.before["get"] = [CoordinationUnavailableError("away")] * 5
    while scene.store.before["get"]:
        await scene.clock.advance_ms(100)
    await scene.clock.advance_ms(12_000)
    assert not waiting.done()
    await scene.store.store.transact([], [Delete(keys.node(1))])
    await scene.clock.advance_ms(1_000)
    await waiting


async def test_the_time_that_a_question_takes_tells_nothing_of_the_other() -> None:
    """The store may have had no leader for as long."""
    scene = Scene()
    await scene.register("theirs")
    read = scene.store.store.get

    async def read_slowly(key: str) -> KeyValue | None:
        if 5_000 <= scene.clock.monotonic_ms() < 10_000:
            await scene.clock.sleep(12_000)
        return await read(key)

    scene.store.store.get = read_slowly  # type: ignore[method-assign]
    waiting = scene.wait("mine")
    await scene.clock.advance_ms(20_000)
    assert not waiting.done()
    await scene.clock.advance_ms(SETTINGS.directory_conflict_wait_ms)
    with pytest.raises(DirectoryConflictError):
        await waiting


async def test_each_lease_is_waited_for_by_itself() -> None:
    """A write of an earlier life may come late, and put one dead registration in the place of another."""
    scene = Scene()
    first, second = await scene.store.grant_lease(12_000), await scene.store.grant_lease(24_000)
    await scene.register("theirs", lease_id=first.lease_id)
    waiting = scene.wait("mine")
    await scene.clock.advance_ms(10_000)
    await scene.register("theirs", lease_id=second.lease_id)
    await scene.clock.advance_ms(13_000)
    assert not waiting.done()
    await scene.clock.advance_ms(2_000)
    await waiting
