"""What is left after the power is cut: everything that was acknowledged, and nothing that was acked comes again.

The data directory is on a file system of its own, with the kernel's write-back off, so that nothing reaches the block
device but what the server syncs. Then the server is killed, and a second one is started on a copy of the device.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.integration.traffic import Traffic
from tests.support.block_device import MIB, LoopFileSystem, skip_unless_mountable, write_back_off
from tests.support.server_process import ServerProcess
from tests.support.sync_shim import sync_shim

pytestmark = [pytest.mark.integration, pytest.mark.root, pytest.mark.xdist_group("power_loss")]

TOPIC = "orders"
PARTITIONS = 4
SENDS_BEFORE = 500
SENDS = 2500
IMAGE_BYTES = 256 * MIB
# Small journal files that are recycled while the load runs, and syncs of the segments in the background.
NODE_ENVIRONMENT = {
    "ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1 * MIB),
    "ACKLOG_NODE_RESERVE_BYTES": str(8 * MIB),
    "ACKLOG_NODE_SYNC_INTERVAL_MS": "300",
}


async def power_cut(directory: Path, environment: Mapping[str, str], *, syncs_end: Path | None = None) -> list[str]:
    """Every fault that clients see after a power cut under load. The file `syncs_end` is made within the load."""
    device = LoopFileSystem.create(directory / "device.img", directory / "device", size_bytes=IMAGE_BYTES)
    with write_back_off(), device.mounted() as mounted:
        server = ServerProcess(
            mounted / "data", directory / "before.log", environment={**NODE_ENVIRONMENT, **environment}
        )
        with server:
            answer = server.request("PUT", f"/topics/{TOPIC}", {"partitions": PARTITIONS})
            assert answer.status in {200, 201}, answer
            traffic = Traffic(server, TOPIC, partitions=PARTITIONS)
            async with traffic.running(producers=16, consumers=4):
                await traffic.acknowledged(SENDS_BEFORE)
                if syncs_end is not None:
                    syncs_end.touch()
                await traffic.acknowledged(SENDS_BEFORE + SENDS)
                server.kill()
            copy = device.copy_of_device(directory / "after.img", directory / "after")
    with copy.mounted() as mounted:
        after = ServerProcess(mounted / "data", directory / "after.log", environment=NODE_ENVIRONMENT)
        with after:
            traffic.server = after
            faults = await traffic.judge()
            assert faults or traffic.confirmed_acks > 1000
            return faults


async def test_everything_acknowledged_is_there_after_a_power_cut(tmp_path: Path) -> None:
    skip_unless_mountable(tmp_path)
    assert await power_cut(tmp_path, {}) == []


async def test_the_power_cut_finds_missing_syncs(tmp_path: Path) -> None:
    """The same cut with fdatasync taken out must show lost messages: otherwise the test above proves nothing."""
    skip_unless_mountable(tmp_path)
    switch = tmp_path / "syncs-end"
    faults = await power_cut(tmp_path, sync_shim(tmp_path, switch), syncs_end=switch)
    assert any("AcknowledgedIsInTheLog" in fault for fault in faults), faults
