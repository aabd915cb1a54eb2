"""Backups of a cluster: into the cluster again under another name, and into a server of its own, with a node killed in
the middle."""

import asyncio
import time
from pathlib import Path

import pytest

from acklog.backup.backup_run import BackupRun
from acklog.backup.backup_set import BackupSet
from acklog.backup.copy_tools import CopyTools
from acklog.backup.directory_store import DirectoryStore
from acklog.backup.manifest import Manifest
from acklog.backup.pace import BackupPace
from acklog.backup.restore_plan import restore_plan
from acklog.backup.restore_run import RestoreOutcome, RestoreRun
from acklog.client.client import Client
from acklog.client.copies import Copies
from tests.support.backed_up import KilledCopies, ProcessKilled, messages_of, positions_of
from tests.support.real_cluster import RealCluster
from tests.support.server_process import ServerProcess

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

TOPIC = "backed-up"
UNPACED = BackupPace(None, now_ms=lambda: 0, pause=lambda _: None)


def now_ms() -> int:
    return int(time.time() * 1000)


def filled(client: Client) -> None:
    client.topics.create(TOPIC, 3, replication_factor=3, min_insync_replicas=2)
    client.groups.create("backed-up")
    for number in range(60):
        client.send(TOPIC, number, key=f"k{number % 11}")
    received = list(client.receive(TOPIC, group="backed-up", max_messages=30))
    client.ack(received[::2])
    client.nack(received[1::2], delay_s=0)


def back_up(client: Client, store: DirectoryStore) -> Manifest:
    BackupSet(store).begin()
    return BackupRun(CopyTools(client.copies, store, UNPACED), server="cluster", now_ms=now_ms).take([TOPIC])


def restore(copies: Copies, store: DirectoryStore, manifest: Manifest, name: str) -> RestoreOutcome:
    plans = restore_plan(manifest, names={TOPIC: name})
    return RestoreRun(CopyTools(copies, store, UNPACED), now_ms=now_ms).restore(manifest, plans)


@pytest.mark.faults
async def test_a_topic_of_a_cluster_comes_back_while_a_node_dies(shared_cluster: RealCluster, tmp_path: Path) -> None:
    cluster = shared_cluster
    store = DirectoryStore(tmp_path / "backups")
    with Client(cluster.gateways[1].url, timeout_s=60, retries_max=20) as client:
        await asyncio.to_thread(filled, client)
        manifest = await asyncio.to_thread(back_up, client, store)
        with pytest.raises(ProcessKilled):
            await asyncio.to_thread(restore, KilledCopies(client.copies, 3), store, manifest, "brought-back")
        await cluster.nodes[2].kill()
        try:
            await asyncio.to_thread(restore, client.copies, store, manifest, "brought-back")
            expected = await asyncio.to_thread(messages_of, client, TOPIC)
            assert len(expected) == 60
            assert await asyncio.to_thread(messages_of, client, "brought-back") == expected
        finally:
            await cluster.nodes[2].start()
        positions = await asyncio.to_thread(positions_of, client, "backed-up", TOPIC)
        assert await asyncio.to_thread(positions_of, client, "backed-up", "brought-back") == positions
        server = ServerProcess(tmp_path / "data", tmp_path / "server.log")
        try:
            await asyncio.to_thread(server.start)
            with Client(server.base_url) as alone:
                await asyncio.to_thread(restore, alone.copies, store, manifest, TOPIC)
                assert await asyncio.to_thread(messages_of, alone, TOPIC) == expected
                assert await asyncio.to_thread(positions_of, alone, "backed-up", TOPIC) == positions
        finally:
            server.kill()
