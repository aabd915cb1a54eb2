"""The SDK's producers against a real server that is killed, away, or asked to keep up with a program's end."""

import asyncio
import json
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import pytest

import acklog
from acklog.errors import BufferFull, CannotConnect, DeadlineExceeded
from examples.server_process import free_port
from tests.integration.conftest import ServerMaker
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import poll_until, wait_until

pytestmark = pytest.mark.integration

MIB = 1024 * 1024
KILLS = 3
MESSAGES = 4000
PATIENCE_S = 120


@pytest.fixture
def restartable(make_server: ServerMaker) -> ServerProcess:
    """A running server that comes back at the same address."""
    return make_server("--port", str(free_port())).start()


async def test_kills_lose_nothing_and_double_nothing(restartable: ServerProcess) -> None:
    confirmed: list[tuple[int, int]] = []

    async def produce() -> None:
        async def confirm(number: int, delivery: Any) -> None:
            sent = await delivery
            confirmed.append((number, sent.offset))

        # Batches are small so that many are on their way whenever the server dies.
        async with (
            acklog.AsyncClient(restartable.base_url) as client,
            client.producer("orders", batch_messages_max=25, request_timeout_ms=3000) as producer,
            asyncio.TaskGroup() as confirmations,
        ):
            for number in range(MESSAGES):
                delivery = await producer.send({"n": number}, key=f"key-{number % 50}")
                confirmations.create_task(confirm(number, delivery))
                if number % 100 == 0:
                    await poll_until(_true_when(confirmed, number - 1000), seconds=PATIENCE_S, what="progress")

    producing = asyncio.create_task(produce())
    for kill in range(1, KILLS + 1):
        enough = kill * MESSAGES // (KILLS + 1)
        await poll_until(_true_when(confirmed, enough), seconds=PATIENCE_S, what=f"{enough} confirmed messages")
        restartable.kill()
        await asyncio.to_thread(restartable.start)
    await producing
    assert len(confirmed) == MESSAGES
    check_log(restartable, MESSAGES)


def _true_when(confirmed: list[Any], count: int) -> Any:
    async def is_there() -> bool:
        return len(confirmed) >= count

    return is_there


def test_kills_lose_nothing_and_double_nothing_from_threads(restartable: ServerProcess) -> None:
    confirmed: list[int] = []
    failures: list[BaseException] = []

    def produce(first: int) -> None:
        try:
            for number in range(first, MESSAGES, 2):
                delivery = producer.send({"n": number}, key=f"key-{number % 50}")
                delivery.add_done_callback(lambda each: confirmed.append(each.index))
                if number % 200 < 2:
                    enough = number - 1500
                    wait_until(lambda: len(confirmed) > enough, seconds=PATIENCE_S, what="progress")  # noqa: B023
        except BaseException as failure:
            failures.append(failure)

    with acklog.Client(restartable.base_url) as client:
        with client.producer("orders", batch_messages_max=25, request_timeout_ms=3000) as producer:
            threads = [threading.Thread(target=produce, args=(first,)) for first in (0, 1)]
            for thread in threads:
                thread.start()
            for kill in range(1, KILLS + 1):
                enough = kill * MESSAGES // (KILLS + 1)
                wait_until(lambda: len(confirmed) >= enough or failures, seconds=PATIENCE_S, what="progress")  # noqa: B023
                restartable.kill()
                restartable.start()
            for thread in threads:
                thread.join()
        assert failures == []
        assert producer.buffered_bytes == 0
    assert len(confirmed) == MESSAGES
    check_log(restartable, MESSAGES)


