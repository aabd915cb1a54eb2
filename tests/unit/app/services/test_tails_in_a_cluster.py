"""A tail of a topic of real nodes, in virtual time: its leader dies while it is read, and watchers are told of that."""

import asyncio
import json
from contextlib import suppress

from app.auth.principal import ANYONE
from app.calls.events import EventsCommand
from app.calls.records import FirstOffset
from app.calls.send import Produce
from app.calls.tail import TailCommand, read_cursor
from app.events.thing import ThingKind
from app.services.registry import Services
from cluster.errors import ServerError
from tests.support.cluster import Cluster, ClusterBuilder

NODES = 3


class Listener:
    """Keeps what was said, event by event."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, object]]] = []

    async def say(self, piece: bytes) -> None:
        fields = dict(line.split(": ", 1) for line in piece.decode().splitlines() if ": " in line)
        if fields:
            self.events.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))

    def bodies(self) -> list[object]:
        return [data["body"] for name, _, data in self.events if name == "message"]

    def last_id(self) -> str:
        return next(event_id for _, event_id, _ in reversed(self.events) if event_id)


async def send(services: Services, bodies: range) -> None:
    """Each until it is stored, also while nobody leads."""
    for number in bodies:
        while True:
            with suppress(ServerError):
                result = await services.send.send(Produce("orders", [(str(number).encode(), str(number))]), ANYONE)
                if not result.faults:
                    break


async def until(cluster: Cluster, listener: Listener, count: int) -> None:
    await cluster.until(lambda: len(listener.bodies()) >= count)


def test_a_tail_survives_its_leader_and_goes_on_elsewhere() -> None:
    async def main(cluster: Cluster) -> None:
        first, second = cluster.gateways
        services, others = Services(first.gateway), Services(second.gateway)
        topic = await cluster.topic("orders", partitions=2)
        await cluster.in_sync(topic)
        listener, watcher = Listener(), Listener()
        tail = await services.tails.begin(TailCommand(topic="orders", first=FirstOffset.EARLIEST), ANYONE)
        command = EventsCommand(frozenset({ThingKind.PARTITIONS, ThingKind.NODES}), frozenset(), frozenset(), "")
        loop = asyncio.get_running_loop()
        tasks = [
            loop.create_task(tail.run(listener.say)),
            loop.create_task(services.events.watch(command, ANYONE, watcher.say)),
        ]
        await send(services, range(5))
        await until(cluster, listener, 5)
        await cluster.stop(cluster.state(topic).leader)
        await send(services, range(5, 10))
        await until(cluster, listener, 10)
        assert sorted(map(str, listener.bodies())) == sorted(map(str, range(10)))
        await cluster.until(lambda: any("partitions" in data for _, _, data in watcher.events))
        cursor = read_cursor(listener.last_id(), field_name="cursor")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        later = Listener()
        again = await others.tails.begin(TailCommand(topic="orders", cursor=cursor), ANYONE)
        task = loop.create_task(again.run(later.say))
        await send(others, range(10, 13))
        await until(cluster, later, 3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert sorted(map(str, later.bodies())) == ["10", "11", "12"]

    ClusterBuilder().nodes(NODES).gateway().gateway().run(main)
