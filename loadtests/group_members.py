"""What coordinating exclusive groups costs: joining, another assignment, and being idle.

    python -m loadtests.group_members [--members 1000] [--groups 10000] [--topics 1000] [--idle-s 30]

One process with an empty directory on a real disk: the node, its gateway, and the members themselves, which call the
gateway's service as the handlers of HTTP do. So the figures are those of the coordinator, its log and the calls to it,
without HTTP's.
"""

import asyncio
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import structlog
import typer

from app.calls.members import Subscription
from app.configuration.server_settings import Settings
from app.processes.embedded import EmbeddedServer, start_embedded
from app.processes.embedded_store import open_store
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.services.membership import GroupMembership
from app.services.registry import Services
from cluster.model.values import Group, GroupMode, GroupSettings, Topic, TopicConfig
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.node.partition.node_settings import NodeSettings
from storage.rpc.membership_messages import HeartbeatResponse

WAIT_MS = 20_000
AT_ONCE = 500
GROWTH_MEMBERS = 10


@dataclass(slots=True)
class Cost:
    """Of one step, by the clock and by the processor."""

    elapsed_s: float = 0.0
    cpu_s: float = 0.0


@contextmanager
def measured(what: str) -> Iterator[Cost]:
    cost, begun_s, cpu_s = Cost(), time.monotonic(), time.process_time()
    yield cost
    cost.elapsed_s, cost.cpu_s = time.monotonic() - begun_s, time.process_time() - cpu_s
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{what}: {cost.elapsed_s:.2f} s, {cost.cpu_s:.2f} s of a core, at most {memory_mib} MiB so far", flush=True)


async def in_waves(calls: list[Callable[[], Awaitable[object]]]) -> None:
    for start in range(0, len(calls), AT_ONCE):
        await asyncio.gather(*(call() for call in calls[start : start + AT_ONCE]))


