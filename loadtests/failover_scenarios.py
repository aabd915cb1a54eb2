"""Nodes that die and nodes that are stopped, and how long the partitions that they led wait."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from time import perf_counter

from app.local_cluster.cluster_process import ClusterProcess
from loadtests.bench_server import connected, create_topic
from loadtests.cluster_plan import FailoverPlan
from loadtests.cluster_under_test import ClusterUnderTest, controller_of, partitions_of
from loadtests.failover_probes import Place, Probe, write_once, write_to, write_until
from loadtests.failover_results import Event, EventKind, counted
from loadtests.load import LoadFailedError
from loadtests.steady_load import SteadyLoad

IN_SYNC_POLL_S = 0.1
BALANCE_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class FailoverBench:
    """`report` is called with each event as soon as it is over."""

    cluster: ClusterUnderTest
    plan: FailoverPlan
    report: Callable[[Event], None]

    @property
    def topics(self) -> dict[str, int]:
        """Names and how many partitions each has."""
        each, more = divmod(self.plan.partitions, self.plan.topics)
        return {f"failover-{number}": each + (number < more) for number in range(self.plan.topics)}

    @property
    def places(self) -> list[Place]:
        return [Place(topic, number) for topic, count in self.topics.items() for number in range(count)]


async def prepare(bench: FailoverBench) -> float:
    """Create the topics; the seconds until each partition has acknowledged a write. Raises LoadFailedError."""
    began_s = perf_counter()
    for topic, partitions in bench.topics.items():
        await create_topic(bench.cluster.gateway, topic, partitions)
    await _write_everywhere(bench)
    return perf_counter() - began_s


async def run_events(bench: FailoverBench) -> None:
    """Kills first, then planned stops. The first to be killed is not the controller, the second is, then it is the node
    that leads most. Raises LoadFailedError."""
    plan = bench.plan
    for number in range(plan.kills + plan.stops):
        await asyncio.sleep(plan.calm_s)
        if number < min(plan.kills, plan.balanced_kills):
            await _balance(bench)
        led, controller = await _led(bench), await controller_of(bench.cluster.gateway)
        node = _chosen(number, led, controller)
        kind = EventKind.KILL if number < plan.kills else EventKind.STOP
        bench.report(await _event(bench, kind, bench.cluster.node(node), led[node], was_controller=node == controller))


def _chosen(number: int, led: dict[int, list[Place]], controller: int | None) -> int:
    if number == 1 and controller is not None and controller in led:
        return controller
    spared = controller if number == 0 and len(led) > 1 else None
    return max((each for each in led if each != spared), key=lambda each: len(led[each]))


async def _balance(bench: FailoverBench) -> None:
    """Until each node leads its share. Raises LoadFailedError."""
    plan, deadline_s = bench.plan, perf_counter() + bench.plan.balance_timeout_s
    share = ceil(plan.partitions / plan.nodes)
    while (most := max(map(len, (await _led(bench)).values()))) > share:
        if perf_counter() > deadline_s:
            raise LoadFailedError(f"a node still leads {most:,} partitions after {plan.balance_timeout_s:.0f} s")
        await asyncio.sleep(BALANCE_POLL_S)


async def _event(
    bench: FailoverBench, kind: EventKind, member: ClusterProcess, led: Sequence[Place], *, was_controller: bool
) -> Event:
    plan, gateways = bench.plan, bench.cluster.gateways
    with ExitStack() as closing:
        probes = [
            Probe(gateways[number % len(gateways)], place, retry_pause_s=plan.retry_pause_s)
            for number, place in enumerate(led[: plan.connections_max])
        ]
        for probe in probes:
            closing.callback(probe.close)
        await write_once(probes, timeout_s=plan.next_write_timeout_s)  # everybody is connected, and all is well
        async with connected(bench.cluster.gateway, plan.steady_connections) as connections:
            requests = [write_to(place) for place in bench.places]
            async with SteadyLoad(connections, requests, rate=plan.steady_rate) as steady:
                ended = await (_kill if kind is EventKind.KILL else _stop)(bench, member, probes)
                ready_s, in_sync_s = await _start(bench, member)
    return Event(
        kind=kind,
        node=member.number,
        was_controller=was_controller,
        partitions_led=len(led),
        waits_s=tuple(sorted(ended.waits_s)),
        failures=counted(ended.failures),
        ready_s=ready_s,
        in_sync_s=in_sync_s,
        away_s=ended.away_s,
        steady_answers=steady.answers,
        steady_errors=steady.errors,
        steady_p99_ms=steady.p99_ms,
    )


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the end of a process looked to those who wrote."""

    waits_s: list[float]
    failures: list[str]
    away_s: float