def check_log(server: ServerProcess, count: int) -> None:
    """Every number stands in the log once, and those of a key in their order."""
    numbers: list[int] = []
    with acklog.Client(server.base_url) as client:
        for partition in range(client.topics.get("orders").partitions):
            offset = 0
            of_partition: list[int] = []
            while True:
                page = client.records("orders", partition, offset=offset)
                of_partition += [message.body["n"] for message in page.messages]
                if page.next_offset >= page.high_watermark:
                    break
                offset = page.next_offset
            by_key: dict[int, list[int]] = {}
            for number in of_partition:
                by_key.setdefault(number % 50, []).append(number)
            assert all(of_key == sorted(of_key) for of_key in by_key.values())
            numbers += of_partition
    assert [number for number, times in Counter(numbers).items() if times > 1] == []
    assert sorted(numbers) == list(range(count))


def test_a_server_that_is_away_costs_bounded_memory_and_says_so_in_time() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with acklog.Client(url) as client:
        producer = client.producer(
            "orders", buffer_bytes_max=2 * MIB, send_timeout_ms=300, delivery_timeout_ms=1500, close_timeout_ms=1000
        )
        body = "x" * 100_000
        deliveries = [producer.send(body) for _ in range(20)]
        with pytest.raises(BufferFull, match="the message was not taken"):
            producer.send(body)
        assert producer.buffered_bytes <= 2 * MIB
        with pytest.raises(DeadlineExceeded, match="not delivered within 1500 ms; it is not stored"):
            deliveries[0].result(30)
        assert all(isinstance(delivery.error(), DeadlineExceeded) or not delivery.done() for delivery in deliveries)
        with pytest.raises(CannotConnect, match="is the server running"):
            client.send("orders", 1)
        wait_until(lambda: all(each.done() for each in deliveries), seconds=30, what="every delivery's end")
        for delivery in deliveries:
            delivery.error()
        producer.close()


def test_a_result_may_be_waited_for_only_so_long(shared_server: ServerProcess) -> None:
    with acklog.Client(shared_server.base_url) as client, client.producer("slow", linger_ms=2000) as producer:
        delivery = producer.send(1)
        with pytest.raises(DeadlineExceeded, match=r"not confirmed within 0.01 s; it goes on"):
            delivery.result(0.01)
        producer.flush()
        assert delivery.result().offset == 0


def test_what_a_program_leaves_in_the_buffer_is_sent_at_its_end(shared_server: ServerProcess) -> None:
    run_program(
        f"""
        import acklog
        producer = acklog.Client({shared_server.base_url!r}).producer("at-exit", linger_ms=60_000)
        for number in range(100):
            producer.send(number)
        """
    )
    assert bodies_of(shared_server, "at-exit") == in_order(list(range(100)))


def test_a_fork_sends_nothing_twice(shared_server: ServerProcess) -> None:
    """Parent and child both use the client and the producer that were made before the fork."""
    run_program(
        f"""
        import os
        import acklog
        client = acklog.Client({shared_server.base_url!r})
        producer = client.producer("forked", linger_ms=60_000)
        client.health()
        for number in range(10):
            producer.send(["before", number])
        child = os.fork()
        who = "parent" if child else "child"
        client.send("forked", [who, "single"])
        producer.send([who, "buffered"])
        producer.close()
        client.close()
        if not child:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """
    )
    expected = [["before", number] for number in range(10)]
    expected += [[who, what] for who in ("parent", "child") for what in ("single", "buffered")]
    assert bodies_of(shared_server, "forked") == in_order(expected)


def run_program(source: str) -> str:
    lines = source.strip("\n").split("\n")
    margin = len(lines[0]) - len(lines[0].lstrip())
    program = "\n".join(line[margin:] for line in lines)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def bodies_of(server: ServerProcess, topic: str) -> list[Any]:
    """Every body in the topic's log, in the order of their JSON."""
    answers = [
        server.request("GET", f"/topics/{topic}/partitions/{partition}/records").document for partition in range(8)
    ]
    return in_order([record["body"] for answer in answers for record in answer["records"]])


def in_order(bodies: list[Any]) -> list[Any]:
    return sorted(bodies, key=json.dumps)
