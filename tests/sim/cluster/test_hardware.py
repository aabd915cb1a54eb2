"""Whoever keeps the machines up does as a supervisor does, and complains about what it does not know."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Delete, Put
from tests.sim.cluster.coordination import NO_FAULTS, Coordination
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.links import Links
from tests.sim.cluster.machines import NodeMachine, Surrounding
from tests.sim.cluster.network import Network
from tests.sim.cluster.stage import calm_options
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.history import History
from tests.sim.loop import SimLoop, simulate


class Rig:
    """One node, no gateway."""

    def __init__(self, loop: SimLoop) -> None:
        options = calm_options(1, nodes=1, gateways=0, replication_factor=1, min_insync_replicas=1)
        self.coverage: Counter[str] = Counter()
        self.violations: list[str] = []
        links = Links(random.Random(1), options.link)
        network = Network(loop, links, random.Random(2), self.coverage, cut_probability=0.0)
        self.coordination = Coordination(loop, links, random.Random(3), self.coverage, NO_FAULTS)
        store = self.coordination.store
        around = Surrounding(loop, options, network, self.coordination, self.coverage)
        observer = StoreObserver(store, History(), self.coverage, lambda: loop.time() * 1000)
        self.hardware = Hardware(around, observer, self.violations)
        self.node = self.hardware.nodes[1]


def run(main: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
    async def with_rig(loop: SimLoop) -> None:
        await main(Rig(loop))

    simulate(1, with_rig)


def test_a_node_whose_id_was_taken_is_started_again() -> None:
    async def main(rig: Rig) -> None:
        taken = NodeRegistration(1, 0, "another directory", "elsewhere:1")
        await rig.coordination.store.transact([], [Put(keys.node(1), encode(taken))])
        rig.hardware.keep_up()
        await asyncio.sleep(30)
        assert rig.coverage["start DirectoryConflictError"] > 1
        await rig.coordination.store.transact([], [Delete(keys.node(1))])
        await asyncio.sleep(5)
        assert rig.node.node is not None
        assert rig.violations == []
        await rig.hardware.rest()

    run(main)


def test_the_latest_of_all_clocks_may_be_that_of_a_machine_that_was_taken_away() -> None:
    async def main(rig: Rig) -> None:
        hardware = rig.hardware
        ahead, behind = hardware.add_node(), hardware.add_node()
        ahead.clock.jump(600_000)
        behind.clock.jump(-600_000)
        assert hardware.latest_wall_ms() == ahead.clock.wall_ms()
        await hardware.take_away(behind)
        await hardware.take_away(ahead)
        went_at_ms = ahead.clock.wall_ms()
        assert hardware.latest_wall_ms() == went_at_ms
        await asyncio.sleep(10)
        assert hardware.latest_wall_ms() == went_at_ms, "it has not gone on since"
        rig.node.clock.jump(700_000)
        assert hardware.latest_wall_ms() == rig.node.clock.wall_ms()
        await hardware.rest()

    run(main)


def test_a_start_that_fails_as_nobody_expects_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(machine: NodeMachine) -> None:
        raise ZeroDivisionError(machine.name)

    monkeypatch.setattr(NodeMachine, "start", fail)

    async def main(rig: Rig) -> None:
        rig.hardware.keep_up()
        await asyncio.sleep(1)
        assert rig.violations == ["nobody starts node-1 any more: ZeroDivisionError('node-1')"]
        await rig.hardware.rest()

    run(main)
