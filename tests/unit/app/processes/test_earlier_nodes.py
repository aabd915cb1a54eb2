from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from app.processes.earlier_nodes import name_earlier_nodes
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import Group, GroupMode, NodeRegistration
from cluster.ports.coordination import Delete, Operation, Put
from cluster.stores.memory_store import MemoryStore
from tests.support.manual_clock import ManualClock

OWN = 4


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self.metadata = MetadataView(self.store, self.clock)

    async def change(self, operation: Operation) -> None:
        await self.metadata.wait_for((await self.store.transact([], [operation])).revision)

    async def register(self, node_id: int, *, protocol: int, incarnation: int = 1) -> None:
        node = NodeRegistration(node_id, incarnation, "d", "there:1", newest_protocol=protocol)
        await self.change(Put(keys.node(node_id), encode(node)))


@contextmanager
def told() -> Iterator[list[Any]]:
    found: list[Any] = []
    with structlog.testing.capture_logs() as logs:
        yield found
    found += [(entry["event"], entry["log_level"], entry["node"]) for entry in logs if "node" in entry]


async def test_each_thing_is_said_once_in_a_nodes_life() -> None:
    world = World()
    await world.metadata.start()
    await world.register(1, protocol=OWN)
    await world.register(2, protocol=0)
    with told() as at_first:
        stop = name_earlier_nodes(world.metadata, own_protocol=OWN)
        await world.register(3, protocol=OWN)
    assert at_first == [("node_of_earlier_version", "warning", 2)]
    with told() as with_a_group:
        ordered = Group("1123456789abc", "g", 5, GroupMode.KEY_ORDERED)
        await world.change(Put(keys.group("g"), encode(ordered)))
        await world.register(3, protocol=OWN, incarnation=2)
    assert with_a_group == [("node_too_old", "error", 2)]
    with told() as again:
        await world.change(Delete(keys.node(2)))
        await world.register(2, protocol=3, incarnation=2)
        await world.register(2, protocol=OWN, incarnation=3)
    assert again == [("node_too_old", "error", 2)]
    stop()
    with told() as nothing:
        await world.register(4, protocol=1)
    assert nothing == []
    await world.metadata.close()
    await world.store.close()
