"""The SDK's consumers against a real server: leases that are kept, workers that die, servers that restart."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import acklog
from examples.server_process import free_port
from tests.integration.conftest import ServerMaker
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import poll_until, wait_until

pytestmark = pytest.mark.integration

PATIENCE_S = 60


async def test_a_handler_slower_than_its_lease_has_its_message_to_itself(shared_server: ServerProcess) -> None:
    seen: list[tuple[object, int]] = []

    async def handler(message: acklog.Message) -> None:
        seen.append((message.body, message.attempt))
        await asyncio.sleep(3.5)  # the work, more than three leases long

    async with acklog.AsyncClient(shared_server.base_url) as client:
        await client.send_many("slow-work", [acklog.OutgoingMessage(number) for number in range(4)])
        workers = [client.consumer("slow-work", group="g", visibility_s=1.0) for _ in range(2)]
        running = [asyncio.create_task(worker.run(handler, concurrency=2)) for worker in workers]

        async def is_done() -> bool:
            offsets = await client.groups.offsets("g", "slow-work") if seen else None
            return offsets is not None and len(seen) >= 4 and offsets.lag == 0

        await poll_until(is_done, seconds=PATIENCE_S, what="all work done")
        for worker in workers:
            worker.stop()
        await asyncio.gather(*running)
    assert sorted(seen, key=str) == [(number, 1) for number in range(4)]


def test_a_slow_handler_in_a_thread_has_its_message_to_itself(shared_server: ServerProcess) -> None:
    seen: list[tuple[object, int]] = []
    work = threading.Event()

    def handler(message: acklog.Message) -> None:
        seen.append((message.body, message.attempt))
        work.wait(2.5)

    with acklog.Client(shared_server.base_url) as client:
        client.send_many("slow-threads", [acklog.OutgoingMessage(number) for number in range(4)])
        consumer = client.consumer("slow-threads", group="g", visibility_s=1.0)
        running = threading.Thread(target=consumer.run, args=(handler,), kwargs={"concurrency": 2})
        running.start()
        wait_until(lambda: len(seen) == 4, seconds=PATIENCE_S, what="all messages")
        consumer.stop()
        running.join()
        assert client.groups.offsets("g", "slow-threads").lag == 0
    assert sorted(seen, key=str) == [(number, 1) for number in range(4)]


def test_the_messages_of_a_worker_that_is_killed_come_again_in_time(shared_server: ServerProcess) -> None:
    with acklog.Client(shared_server.base_url) as client:
        client.send("crashes", "work")
        program = f"""
import acklog, threading
consumer = acklog.Client({shared_server.base_url!r}).consumer("crashes", group="g", visibility_s=2.0)
for message in consumer:
    print("working", flush=True)
    threading.Event().wait()
"""
        worker = subprocess.Popen([sys.executable, "-c", program], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "working\n"
        finally:
            worker.kill()
            worker.wait()
            assert worker.stdout is not None
            worker.stdout.close()
        killed = time.monotonic()
        with client.consumer("crashes", group="g") as consumer:
            for message in consumer:
                with message:
                    assert message.attempt == 2
                break
        assert time.monotonic() - killed < 4


SYNC_WORKER = """
import acklog, os, threading
client = acklog.Client({url!r})

@client.handler({topic!r}, group="g", concurrency=2)
def work(message):
    os.write(1, b"working\\n")
    threading.Event().wait(1.0)

client.run()
print("ended well", flush=True)
"""

ASYNC_WORKER = """
import acklog, asyncio, os

async def main():
    async with acklog.AsyncClient({url!r}) as client:
        @client.handler({topic!r}, group="g", concurrency=2)
        async def work(message):
            os.write(1, b"working\\n")
            await asyncio.sleep(1.0)
        await client.run()
    print("ended well", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize(("topic", "program"), [("sync-stops", SYNC_WORKER), ("async-stops", ASYNC_WORKER)])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_well(
    shared_server: ServerProcess, topic: str, program: str, number: signal.Signals
) -> None:
    """What it worked on is done; what it had received ahead is there for others at once."""
    topic = f"{topic}-{number.name}"
    source = program.format(url=shared_server.base_url, topic=topic)
    with acklog.Client(shared_server.base_url) as client:
        client.send_many(topic, [acklog.OutgoingMessage(each) for each in range(6)])
        worker = subprocess.Popen(
            [sys.executable, "-c", source],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert worker.stdout is not None
        assert worker.stdout.readline() == "working\n"
        assert worker.stdout.readline() == "working\n"
        worker.send_signal(number)
        output, errors = worker.communicate(timeout=20)
        assert (worker.returncode, errors) == (0, "")
        assert output.endswith("ended well\n")
        left = client.receive(topic, group="g", max_messages=10)
        assert len(left) == 6 - 2 - output.count("working")
        assert client.groups.offsets("g", topic).lag == len(left)


async def test_a_consumer_survives_restarts_of_the_server(make_server: ServerMaker, tmp_path: Path) -> None:
    server = make_server("--port", str(free_port())).start()
    done: set[object] = set()
    total = 3000

    async def handler(message: acklog.Message) -> None:
        await asyncio.sleep(0)
        done.add(message.body)

    async with acklog.AsyncClient(server.base_url) as client:
        async with client.producer("orders") as producer:
            for number in range(total):
                await producer.send(number)
        consumer = client.consumer("orders", group="g", visibility_s=5, prefetch_messages_max=100)
        running = asyncio.create_task(consumer.run(handler, concurrency=4))

        async def has(count: int) -> bool:
            return len(done) >= count

        for kill in (1, 2):
            await poll_until(lambda kill=kill: has(kill * 800), seconds=PATIENCE_S, what="progress")  # type: ignore[misc]
            server.kill()
            await asyncio.to_thread(server.start)
        await poll_until(lambda: has(total), seconds=PATIENCE_S, what="every message")

        async def is_confirmed() -> bool:
            return (await client.groups.offsets("g", "orders")).lag == 0

        await poll_until(is_confirmed, seconds=PATIENCE_S, what="every ack")
        consumer.stop()
        await running
    assert done == set(range(total))


def test_batches_from_threads(shared_server: ServerProcess) -> None:
    with acklog.Client(shared_server.base_url) as client:
        with client.producer("batched") as producer:
            for number in range(1000):
                producer.send(number)
        seen: list[object] = []
        with client.consumer("batched", group="g") as consumer:
            for batch in consumer.batches(100, linger_ms=100):
                with batch:
                    seen += [message.body for message in batch]
                if len(seen) >= 1000:
                    break
        assert client.groups.offsets("g", "batched").lag == 0
    assert sorted(seen, key=int) == list(range(1000))  # type: ignore[call-overload]
