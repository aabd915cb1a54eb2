"""A server is killed again and again while services use its queues: no acknowledged message is lost, each group of a
FIFO queue stays in order, no deduplication id becomes two messages, and what is hidden stays so."""

from pathlib import Path

import pytest

from tests.integration.sqs.queue_history import QueueJudge
from tests.integration.sqs.queue_load import QueueLoad, sqs_client
from tests.support.lasting_ports import lasting_ports
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

VISIBILITY_S = 3
SENDS_BETWEEN = 60
KILLS_QUICKLY = 2
KILLS = 25


@pytest.mark.parametrize("name", ["killed", "killed.fifo"])
def test_a_server_is_killed_under_load(tmp_path: Path, name: str) -> None:
    kill(tmp_path, name, kills=KILLS_QUICKLY)


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["killed", "killed.fifo"])
def test_a_server_is_killed_many_times_under_load(tmp_path: Path, name: str) -> None:
    kill(tmp_path, name, kills=KILLS)


def kill(directory: Path, name: str, *, kills: int) -> None:
    is_fifo = name.endswith(".fifo")
    options = ("--port", str(lasting_ports(1)[0]))  # clients keep to the address
    with ServerProcess(directory / "data", directory / "server.log", options=options) as server:
        attributes = {"VisibilityTimeout": str(VISIBILITY_S)} | ({"FifoQueue": "true"} if is_fifo else {})
        url = sqs_client(server.base_url).create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        load = QueueLoad([server.base_url], url, is_fifo=is_fifo)
        with load.running(producers=3, consumers=3):
            for _ in range(kills):
                load.progress(SENDS_BETWEEN)
                with load.fault():
                    server.kill()
                    server.start()
            load.progress(SENDS_BETWEEN)
    assert QueueJudge(load.history, is_fifo=is_fifo, visibility_s=VISIBILITY_S).faults() == []
    assert load.history.acknowledged_count >= kills * SENDS_BETWEEN
