"""A server that is killed again and again under load loses nothing and hands out nothing twice that was done."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.traffic import Traffic
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

KILLS = 20
SENDS_BETWEEN_KILLS = 100
PARTITIONS = 4


@pytest.mark.faults
async def test_twenty_kills_under_load(tmp_path: Path) -> None:
    """Every acknowledged message is in the log exactly once, every acked one is never delivered again, and every
    other one is consumed in the end."""
    environment = {"ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1024 * 1024), "ACKLOG_NODE_SYNC_INTERVAL_MS": "200"}
    server = ServerProcess(tmp_path / "data", tmp_path / "server.log", environment=environment)
    with server:
        answer = server.request("PUT", "/topics/orders", {"partitions": PARTITIONS})
        assert answer.status in {200, 201}, answer
        traffic = Traffic(server, "orders", partitions=PARTITIONS)
        async with traffic.running(producers=12, consumers=4):
            for kill in range(1, KILLS + 1):
                await traffic.acknowledged(kill * SENDS_BETWEEN_KILLS)
                server.kill()
                await asyncio.to_thread(server.start)
            await traffic.acknowledged(KILLS * SENDS_BETWEEN_KILLS + SENDS_BETWEEN_KILLS)
        assert await traffic.judge() == []
        assert traffic.confirmed_acks > 1000