async def _kill(bench: FailoverBench, member: ClusterProcess, probes: Sequence[Probe]) -> _Ended:
    """The signal goes out right before the writes: from here on nothing is waited for but their answers."""
    killed_s = perf_counter()
    os.kill(member.process.pid, signal.SIGKILL)
    writing = asyncio.ensure_future(write_once(probes, timeout_s=bench.plan.next_write_timeout_s))
    await bench.cluster.cluster.kill_member(member)
    away_s = perf_counter() - killed_s
    writes = await writing
    waits_s = [written.acknowledged_s - killed_s for written in writes]
    return _Ended(waits_s, [failure for written in writes for failure in written.failures], away_s)


async def _stop(bench: FailoverBench, member: ClusterProcess, probes: Sequence[Probe]) -> _Ended:
    plan, is_over = bench.plan, asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(
            write_until(probes, is_over.is_set, pause_s=plan.stop_probe_pause_s, timeout_s=plan.next_write_timeout_s)
        )
        stopped_s = perf_counter()
        await member.process.stop()
        away_s = perf_counter() - stopped_s
        bench.cluster.cluster.note_end(member, 0)
        is_over.set()
    every = writing.result()
    waits_s = [max(written.acknowledged_s - written.sent_s for written in writes) for writes in every]
    return _Ended(waits_s, [failure for writes in every for written in writes for failure in written.failures], away_s)


async def _start(bench: FailoverBench, member: ClusterProcess) -> tuple[float, float]:
    """Seconds until it was ready, and until everything was in sync. Raises LoadFailedError."""
    began_s = perf_counter()
    await bench.cluster.cluster.start_member(member)
    ready_s = perf_counter() - began_s
    while perf_counter() < began_s + bench.plan.in_sync_timeout_s:
        if await _lacking(bench) == 0:
            return ready_s, perf_counter() - began_s
        await asyncio.sleep(IN_SYNC_POLL_S)
    missing = await _lacking(bench)
    raise LoadFailedError(f"{missing:,} partitions were not in sync {bench.plan.in_sync_timeout_s:.0f} s after a start")


async def _lacking(bench: FailoverBench) -> int:
    """How many partitions are not led, or have a replica that is not in sync."""
    states = [each for topic in bench.topics for each in await partitions_of(bench.cluster.gateway, topic)]
    return sum(not state.is_in_sync for state in states)


async def _led(bench: FailoverBench) -> dict[int, list[Place]]:
    """By node."""
    led: dict[int, list[Place]] = {}
    for topic in bench.topics:
        for state in await partitions_of(bench.cluster.gateway, topic):
            if state.leader is None:
                raise LoadFailedError(f"partition {state.partition} of {topic} has no leader")
            led.setdefault(state.leader, []).append(Place(topic, state.partition))
    return led


async def _write_everywhere(bench: FailoverBench) -> None:
    """So many partitions at a time as may be probed."""
    plan, places = bench.plan, bench.places
    for first in range(0, len(places), plan.connections_max):
        probes = [
            Probe(bench.cluster.gateway, place, retry_pause_s=plan.retry_pause_s)
            for place in places[first : first + plan.connections_max]
        ]
        try:
            await write_once(probes, timeout_s=plan.first_write_timeout_s)
        finally:
            for probe in probes:
                probe.close()
