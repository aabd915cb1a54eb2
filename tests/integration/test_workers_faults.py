"""Minutes of kills on a server of several processes: of gateways, of the storage, and of the supervisor."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.integration.traffic import Traffic
from tests.support.server_process import ServerProcess
from tests.support.server_workers import GATEWAYS, OPTIONS, is_alive, kill_gateway, kill_worker, pids
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.faults]

KILLS = 12
SENDS_BETWEEN_KILLS = 100
PARTITIONS = 4


def end_of_all(server: ServerProcess, workers: list[int]) -> None:
    """With the supervisor gone the storage lets go of the directory in its own time."""
    server.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in workers), seconds=60, what="the end of all workers")


async def test_kills_of_whichever_process_under_load(tmp_path: Path) -> None:
    environment = {"ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1024 * 1024), "ACKLOG_NODE_SYNC_INTERVAL_MS": "200"}
    server = ServerProcess(tmp_path / "data", tmp_path / "server.log", options=OPTIONS, environment=environment)
    draw = random.Random(7)
    with server:
        assert server.request("PUT", "/topics/orders", {"partitions": PARTITIONS}).status == 201
        traffic = Traffic(server, "orders", partitions=PARTITIONS)
        async with traffic.running(producers=12, consumers=4):
            for kill in range(1, KILLS + 1):
                await traffic.acknowledged(kill * SENDS_BETWEEN_KILLS)
                victim = draw.choice([*GATEWAYS, "storage", "supervisor"])
                if victim in GATEWAYS:
                    await asyncio.to_thread(kill_gateway, server, victim)
                    continue
                workers = [pids(server, worker)[-1] for worker in ("storage", *GATEWAYS)]
                if victim == "storage":
                    kill_worker(server, "storage")
                else:
                    server.kill()
                await asyncio.to_thread(end_of_all, server, workers)
                await asyncio.to_thread(server.start)
            await traffic.acknowledged((KILLS + 1) * SENDS_BETWEEN_KILLS)
        assert await traffic.judge() == []
        assert traffic.confirmed_acks > 300
        server.stop()
