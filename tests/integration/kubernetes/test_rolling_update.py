"""What the chart renders, run as a Kubernetes would: nodes and gateways are updated one by one under load, with the
probes, hooks and grace periods of their manifests, and nobody who uses the SDK notices."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cluster.etcd.etcd_store import EtcdStore
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import NodeRegistration, PartitionState
from cluster.ports.coordination import CoordinationError
from tests.integration.kubernetes.service import Service, running_service
from tests.integration.kubernetes.steady_load import steady_load
from tests.integration.kubernetes.workloads import Deployment, Machine, StatefulSet
from tests.support.authority import OwnAuthority
from tests.support.etcd_binary import etcd_binary
from tests.support.etcd_process import running_etcd
from tests.support.etcd_store import etcd_store
from tests.support.helm_program import helm_program
from tests.support.rendered_chart import Chart, one

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("kubernetes"),
    pytest.mark.timeout(900),
]

MIN_IN_SYNC = 2
WATCH_S = 0.1


OTHER_PODS = {"podAnnotations": {"version": "next"}}
IN_CLEAR: dict[str, Any] = {}
BY_TLS = {"existingSecret": "acklog-pki"}
BY_TLS_OF_EACH = {"secretPrefix": "acklog-tls"}


class InSyncWatch:
    """How many of those in sync are registered, of each partition, as etcd says again and again."""

    def __init__(self, store: EtcdStore) -> None:
        self._store = store
        self.below: set[str] = set()
        self.looks = 0

    async def run(self) -> None:
        while True:
            with contextlib.suppress(CoordinationError):
                await self.look()
            await asyncio.sleep(WATCH_S)

    async def look(self) -> None:
        alive = {decode(NodeRegistration, item.value).node_id for item in (await self._store.list(keys.NODES)).items}
        for item in (await self._store.list(keys.PARTITIONS)).items:
            state = decode(PartitionState, item.value)
            in_sync = alive.intersection(state.isr)
            if len(state.replicas) > MIN_IN_SYNC and len(in_sync) < MIN_IN_SYNC:
                self.below.add(f"partition {state.partition} had {sorted(in_sync)} of {sorted(state.isr)}")
        self.looks += 1


class Release:
    """The chart as it is installed: its values may change, and what is running follows."""

    def __init__(self, chart: Chart, machine: Machine, values: dict[str, Any]) -> None:
        self._chart = chart
        self._machine = machine
        self.values = values
        self.nodes = StatefulSet(machine, self._manifest("StatefulSet"))
        self.gateways = Deployment(machine, self._manifest("Deployment"))

    async def upgrade(self, **changes: dict[str, Any]) -> None:
        """`changes` of groups of values; nodes and gateways follow at once, as with Kubernetes."""
        for component, change in changes.items():
            self.values[component] = {**self.values[component], **change}
        await asyncio.gather(
            self.nodes.apply(self._manifest("StatefulSet")), self.gateways.apply(self._manifest("Deployment"))
        )

    @property
    def trouble(self) -> list[str]:
        return self._machine.trouble

    def _manifest(self, kind: str) -> dict[str, Any]:
        name = "acklog-node" if kind == "StatefulSet" else "acklog-gateway"
        return one(self._chart.documents(deepcopy(self.values)), kind, name)


class Changes(NamedTuple):
    """What a test changes, and where clients are."""

    release: Release
    url: str


def certificates(authority: OwnAuthority) -> dict[tuple[str, str], str]:
    """Of a cluster of three nodes: one Secret with all, as docs/kubernetes.md fills it, and one each, as cert-manager
    does."""
    found = {}
    for stem in ("gateway", "node-1", "node-2", "node-3"):
        files = authority.issue(stem)
        of_each = {"tls.crt": files.certificate, "tls.key": files.key, "ca.crt": files.authorities}
        found |= {(f"{BY_TLS_OF_EACH['secretPrefix']}-{stem}", key): Path(path) for key, path in of_each.items()}
    found |= {(BY_TLS["existingSecret"], path.name): path for path in authority.directory.glob("*.pem")}
    return {place: path.read_text() for place, path in found.items()}


@asynccontextmanager
async def installed(
    config: pytest.Config, directory: Path, authority: OwnAuthority, *, pace: float, tls: dict[str, Any]
) -> AsyncIterator[tuple[Release, Service, InSyncWatch]]:
    """Three nodes and two gateways on an etcd of one member, a Service before the gateways."""
    chart = Chart(helm_program(config), directory)
    program = etcd_binary(config)
    with running_etcd(program) as etcd:
        machine = Machine(directory, pace=pace, secrets=certificates(authority))
        values = {
            "auth": {"insecure": True},
            "tls": tls,
            "etcd": {"endpoints": [f"http://{etcd.endpoint}"]},
            "nodes": {"replicas": 3, "minReadySeconds": max(1, round(10 * pace))},
            "gateways": {"minReadySeconds": max(1, round(5 * pace)), "stopDelaySeconds": max(2, round(5 * pace))},
        }
        release = Release(chart, machine, values)
        try:
            await release.upgrade()
            async with (
                closing(etcd_store(etcd.endpoint)) as store,
                running_service(lambda: release.gateways.pods, 8080, scheme="https" if tls else "http") as service,
            ):
                watch = InSyncWatch(store)
                watching = asyncio.create_task(watch.run(), name="in sync")
                try:
                    yield release, service, watch
                finally:
                    watching.cancel()
                    await asyncio.gather(watching, return_exceptions=True)
        finally:
            await machine.end()


@asynccontextmanager
async def closing(store: EtcdStore) -> AsyncIterator[EtcdStore]:
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def unnoticed(
    config: pytest.Config, directory: Path, *, pace: float, per_second: int, tls: dict[str, Any] = IN_CLEAR
) -> AsyncIterator[Changes]:
    """Whatever is done to the release meanwhile: all that is sent is taken, and handled."""
    authority = OwnAuthority(directory / "pki")
    ca_file = str(authority.ca_file) if tls else None
    async with installed(config, directory, authority, pace=pace, tls=tls) as (release, service, watch):
        async with steady_load(service.url, "orders", per_second=per_second, ca_file=ca_file) as load:
            await load.progress(per_second)
            yield Changes(release, service.url)
            await load.progress(per_second)
        gaps = {partition: round(gap, 2) for partition, gap in load.longest_gaps_s().items()}
        sys.stdout.write(f"{len(load.confirmed)} confirmed; longest gap by partition, in seconds: {gaps}\n")
        assert load.failed == []
        assert load.confirmed <= load.handled.keys()
        assert len(load.confirmed) >= 2 * per_second
        assert watch.looks > 10
        assert watch.below == set()
        assert release.trouble == []
        assert sorted(release.nodes.pods) == [1, 2, 3]


def drained(url: str, node: int) -> None:
    """As an operator does it, until the node holds nothing."""
    command = [sys.executable, "-P", "-m", "acklog.command", "--server", url, "cluster", "drain", str(node)]
    done = subprocess.run([*command, "--yes", "--watch"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.faults
@pytest.mark.parametrize("tls", [IN_CLEAR, BY_TLS], ids=["in clear", "by TLS"])
async def test_an_update_is_not_noticed(pytestconfig: pytest.Config, tmp_path: Path, tls: dict[str, Any]) -> None:
    async with unnoticed(pytestconfig, tmp_path, pace=0.1, per_second=100, tls=tls) as changes:
        await changes.release.upgrade(nodes=OTHER_PODS, gateways=OTHER_PODS)


@pytest.mark.faults
async def test_the_way_from_clear_to_tls_is_not_noticed(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """By the upgrades of docs/kubernetes.md, with a Secret for each process. Clients go on in clear, as they may until
    the last of these."""
    async with unnoticed(pytestconfig, tmp_path, pace=0.1, per_second=100) as changes:
        for peers in ("accept", "prefer", "require"):
            await changes.release.upgrade(tls={**BY_TLS_OF_EACH, "acceptClear": True, "peers": peers})


@pytest.mark.faults
async def test_nodes_that_are_deleted_by_hand_wait_for_each_other(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    async with unnoticed(pytestconfig, tmp_path, pace=0.1, per_second=100) as changes:
        await changes.release.nodes.replace_two(3, 2)


@pytest.mark.faults
async def test_an_update_and_more_and_fewer_nodes_are_not_noticed(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """At the chart's own pace."""
    async with unnoticed(pytestconfig, tmp_path, pace=1.0, per_second=500) as changes:
        await changes.release.upgrade(nodes=OTHER_PODS, gateways=OTHER_PODS)
        await changes.release.upgrade(nodes={"replicas": 4})
        await asyncio.to_thread(drained, changes.url, 4)
        await changes.release.upgrade(nodes={"replicas": 3})
