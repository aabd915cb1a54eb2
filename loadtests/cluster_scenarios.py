"""What is measured of a cluster, beside the embedded server in the same round."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import msgspec

from examples.server_process import ServerProcess
from loadtests.bench_server import ask_once, connected
from loadtests.cluster_plan import ClusterPlan
from loadtests.cluster_results import ClusterResult
from loadtests.cluster_under_test import ClusterUnderTest, partitions_of
from loadtests.http_connection import make_request
from loadtests.load import LoadFailedError, LoadResult, closed_loop, open_loop
from loadtests.measurement import Measurement
from loadtests.payloads import batch_bodies, keyless_bodies, posts, single_bodies
from loadtests.process_costs import Costs, measured_by_role
from loadtests.reading import drain

EMBEDDED = "embedded server"
GATEWAY, NODES, LEADER, FOLLOWERS, ETCD = "gateway", "nodes", "leader node", "follower nodes", "etcd"
OPEN_LOOP_P99_TARGET_MS = 10.0
BATCHES_TOPIC = "batches-all"
ACKS = ("all", "1")
FILL_SECONDS_MAX = 40.0

Roles = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class ClusterBench:
    """What the scenarios have in common. `report` is called with each result as soon as it is there."""

    cluster: ClusterUnderTest
    embedded: ServerProcess
    plan: ClusterPlan
    report: Callable[[ClusterResult], None]

    def spread_roles(self) -> Roles:
        """Of topics whose leaders are spread over all nodes: each node leads and follows."""
        return {**self._others(), NODES: [member.process.pid for member in self.cluster.nodes]}

    def roles_around(self, leader: int) -> Roles:
        """Of a topic that one node leads and all others follow."""
        pids = {member.number: member.process.pid for member in self.cluster.nodes}
        return {**self._others(), LEADER: [pids.pop(leader)], FOLLOWERS: list(pids.values())}

    def _others(self) -> Roles:
        return {GATEWAY: [each.pid for each in self.cluster.gateways], ETCD: self.cluster.etcd_pids}


@dataclass(slots=True)
class _Side:
    """One of the two that are compared."""

    server: ServerProcess
    roles: Roles
    measurement: Measurement
    costs: Costs = field(default_factory=Costs)


# --- scenarios -------------------------------------------------------------------------------------------------------


async def open_loops(bench: ClusterBench) -> None:
    """Latencies at fixed rates, counted from when each request was due. Messages with keys go to all partitions, so
    they take a batch for each of them at a time; those without share one."""
    plan = bench.plan
    await _create_topic(bench, "steady", plan.partitions)
    kinds = {"without keys": posts(keyless_bodies("steady")), "with keys": posts(single_bodies("steady"))}
    for (kind, requests), rate in product(kinds.items(), plan.open_loop_rates):
        name = f"open loop, {rate:,} single sends/s {kind}: p99"
        ours, embedded = _sides(bench, name, "ms", bench.spread_roles())
        await _take_turns(bench, ours, embedded, partial(_keep_to, plan=plan, requests=requests, rate=rate))
        target = f"< {OPEN_LOOP_P99_TARGET_MS:g} ms"
        _report(bench, ours, embedded, target_text=target, p99_max_ms=OPEN_LOOP_P99_TARGET_MS)


async def singles(bench: ClusterBench) -> None:
    """The highest rate of single sends."""
    plan = bench.plan
    for acks in ACKS:
        topic = f"singles-{acks}"
        await _create_topic(bench, topic, plan.partitions)
        ours, embedded = _sides(bench, f"single sends, acks={acks}", "messages/s", bench.spread_roles())
        await _take_turns(bench, ours, embedded, _single_sends(plan, topic, acks))
        _report(bench, ours, embedded)


async def batches(bench: ClusterBench) -> None:
    """The highest rate of messages in batches."""
    plan = bench.plan
    for acks in ACKS:
        topic = f"batches-{acks}"
        await _create_topic(bench, topic, plan.partitions)
        name = f"batches of {plan.batch_messages:,} × 100 B, acks={acks}"
        ours, embedded = _sides(bench, name, "messages/s", bench.spread_roles())
        await _take_turns(bench, ours, embedded, _batch_sends(plan, topic, acks))
        _report(bench, ours, embedded)


async def receives(bench: ClusterBench) -> None:
    """Receive and acknowledge what is stored, over and over."""
    plan = bench.plan
    await _fill(bench)
    name = f"received and acknowledged in batches of {plan.receive_max:,} (latency: receive)"
    ours, embedded = _sides(bench, name, "messages/s", bench.spread_roles())
    rounds = iter(range(plan.rounds * 2))

    async def drain_once(side: _Side) -> None:
        await _drain(side, plan=plan, group=f"bench-{next(rounds)}")  # one of its own starts at the earliest message

    await _take_turns(bench, ours, embedded, drain_once)
    _report(bench, ours, embedded)


async def roles(bench: ClusterBench) -> None:
    """Sends to one partition, so that one node does nothing but lead it, and the others nothing but follow."""
    plan = bench.plan
    await _create_topic(bench, "one", 1)
    leader = await _leader_of(bench, "one")
    kinds = {
        "single sends to one partition": _single_sends(plan, "one", "all"),
        f"batches of {plan.batch_messages:,} × 100 B to one partition": _batch_sends(plan, "one", "all"),
    }
    for name, send in kinds.items():
        ours, _ = _sides(bench, name, "messages/s", bench.roles_around(leader))
        for _ in range(plan.rounds):
            await send(ours)
        bench.report(ClusterResult(result=ours.measurement.result(), costs=ours.costs.by_role()))


# --- rounds ----------------------------------------------------------------------------------------------------------


def _sides(bench: ClusterBench, name: str, unit: str, roles_of_cluster: Roles) -> tuple[_Side, _Side]:
    embedded_roles = {EMBEDDED: [bench.embedded.pid]}
    return (
        _Side(bench.cluster.gateway, roles_of_cluster, Measurement(name, unit)),
        _Side(bench.embedded, embedded_roles, Measurement(EMBEDDED, unit)),
    )


async def _take_turns(
    bench: ClusterBench, ours: _Side, embedded: _Side, measure: Callable[[_Side], Awaitable[None]]
) -> None:
    for _ in range(bench.plan.rounds):
        await measure(embedded)
        await measure(ours)


def _report(
    bench: ClusterBench, ours: _Side, embedded: _Side, *, target_text: str = "", p99_max_ms: float | None = None
) -> None:
    result = ours.measurement.result(limits=(embedded.measurement.limit(),), target_text=target_text)
    if p99_max_ms is not None:
        result = result.judged(result.value < p99_max_ms)
    [cost, *_] = embedded.costs.by_role()
    bench.report(ClusterResult(result=result, costs=ours.costs.by_role(), embedded_cpu_us=cost.cpu_us_per_message))


async def _keep_to(side: _Side, *, plan: ClusterPlan, requests: Sequence[bytes], rate: int) -> None:
    """A round of an open loop. The load generator does not spin: the cluster's processes need both processors."""
    async with connected(side.server, plan.open_loop_connections) as connections:
        with measured_by_role(side.roles, side.costs) as this_round:
            load = await open_loop(
                connections,
                requests,
                rate=rate,
                seconds=plan.open_loop_seconds,
                warm_up_s=plan.warm_up_s,
                is_spinning=False,
            )
            this_round.rate = load.rate
    side.measurement.add(load.latency_ms(99), load)


