"""Disks of nodes that are full, and power that is cut, with file systems of the test's own (see `block_device`)."""

from pathlib import Path

import pytest

from tests.integration.cluster.devices import Devices
from tests.integration.cluster.fault_load import SENDS_FIRST, under_load, verdict
from tests.support.block_device import MIB, skip_unless_mountable, write_back_off
from tests.support.full_disk import fill_up
from tests.support.real_cluster import RealClusterOptions, running_real_cluster
from tests.support.sync_shim import sync_shim

pytestmark = [
    pytest.mark.integration,
    pytest.mark.faults,
    pytest.mark.root,
    pytest.mark.xdist_group("power_loss"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

LAG_MS = 2000
SENDS = 800
NODES = (1, 2, 3)
SMALL_FILES = {
    "ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1 * MIB),
    "ACKLOG_NODE_FREE_CHECK_INTERVAL_MS": "50",
    "ACKLOG_NODE_SYNC_INTERVAL_MS": "300",
}


async def test_one_node_loses_its_power_again_and_again(tmp_path: Path, etcd_program: Path) -> None:
    """What it had not synced is gone; the others have everything, and it takes from them what it lacks."""
    skip_unless_mountable(tmp_path)
    with write_back_off(), Devices(tmp_path, NODES, size_bytes=256 * MIB) as devices:
        options = RealClusterOptions(node_directories=devices.data_directories(), node_environment=SMALL_FILES)
        async with running_real_cluster(tmp_path / "cluster", etcd_program, options) as cluster:
            async with under_load(cluster, "one-power") as load:
                for _ in range(3):
                    victim = await load.watch.busiest_leader()
                    await load.progress(SENDS)
                    await cluster.nodes[victim].kill()
                    devices.replace(victim, devices.copy_as_after_a_power_cut(victim))
                    await load.watch.until_moved_from(victim)
                    await cluster.nodes[victim].start()
                    await load.watch.until_in_sync(3)
                await load.healed()
            assert await verdict(load) == []


async def power_cut_everywhere(tmp_path: Path, etcd_program: Path, *, syncs_end: bool) -> list[str]:
    skip_unless_mountable(tmp_path)
    switch = tmp_path / "syncs-end"
    environment = {**SMALL_FILES, **(sync_shim(tmp_path, switch) if syncs_end else {})}
    with write_back_off(), Devices(tmp_path, NODES, size_bytes=256 * MIB) as devices:
        options = RealClusterOptions(node_directories=devices.data_directories(), node_environment=environment)
        async with running_real_cluster(tmp_path / "cluster", etcd_program, options) as cluster:
            async with under_load(cluster, "all-power") as load:
                await load.progress(SENDS)
                if syncs_end:
                    switch.touch()
                await load.progress(SENDS)
                await cluster.kill(cluster.nodes.values())
                copies = {node: devices.copy_as_after_a_power_cut(node) for node in NODES}
                for node, copy in copies.items():
                    devices.replace(node, copy)
                switch.unlink(missing_ok=True)
                await cluster.start_all(cluster.nodes.values())
                await load.healed()
            faults = await verdict(load)
            assert faults or load.traffic.confirmed_acks > SENDS
            return faults


async def test_all_nodes_lose_their_power_at_once(tmp_path: Path, etcd_program: Path) -> None:
    assert await power_cut_everywhere(tmp_path, etcd_program, syncs_end=False) == []


async def test_the_power_cut_finds_missing_syncs(tmp_path: Path, etcd_program: Path) -> None:
    """The same cut with the syncs taken out must show lost messages: otherwise the test above proves nothing."""
    faults = await power_cut_everywhere(tmp_path, etcd_program, syncs_end=True)
    assert any("AcknowledgedIsInTheLog" in fault for fault in faults), faults


@pytest.mark.parametrize("reserve_bytes", [8 * MIB, 0], ids=["reserve", "no-space-at-all"])
async def test_the_disk_of_one_node_is_full(tmp_path: Path, etcd_program: Path, reserve_bytes: int) -> None:
    """The others go on without it, and it comes back by itself when there is space."""
    skip_unless_mountable(tmp_path)
    # What the ballast gives back when the disk is full would else be room for a minute of this load.
    environment = {
        **SMALL_FILES,
        "ACKLOG_NODE_RESERVE_BYTES": str(reserve_bytes),
        "ACKLOG_NODE_BALLAST_BYTES": str(1 * MIB),
    }
    with Devices(tmp_path, (1,), size_bytes=64 * MIB) as devices:
        options = RealClusterOptions(node_directories=devices.data_directories(), node_environment=environment)
        async with running_real_cluster(tmp_path / "cluster", etcd_program, options) as cluster:
            async with under_load(cluster, "full-disk", max_replica_lag_ms=LAG_MS) as load:
                ballast = devices.root(1) / "ballast"
                fill_up(ballast)
                try:
                    await load.watch.until(
                        lambda states: all(1 not in state.isr for state in states if state.leader != 1),
                        what="node 1 is in no ISR of others",
                    )
                    await load.progress(SENDS_FIRST)
                    await load.acks_progress(SENDS_FIRST)
                finally:
                    ballast.unlink()
                if cluster.nodes[1].running_pid is None:
                    await cluster.nodes[1].kill()
                    await cluster.nodes[1].start()
                await load.healed()
            assert await verdict(load) == []
