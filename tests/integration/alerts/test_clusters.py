"""Alerts of a cluster: each fires for its fault, made on real processes, and is over with it."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.integration.alerts.alert_watch import AlertWatch, alert_watch, needs_prometheus
from tests.integration.cluster.devices import Devices
from tests.integration.cluster.gateways import Gateways, ask
from tests.support.block_device import MIB, skip_unless_mountable
from tests.support.cuttable_network import Cut
from tests.support.etcd_binary import etcd_binary
from tests.support.full_disk import fill_up
from tests.support.real_cluster import RealCluster, RealClusterOptions, running_real_cluster
from tests.support.waiting import poll_until, wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.faults,
    pytest.mark.root,
    pytest.mark.xdist_group("alerts"),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),
    needs_prometheus,
]

SMALL_DISK = 1
"""The node on a file system of its own."""

ENVIRONMENT = {
    "ACKLOG_NODE_JOURNAL_FILE_BYTES": str(MIB),
    "ACKLOG_NODE_BALLAST_BYTES": str(MIB),
    "ACKLOG_NODE_RESERVE_BYTES": str(4 * MIB),
    "ACKLOG_NODE_FREE_CHECK_INTERVAL_MS": "50",
}
PATIENCE_S = 60
PAUSE_S = 0.8
OF_DEATHS = frozenset({"AcklogPartitionsUnderReplicated", "AcklogPartitionsBelowMinimum", "AcklogNodeMissing"})
OF_NO_SERVICE = frozenset(
    {"AcklogSendsRefused", "AcklogServerErrors", "AcklogSendsSlow", "AcklogPartitionsWithoutLeader"}
)
OF_ETCD = frozenset({"AcklogEtcdSlow", "AcklogNoController"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> AsyncIterator[RealCluster]:
    """Three nodes, of which one has a small disk. Each test uses a topic of its own, and leaves all mended."""
    directory = tmp_path_factory.mktemp("alerts")
    skip_unless_mountable(directory)
    with Devices(directory, (SMALL_DISK,), size_bytes=64 * MIB) as devices:
        options = RealClusterOptions(node_directories=devices.data_directories(), node_environment=ENVIRONMENT)
        async with running_real_cluster(directory, etcd_binary(pytestconfig), options) as found:
            yield found


@asynccontextmanager
async def watching(cluster: RealCluster, directory: Path, test: str) -> AsyncIterator[AlertWatch]:
    """Nothing fires at the beginning."""
    urls = [each.url for each in (*cluster.nodes.values(), *cluster.gateways.values())]
    with alert_watch(directory / "alerts", test) as watch:
        await asyncio.to_thread(watch.until_quiet, urls)
        yield watch


class Topic:
    """One of a cluster, asked for over its gateways."""

    def __init__(self, cluster: RealCluster, name: str) -> None:
        self.name = name
        self._gateways = Gateways(cluster.gateway_urls)

    async def create(self, partitions: int, replicas: int, **config: object) -> None:
        document = {"partitions": partitions, "replicationFactor": replicas, "config": config}
        assert (await self.ask("PUT", f"/topics/{self.name}", document)).status == 201

        async def is_in_sync() -> bool:
            states = [await self.state(number) for number in range(partitions)]
            return all(len(each["inSyncReplicas"]) == replicas and each["leader"] is not None for each in states)

        await poll_until(is_in_sync, seconds=PATIENCE_S, what=f"{self.name} is in sync")

    async def until_in_sync(self, nodes: Iterable[int]) -> None:
        """These, and nobody else, at partition 0."""
        expected = sorted(nodes)

        async def is_so() -> bool:
            return sorted((await self.state())["inSyncReplicas"]) == expected

        await poll_until(is_so, seconds=PATIENCE_S, what=f"{expected} are in sync at {self.name}")

    async def state(self, partition: int = 0) -> dict[str, Any]:
        answer = await self.ask("GET", f"/topics/{self.name}/partitions/{partition}")
        return dict(answer.document)

    async def send(self, count: int) -> None:
        messages = [{"body": number, "partition": 0} for number in range(count)]
        answer = await self.ask("POST", "/messages", {"queue": self.name, "messages": messages})
        assert answer.status == 201, answer

    async def until_answered(self, method: str, path: str, document: object) -> dict[str, Any]:
        """By 200, whatever it is before."""

        seen = ""

        async def answer() -> dict[str, Any] | None:
            nonlocal seen
            found = await asyncio.to_thread(ask, self._gateways.base_url, method, path, document)
            seen = f"{found.status} {found.content[:300]!r}"
            return dict(found.document) if found.status == 200 else None

        try:
            return await poll_until(answer, seconds=PATIENCE_S, what=f"an answer to {method} {path}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {seen}") from None

    async def ask(self, method: str, path: str, document: object = None) -> Any:
        return await asyncio.to_thread(self._gateways.request, method, path, document)


async def test_nodes_that_die(cluster: RealCluster, tmp_path: Path) -> None:
    """Two of three at once: the one that is left says what the cluster lacks."""
    alone, replicated = Topic(cluster, "alone"), Topic(cluster, "replicated")
    await alone.create(6, 1)
    await replicated.create(3, 3)
    async with watching(cluster, tmp_path, "test_nodes_that_die") as watch:
        dead = [cluster.nodes[2], cluster.nodes[3]]
        await cluster.kill(dead)
        try:
            await asyncio.to_thread(watch.until_firing, beside=OF_NO_SERVICE | OF_ETCD)
        finally:
            await cluster.start_all(dead)
        await asyncio.to_thread(watch.until_resolved)


async def test_the_death_of_all_nodes_is_noticed(cluster: RealCluster, tmp_path: Path) -> None:
    """Nobody is left who could say that somebody is missing."""
    async with watching(cluster, tmp_path, "test_nodes_that_die") as watch:
        await cluster.kill(cluster.nodes.values())
        watch.alerts = frozenset({"AcklogNodeMissing", "AcklogNoController"})
        try:
            await asyncio.to_thread(watch.until_firing, beside=OF_NO_SERVICE)
        finally:
            await cluster.start_all(cluster.nodes.values())
        await asyncio.to_thread(watch.until_resolved)


async def test_a_node_that_is_cut_off_is_missed(cluster: RealCluster, tmp_path: Path) -> None:
    """It goes on to say that all are there: the last that it has heard."""
    async with watching(cluster, tmp_path, "test_nodes_that_die") as watch:
        cluster.network.cut(cluster.links_between(["node 3"], cluster.etcd_names + cluster.other_nodes(3)), Cut.SILENT)
        watch.alerts = frozenset({"AcklogNodeMissing"})
        try:
            await asyncio.to_thread(watch.until_firing, beside=OF_DEATHS | OF_NO_SERVICE | OF_ETCD)
        finally:
            cluster.network.mend()
        await asyncio.to_thread(watch.until_resolved)


async def test_an_etcd_that_is_slow(cluster: RealCluster, tmp_path: Path) -> None:
    """All members stand still for most of each second."""
    topics = iter(range(1000))

    def stands_still() -> None:
        with ThreadPoolExecutor(1) as callers:
            for member in cluster.etcd.members:
                member.pause()
            began_s = time.monotonic()
            try:  # what needs etcd
                url = cluster.gateways[1].url
                asked = callers.submit(ask, url, "PUT", f"/topics/slow-{next(topics)}", {"partitions": 1})
                wait_until(lambda: time.monotonic() - began_s > PAUSE_S, seconds=10, what="the end of the pause")
            finally:
                for member in cluster.etcd.members:
                    member.resume()
            asked.result()

    async with watching(cluster, tmp_path, "test_an_etcd_that_is_slow") as watch:
        await asyncio.to_thread(watch.until_firing, beside=OF_DEATHS | OF_NO_SERVICE, keep=stands_still)
        await asyncio.to_thread(watch.until_resolved)


async def test_an_etcd_that_is_gone(cluster: RealCluster, tmp_path: Path) -> None:
    async with watching(cluster, tmp_path, "test_an_etcd_that_is_gone") as watch:
        for member in cluster.etcd.members:
            member.pause()
        try:
            await asyncio.to_thread(watch.until_firing, beside=OF_DEATHS | OF_NO_SERVICE | OF_ETCD)
        finally:
            for member in cluster.etcd.members:
                member.resume()
        await asyncio.to_thread(watch.until_resolved)


async def test_an_unclean_election(cluster: RealCluster, tmp_path: Path) -> None:
    """One of two replicas stands aside, the other takes messages and dies: an operator has to choose."""
    topic = Topic(cluster, "given-up")
    await topic.create(1, 2, minInsyncReplicas=1, maxReplicaLagMs=500)
    await topic.send(10)
    state = await topic.state()
    leader = state["leader"]
    [other] = set(state["replicas"]) - {leader}
    async with watching(cluster, tmp_path, "test_an_unclean_election") as watch:
        await cluster.kill([cluster.nodes[other]])
        await topic.until_in_sync([leader])
        await topic.send(10)
        await cluster.kill([cluster.nodes[leader]])
        try:
            await cluster.nodes[other].start()
            path = f"/cluster/partitions/{topic.name}/0/unclean-election"
            order = await topic.until_answered("POST", f"{path}/plan", {"node": other})
            assert (await topic.ask("POST", path, order["order"])).status == 200
            await asyncio.to_thread(watch.until_firing, beside=OF_DEATHS | OF_NO_SERVICE)
        finally:
            if cluster.nodes[other].running_pid is None:
                await cluster.nodes[other].start()
            await cluster.nodes[leader].start()
        await topic.until_in_sync([leader, other])
        await asyncio.to_thread(watch.until_resolved)


async def test_a_node_with_a_full_disk(cluster: RealCluster, tmp_path: Path) -> None:
    async with watching(cluster, tmp_path, "test_a_node_with_a_full_disk") as watch:
        filler = cluster.directory / f"device-{SMALL_DISK}" / "filler"
        fill_up(filler)
        try:
            beside = OF_DEATHS | OF_NO_SERVICE | {"AcklogDiskAlmostFull"}
            await asyncio.to_thread(watch.until_firing, beside=beside)
        finally:
            filler.unlink()
        await asyncio.to_thread(watch.until_resolved)
