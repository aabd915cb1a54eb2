"""Every scenario of the cluster's benchmarks once, much too short for its numbers to mean anything: what it measures,
beside what, and whose costs it counts."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from examples.server_process import ServerProcess
from loadtests import cluster_scenarios
from loadtests.bench_server import acklog_server
from loadtests.cluster_bench import UNPINNED
from loadtests.cluster_plan import ClusterPlan, FailoverPlan
from loadtests.cluster_results import ClusterResult
from loadtests.cluster_scenarios import EMBEDDED, ETCD, FOLLOWERS, GATEWAY, LEADER, NODES, ClusterBench
from loadtests.cluster_under_test import ETCD_VARIABLE, ClusterUnderTest, cluster_under_test, partitions_of
from loadtests.failover_results import Event, EventKind
from loadtests.failover_scenarios import FailoverBench, prepare, run_events
from loadtests.process_costs import LOAD
from tests.support.etcd_binary import etcd_binary

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PLAN = ClusterPlan(
    rounds=2,
    seconds=0.2,
    warm_up_s=0.05,
    open_loop_seconds=0.3,
    open_loop_rates=(50,),
    open_loop_connections=8,
    partitions=3,
    single_connections=4,
    batch_messages=100,
    receive_max=50,
    stored_messages=3_000,
)
FAILOVER_PLAN = FailoverPlan(
    partitions=7, topics=2, kills=1, stops=1, steady_rate=20, calm_s=0.1, steady_connections=16, stop_probe_pause_s=0.2
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> AsyncIterator[ClusterUnderTest]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ETCD_VARIABLE, str(etcd_binary(pytestconfig)))
        async with cluster_under_test(tmp_path_factory.mktemp("bench"), nodes=3, gateways=1) as started:
            yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with acklog_server(tmp_path_factory.mktemp("embedded"), UNPINNED) as started:
        yield started


async def test_every_scenario_is_measured_beside_the_embedded_server_with_its_costs(
    cluster: ClusterUnderTest, embedded: ServerProcess
) -> None:
    results: list[ClusterResult] = []
    bench = ClusterBench(cluster, embedded, PLAN, results.append)
    await cluster_scenarios.open_loops(bench)
    await cluster_scenarios.singles(bench)
    await cluster_scenarios.batches(bench)
    await cluster_scenarios.receives(bench)
    await cluster_scenarios.roles(bench)

    compared = [each for each in results if each.result.limits]
    assert len({each.result.name for each in results}) == len(results) == 9
    assert [each.result.errors for each in results] == [0] * 9
    assert all(len(each.result.values) == PLAN.rounds and min(each.result.values) > 0 for each in results)
    assert [[limit.name for limit in each.result.limits] for each in compared] == [[EMBEDDED]] * 7
    assert all(each.embedded_cpu_us is not None for each in compared)
    assert {frozenset(cost.role for cost in each.costs) for each in compared} == {
        frozenset({GATEWAY, NODES, ETCD, LOAD})
    }
    for each in results[-2:]:
        assert {cost.role: cost.processes for cost in each.costs} == {
            GATEWAY: 1,
            ETCD: 1,
            LEADER: 1,
            FOLLOWERS: 2,
            LOAD: 1,
        }
        assert all(cost.messages > 0 for cost in each.costs)


async def test_nodes_that_are_killed_and_stopped_come_back_and_everybody_waited_for_a_while(
    cluster: ClusterUnderTest,
) -> None:
    events: list[Event] = []
    bench = FailoverBench(cluster, FAILOVER_PLAN, events.append)
    assert await prepare(bench) > 0
    await run_events(bench)

    assert [event.kind for event in events] == [EventKind.KILL, EventKind.STOP]
    for event in events:
        assert len(event.waits_s) == event.partitions_led > 0
        assert 0 < event.median_s <= event.worst_s
        assert 0 < event.ready_s <= event.in_sync_s
        assert event.steady_answers > 0
    assert not events[0].was_controller
    states = [state for topic in bench.topics for state in await partitions_of(cluster.gateway, topic)]
    assert len(states) == FAILOVER_PLAN.partitions
    assert all(state.is_in_sync for state in states)
