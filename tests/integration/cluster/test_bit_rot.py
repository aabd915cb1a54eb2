"""Bits that rot on one node's disk, under load: what is damaged is fetched anew from the others (rule R12)."""

from pathlib import Path

import pytest

from storage.log.keys import PARTITIONS_DIRECTORY
from storage.log.log_table import LOGS, LogKind
from storage.log.segment import SEGMENT_SUFFIX
from tests.integration.cluster.fault_load import under_load, verdict
from tests.support.real_cluster import running_real_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.faults,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

SENDS = 400
DAMAGED = "acklog_node_replicas_damaged"


def rot(data_directory: Path) -> int:
    """Flip a bit in every log: of the messages in the last batch, which is read at the start; of the delivery records
    in the first one, which is read by who begins to lead. How many logs that are."""
    rotten = 0
    for partition in sorted((data_directory / PARTITIONS_DIRECTORY).iterdir()):
        messages = sorted(path for path in partition.glob(f"*{SEGMENT_SUFFIX}") if path.stat().st_size)
        delivery = partition / LOGS[LogKind.DELIVERY].directory
        records = sorted(path for path in delivery.glob(f"*{SEGMENT_SUFFIX}") if path.stat().st_size)
        for path, position in [(path, -20) for path in messages[-1:]] + [(path, 90) for path in records[:1]]:
            content = bytearray(path.read_bytes())
            content[position] ^= 0x10
            path.write_bytes(content)
            rotten += 1
    return rotten


async def test_a_node_whose_disk_has_lost_bits_is_filled_from_the_others(tmp_path: Path, etcd_program: Path) -> None:
    async with running_real_cluster(tmp_path, etcd_program) as cluster:
        async with under_load(cluster, "bit-rot") as load:
            victim = await load.watch.busiest_leader()
            node = cluster.nodes[victim]
            await load.progress(SENDS)
            await node.stop()
            assert rot(tmp_path / f"node-{victim}") > 1
            await node.start()
            for other in sorted(set(cluster.nodes) - {victim}):  # so that the victim leads, too
                await load.watch.until_in_sync(3)
                await cluster.nodes[other].kill()
                await load.watch.until_moved_from(other)
                await load.progress(SENDS)
                await cluster.nodes[other].start()

            async def is_whole() -> bool:
                return await cluster.metric(victim, DAMAGED) == 0

            await load.watch.until_true(is_whole, what="nothing is damaged any more")
            await load.healed()
        assert await verdict(load) == []
        said = (tmp_path / "logs" / f"node-{victim}.log").read_text()
        assert "replica_damaged" in said
        assert "log_begun_anew" in said
