"""Nodes and gateways are killed while services use queues through all gateways, as a server is in
`tests/integration/sqs/test_kills.py`."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.local_cluster.server_process import ServerProcess
from tests.integration.sqs.queue_history import QueueJudge
from tests.integration.sqs.queue_load import QueueLoad, sqs_client
from tests.support.real_cluster import RealCluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(900),
]

VISIBILITY_S = 3
SENDS_BETWEEN = 60


@contextmanager
def queue_under_load(cluster: RealCluster, name: str) -> Iterator[QueueLoad]:
    is_fifo = name.endswith(".fifo")
    sqs = sqs_client(cluster.gateway_urls[0])
    attributes = {"VisibilityTimeout": str(VISIBILITY_S)} | ({"FifoQueue": "true"} if is_fifo else {})
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    load = QueueLoad(cluster.gateway_urls, url, is_fifo=is_fifo)
    with load.running(producers=3, consumers=3):
        load.progress(SENDS_BETWEEN)
        yield load
    assert QueueJudge(load.history, is_fifo=is_fifo, visibility_s=VISIBILITY_S).faults() == []


async def kill_in_turn(cluster: RealCluster, name: str, *, kills: int) -> None:
    """One process after the other; each comes back before the next one goes."""
    loop = asyncio.get_running_loop()

    def await_here(process: ServerProcess) -> None:
        asyncio.run_coroutine_threadsafe(cluster.restart(process), loop).result()

    def kill_all() -> None:
        victims = itertools.cycle([*cluster.nodes.values(), *cluster.gateways.values()])
        with queue_under_load(cluster, name) as load:
            for victim in itertools.islice(victims, kills):
                with load.fault():
                    await_here(victim)
                    load.progress(SENDS_BETWEEN)  # whoever leads now has forgotten the leases of before

    await asyncio.to_thread(kill_all)


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
@pytest.mark.faults
async def test_nodes_and_gateways_are_killed_under_load(shared_cluster: RealCluster, name: str) -> None:
    await kill_in_turn(shared_cluster, name, kills=15)


async def test_all_nodes_are_killed_in_turn_under_load(shared_cluster: RealCluster) -> None:
    """The queue's leader is one of them."""
    await kill_in_turn(shared_cluster, "killed.fifo", kills=3)
