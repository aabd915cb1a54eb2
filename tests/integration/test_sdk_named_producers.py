"""The SDK's producers with a name, against a real server: one that was suspended and replaced sends nothing more."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import acklog
from acklog.errors import DeliveryFailed, ProducerFenced
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

WAIT_SECONDS = 60
PROGRAM = """
import sys
import acklog
from acklog.errors import ProducerFenced

with acklog.Client() as client:
    producer = client.producer("payments", name="billing-7", batch_messages_max=10)
    producer.open()
    confirmed = 0
    try:
        for number in range(1_000_000):
            producer.send(f"zombie-{number}", key=str(number % 20)).result()
            confirmed += 1
            print(confirmed, flush=True)
    except ProducerFenced:
        print(f"fenced after {confirmed}", flush=True)
        sys.exit(3)
"""


@contextmanager
def zombie(server: ServerProcess, log_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {**os.environ, "ACKLOG_URL": server.base_url, "PYTHONPATH": str(REPOSITORY)}
    with log_path.open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def stored(client: acklog.Client, topic: str) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for partition in range(client.topics.get(topic).partitions):
        offset = 0
        while (page := client.records(topic, partition, offset=offset)).messages:
            found.update(message.body for message in page.messages)
            offset = page.next_offset
    return found


def test_a_process_that_was_suspended_and_replaced_sends_nothing_more(
    shared_server: ServerProcess, tmp_path: Path
) -> None:
    log_path = tmp_path / "zombie.log"
    with acklog.Client(shared_server.base_url) as client, zombie(shared_server, log_path) as process:
        wait_until(lambda: b"\n20\n" in log_path.read_bytes(), seconds=WAIT_SECONDS, what="the first one's sends")
        process.send_signal(signal.SIGSTOP)
        with client.producer("payments", name="billing-7") as successor:
            assert successor.epoch == 2
            at_takeover = stored(client, "payments")
            for number in range(100):
                successor.send(f"successor-{number}", key=str(number % 20))
            successor.flush()
            process.send_signal(signal.SIGCONT)
            assert process.wait(WAIT_SECONDS) == 3, log_path.read_text()
            for number in range(100, 200):
                successor.send(f"successor-{number}", key=str(number % 20))
        found = stored(client, "payments")
    of_successor = Counter(f"successor-{number}" for number in range(200))
    assert found == at_takeover + of_successor, "nothing was stored of the first one since, and everything once"
    confirmed = int(log_path.read_text().partition("fenced after ")[2].split()[0])
    sent = set(at_takeover)
    assert {f"zombie-{number}" for number in range(confirmed)} <= sent
    assert len(sent) <= confirmed + 1, "but for the one whose answer it did not read"


async def test_deliveries_of_a_fenced_producer_fail_and_it_does_not_come_back_by_itself(
    shared_server: ServerProcess,
) -> None:
    async with acklog.AsyncClient(shared_server.base_url) as client:
        first = client.producer("fenced", name="p")
        await (await first.send(1))  # opened by its first request
        assert first.epoch == 1
        async with client.producer("fenced", name="p") as second, client.producer("fenced", name="q") as other:
            assert (second.epoch, other.epoch) == (2, 1)
            for number in (2, 3):
                with pytest.raises(ProducerFenced) as caught:
                    await (await first.send(number))
                assert caught.value.retriable is False
            await (await second.send(4))
            await (await other.send(5))
        await first.send(6)
        with pytest.raises(DeliveryFailed):
            await first.close()
        assert first.epoch == 1
    with acklog.Client(shared_server.base_url) as client:
        assert stored(client, "fenced") == Counter({1: 1, 4: 1, 5: 1})


def test_a_producer_without_a_name_opens_none(shared_server: ServerProcess) -> None:
    with acklog.Client(shared_server.base_url) as client, client.producer("plain") as producer:
        producer.send(1).result()
        assert producer.epoch is None