def _single_sends(plan: ClusterPlan, topic: str, acks: str) -> Callable[[_Side], Awaitable[None]]:
    return partial(
        _saturate,
        plan=plan,
        requests=posts(single_bodies(topic), _target(acks)),
        connections=plan.single_connections,
        answers_max=plan.single_answers_max,
        messages=1,
    )


def _batch_sends(plan: ClusterPlan, topic: str, acks: str) -> Callable[[_Side], Awaitable[None]]:
    return partial(
        _saturate,
        plan=plan,
        requests=posts(batch_bodies(topic, plan.batch_messages), _target(acks)),
        connections=plan.batch_connections,
        answers_max=plan.batch_answers_max,
        messages=plan.batch_messages,
    )


def _target(acks: str) -> str:
    return "/messages" if acks == "all" else f"/messages?acks={acks}"


async def _saturate(
    side: _Side, *, plan: ClusterPlan, requests: Sequence[bytes], connections: int, answers_max: int, messages: int
) -> None:
    """A round of a closed loop; each request has so many messages."""
    async with connected(side.server, connections) as opened:
        with measured_by_role(side.roles, side.costs) as this_round:
            load = await closed_loop(
                opened, requests, seconds=plan.seconds, warm_up_s=plan.warm_up_s, answers_max=answers_max
            )
            this_round.rate = load.rate * messages
    side.measurement.add(this_round.rate, load)


async def _drain(side: _Side, *, plan: ClusterPlan, group: str) -> None:
    """A round. Its warm-up takes at most a quarter of what is stored and the rest at most half, so that the topic's
    end, with its waiting, is never reached."""
    target = f"/messages?queue={BATCHES_TOPIC}&group={group}&max={plan.receive_max}&maxBytes=16777216&waitSeconds=1"
    async with connected(side.server, plan.receive_connections) as connections:
        read = partial(drain, connections, receive_target=target, ack_target="/ack")
        await read(messages=plan.stored_messages // 4, seconds=plan.warm_up_s)
        with measured_by_role(side.roles, side.costs) as this_round:
            drained = await read(messages=plan.stored_messages // 2, seconds=plan.seconds)
            this_round.rate = drained.rate
    load = LoadResult(drained.messages, 0, drained.seconds, sorted(drained.receive_latencies))
    side.measurement.add(drained.rate, load)


# --- preparations ----------------------------------------------------------------------------------------------------


async def _create_topic(bench: ClusterBench, name: str, partitions: int) -> None:
    """On both; returns when each partition has taken a message. Raises LoadFailedError."""
    body = msgspec.json.encode({"partitions": partitions})
    for server in (bench.cluster.gateway, bench.embedded):
        await ask_once(server, make_request("PUT", f"/topics/{name}", body))
        for number in range(partitions):
            message = msgspec.json.encode({"queue": name, "partition": number, "body": "first"})
            await ask_once(server, make_request("POST", "/messages", message))


async def _leader_of(bench: ClusterBench, topic: str) -> int:
    [only] = await partitions_of(bench.cluster.gateway, topic)
    if only.leader is None:
        raise LoadFailedError(f"nobody leads {topic}")
    return only.leader


async def _fill(bench: ClusterBench) -> None:
    """So that there is enough to receive, whichever scenarios ran before. Not measured. Raises LoadFailedError."""
    plan = bench.plan
    await _create_topic(bench, BATCHES_TOPIC, plan.partitions)
    requests = posts(batch_bodies(BATCHES_TOPIC, plan.batch_messages))
    wanted = plan.stored_messages // plan.batch_messages
    for server in (bench.embedded, bench.cluster.gateway):
        async with connected(server, plan.batch_connections) as connections:
            load = await closed_loop(connections, requests, seconds=FILL_SECONDS_MAX, warm_up_s=0, answers_max=wanted)
        if load.errors or load.answers < wanted:
            raise LoadFailedError(
                f"only {load.answers:,} batches were stored before reading them, {load.errors} failed"
            )