class Measurement:
    def __init__(self, embedded: EmbeddedServer) -> None:
        self._embedded = embedded
        self._membership: GroupMembership = Services(embedded.gateway).membership

    async def topic(self, name: str, partitions: int) -> Topic:
        gateway = self._embedded.gateway
        topic = await gateway.topics.get_or_create(
            name, partitions=partitions, config=TopicConfig(), replication_factor=1
        )
        while len(gateway.metadata.partitions(topic.id)) < partitions:
            await asyncio.sleep(0.05)
        return topic

    async def group(self, name: str) -> Group:
        return await self._embedded.gateway.groups.get_or_create(
            name, mode=GroupMode.EXCLUSIVE, settings=GroupSettings()
        )

    async def joined(self, group: Group, names: list[str], subscription: Subscription) -> dict[str, HeartbeatResponse]:
        """All at once, and what each has when all have joined."""
        await asyncio.gather(*(self._membership.heartbeat(group, name, subscription) for name in names))
        answers = await asyncio.gather(*(self._membership.heartbeat(group, name, subscription) for name in names))
        return dict(zip(names, answers, strict=True))

    async def many_members(self, members: int, idle_s: float) -> None:
        topic = await self.topic("one", min(1_024, members))
        group, subscription = await self.group("large"), Subscription((topic.id,))
        names = [f"member-{number}" for number in range(members)]
        await self._membership.heartbeat(group, names[0], subscription)  # makes the topic __groups
        with measured(f"{members} members join one group of {topic.partitions} partitions at once"):
            known = await self.joined(group, names, subscription)
        with measured("one more joins"):
            await self._membership.heartbeat(group, "one-more", subscription)
        with measured("it leaves"):
            await self._membership.leave(group, "one-more")
        stays = [asyncio.create_task(self._stay(group, name, subscription, known[name])) for name in names]
        await asyncio.sleep(2)
        with measured(f"{members} idle members for {idle_s:.0f} s") as cost:
            await asyncio.sleep(idle_s)
        print(f"  {100 * cost.cpu_s / cost.elapsed_s:.2f} % of a core")
        with measured("one of them goes while all wait"):
            await self._membership.leave(group, names[0])
        await _end(stays)

    async def _stay(self, group: Group, name: str, subscription: Subscription, known: HeartbeatResponse) -> None:
        while True:
            known = await self._membership.heartbeat(
                group, name, subscription, known_epoch=known.member_epoch, wait_ms=WAIT_MS
            )

    async def many_groups(self, groups: int, idle_s: float) -> None:
        topic = await self.topic("shared-by-all", 8)
        subscription = Subscription((topic.id,))
        made: list[Group] = []

        async def make(number: int) -> None:
            made.append(await self.group(f"group-{number}"))

        with measured(f"{groups} groups are made"):
            await in_waves([lambda number=number: make(number) for number in range(groups)])  # type: ignore[misc]
        known: dict[str, HeartbeatResponse] = {}

        async def join(group: Group) -> None:
            known[group.id] = await self._membership.heartbeat(group, "only", subscription)

        with measured("each has a member"):
            await in_waves([lambda group=group: join(group) for group in made])  # type: ignore[misc]
        stays = [asyncio.create_task(self._stay(group, "only", subscription, known[group.id])) for group in made]
        await asyncio.sleep(5)
        with measured(f"{groups} idle groups of one member for {idle_s:.0f} s") as cost:
            await asyncio.sleep(idle_s)
        print(f"  {100 * cost.cpu_s / cost.elapsed_s:.2f} % of a core")
        with measured("the topic gets a partition more, and every group another assignment"):
            await self._embedded.gateway.topics.update(topic.name, partitions=9)
            last = made[-1]
            while len((await self._membership.heartbeat(last, "only", subscription)).assigned) < 9:
                await asyncio.sleep(0.01)
        await _end(stays)

    async def many_topics(self, topics: int) -> None:
        with measured(f"{topics} topics are made"):
            ids = tuple([(await self.topic(f"topic-{number}", 8)).id for number in range(topics)])
        group, subscription = await self.group("wide"), Subscription(ids)
        with measured(f"a member of {topics} topics joins"):
            await self._membership.heartbeat(group, "member-0", subscription)
        names = [f"member-{number}" for number in range(GROWTH_MEMBERS)]
        with measured(f"{GROWTH_MEMBERS} members of {topics} topics"):
            await self.joined(group, names, subscription)
        with measured("one of them leaves"):
            await self._membership.leave(group, names[0])


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def measure(directory: Path, members: int, groups: int, topics: int, idle_s: float) -> None:
    disk = RealDisk(directory)
    io, blocking = ThreadExecutor(threads=2, name="io"), ThreadExecutor(threads=1, name="sqlite")
    clock, node_settings = SteadyClock(), NodeSettings()
    ballast_bytes = node_settings.log_store.ballast_bytes
    store = await open_store(str(directory), disk, io=io, blocking=blocking, clock=clock, ballast_bytes=ballast_bytes)
    embedded = await start_embedded(
        store=store,
        disk=disk,
        io=io,
        clock=clock,
        entropy=SystemEntropy(),
        settings=Settings(),
        node_settings=node_settings,
    )
    measurement = Measurement(embedded)
    if members:
        await measurement.many_members(members, idle_s)
    if topics:
        await measurement.many_topics(topics)
    if groups:
        await measurement.many_groups(groups, idle_s)
    await embedded.close()
    io.close()
    blocking.close()


def main(
    members: Annotated[int, typer.Option(min=0)] = 1_000,
    groups: Annotated[int, typer.Option(min=0)] = 10_000,
    topics: Annotated[int, typer.Option(min=0)] = 1_000,
    idle_s: Annotated[float, typer.Option("--idle-s", min=1)] = 30.0,
) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    collect_rarely()  # as a server does
    pass_over_what_is_there()
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(measure(Path(directory), members, groups, topics, idle_s))


if __name__ == "__main__":
    typer.run(main)
