import asyncio

import pytest

from cluster import keys
from cluster.codec import encode
from cluster.coordination import CoordinationUnavailableError, Delete, Put
from cluster.memory_store import MemoryStore
from cluster.model import NodeRegistration
from cluster.node_id import wait_for_node_id
from cluster.registration import DirectoryConflictError, RegistrationSettings
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock, settle

SETTINGS = RegistrationSettings(directory_conflict_wait_ms=15_000)


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = FlakyStore(MemoryStore(self.clock))

    async def register(self, directory: str) -> None:
        await self.store.store.transact([], [Put(keys.node(1), encode(NodeRegistration(1, 5, directory, "there:1")))])

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
