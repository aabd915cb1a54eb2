"""Queues with messages, on whole nodes: how many there are, emptied, and what was received too often."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from app.auth.principal import ANYONE
from app.processes.cluster_gateway import ClusterGateway
from app.services.registry import Services
from app.sqs.queues.attribute_table import DELAYED, NOT_VISIBLE, VISIBLE
from app.sqs.queues.move_tasks import MoveTask, MoveTaskStatus, TaskHandle
from app.sqs.queues.queue_purge import PURGE_INTERVAL_MS
from app.sqs.queues.queue_service import QueueService
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.ports.clock import Clock
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.queue_gateways import NAMES

C = SqsErrorCode
COUNTS = [VISIBLE, NOT_VISIBLE, DELAYED]
PATIENCE_MS = 120_000


class Bench:
    """Messages by HTTP, queues by the service."""

    def __init__(self, gateway: ClusterGateway, client: httpx2.AsyncClient, clock: Clock) -> None:
        self.queues = QueueService(Services(gateway.gateway), NAMES)
        self.client = client
        self.clock = clock

    async def send(self, queue: str, *bodies: int, **fields: Any) -> None:
        messages = [{"body": body, **fields} for body in bodies]
        await self.ask("POST", "/messages", {"queue": queue, "messages": messages})

    async def receive(self, queue: str, count: int = 10) -> list[dict[str, Any]]:
        path = f"/messages?queue={queue}&group=sqs.{queue}&max={count}"
        return list((await self.ask("GET", path))["messages"])

    async def settle(self, kind: str, messages: list[dict[str, Any]], **fields: Any) -> None:
        await self.ask("POST", f"/{kind}", {"receipts": [each["receipt"] for each in messages], **fields})

    async def die(self, queue: str, count: int) -> None:
        """Received once, and given back: with one receive allowed they are dead letters then. One by one, as what is
        behind a message of its key is taken back with it."""
        for _ in range(count):
            while not (found := await self.receive(queue, 1)):
                await self.clock.sleep(100)
            await self.settle("nack", found, delaySeconds=0)

    async def counts(self, queue: str) -> tuple[int, ...]:
        found = await self.queues.attributes(queue, COUNTS, ANYONE)
        return tuple(int(found[each]) for each in COUNTS)

    async def until(self, queue: str, expected: tuple[int, ...]) -> None:
        end_ms = self.clock.monotonic_ms() + PATIENCE_MS
        while (found := await self.counts(queue)) != expected:
            assert self.clock.monotonic_ms() < end_ms, found
            await self.clock.sleep(100)

    async def ask(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        end_ms = self.clock.monotonic_ms() + PATIENCE_MS
        while True:
            answer = await self.client.request(method, path, json=document)
            if answer.status_code < 300 or not answer.json().get("retriable"):
                break
            assert self.clock.monotonic_ms() < end_ms, answer.text
            await self.clock.sleep(100)
        assert answer.status_code < 300, answer.text
        return dict(answer.json()) if answer.content else {}

    async def with_letters(self, suffix: str = "", count: int = 3, **fields: Any) -> None:
        """A dead-letter queue of two queues, with so many letters of each."""
        fifo = {"FifoQueue": "true"} if suffix else {}
        await self.queues.create(f"dlq{suffix}", fifo, {}, ANYONE)
        policy = json.dumps({"deadLetterTargetArn": NAMES.arn_of(f"dlq{suffix}"), "maxReceiveCount": 1})
        for name in (f"orders{suffix}", f"refunds{suffix}"):
            await self.queues.create(name, {**fifo, "RedrivePolicy": policy}, {}, ANYONE)
            await self.send(name, *range(count), **fields)
            await self.die(name, count)
        await self.until(f"dlq{suffix}", (2 * count, 0, 0))

    async def over(self, source: str = "dlq") -> MoveTask:
        """The task that was begun last, once it is over."""
        end_ms = self.clock.monotonic_ms() + PATIENCE_MS
        while True:
            task = (await self.queues.moves(NAMES.arn_of(source), 1, ANYONE))[0]
            if task.status not in {MoveTaskStatus.RUNNING, MoveTaskStatus.CANCELLING}:
                return task
            assert self.clock.monotonic_ms() < end_ms, task
            await self.clock.sleep(100)


def on_a_bench(main: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole(cluster: Cluster) -> None:
        await cluster.until(lambda: len(cluster.gateways[0].metadata.nodes()) == 1)
        async with client_of(cluster.gateways[0]) as client:
            await main(Bench(cluster.gateways[0], client, cluster.clock))

    ClusterBuilder().nodes(1).gateway().run(whole)


async def refused(code: SqsErrorCode, call: Awaitable[object]) -> SqsError:
    with pytest.raises(SqsError) as caught:
        await call
    assert caught.value.code is code, caught.value
    return caught.value


def test_how_many_messages_there_are() -> None:
    async def main(bench: Bench) -> None:
        await bench.queues.create("orders", {"VisibilityTimeout": "5"}, {}, ANYONE)
        await bench.until("orders", (0, 0, 0))
        await bench.send("orders", *range(7))
        await bench.send("orders", 7, 8, delaySeconds=30)
        await bench.until("orders", (7, 0, 2))
        first = await bench.receive("orders", 3)
        assert await bench.counts("orders") == (7 - len(first), len(first), 2)
        await bench.settle("ack", first[:1])
        await bench.settle("nack", first[1:2], delaySeconds=60)
        await bench.until("orders", (7 - len(first), len(first) - 1, 2))
        await bench.clock.sleep(10_000)  # the others' visibility is over
        await bench.until("orders", (5, 1, 2))
        await bench.clock.sleep(60_000)
        await bench.until("orders", (8, 0, 0))

    on_a_bench(main)


def test_what_waits_behind_another_message_of_its_group_counts_as_visible() -> None:
    """Also what was given out behind one that failed: it is with nobody any more."""

    async def main(bench: Bench) -> None:
        await bench.queues.create("orders.fifo", {"FifoQueue": "true"}, {}, ANYONE)
        await bench.send("orders.fifo", 1, 2, 3, key="a")
        await bench.until("orders.fifo", (3, 0, 0))
        found = await bench.receive("orders.fifo", 2)
        await bench.until("orders.fifo", (1, 2, 0))
        await bench.settle("nack", found[:1], delaySeconds=60)
        await bench.until("orders.fifo", (2, 1, 0))
        assert await bench.receive("orders.fifo") == []

    on_a_bench(main)


def test_a_queue_is_emptied_once_a_minute() -> None:
    async def main(bench: Bench) -> None:
        await bench.queues.create("orders", {}, {}, ANYONE)
        await bench.send("orders", *range(5))
        await bench.send("orders", *range(5, 8), delaySeconds=600)
        held = await bench.receive("orders", 2)
        await bench.queues.purge("orders", ANYONE)
        assert await bench.counts("orders") == (0, 0, 0)
        await bench.settle("ack", held)  # without effect
        error = await refused(C.PURGE_QUEUE_IN_PROGRESS, bench.queues.purge("orders", ANYONE))
        assert "every 60 seconds" in error.message
        await bench.send("orders", 9)
        await bench.until("orders", (1, 0, 0))
        await bench.clock.sleep(PURGE_INTERVAL_MS)
        await bench.queues.purge("orders", ANYONE)
        assert await bench.counts("orders") == (0, 0, 0)
        await refused(C.QUEUE_DOES_NOT_EXIST, bench.queues.purge("nobody", ANYONE))

    on_a_bench(main)


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_what_was_received_too_often_is_in_the_dead_letter_queue_and_goes_back(suffix: str) -> None:
    async def main(bench: Bench) -> None:
        dlq = f"dlq{suffix}"
        await bench.with_letters(suffix, **({"key": "k"} if suffix else {}))
        [letter] = await bench.receive(dlq, 1)
        assert letter["headers"]["acklog-dead-letter-topic"] in {f"orders{suffix}", f"refunds{suffix}"}
        await bench.settle("nack", [letter], delaySeconds=0)
        await bench.until(dlq, (6, 0, 0))
        await bench.queues.start_move(NAMES.arn_of(dlq), None, None, ANYONE)
        task = await bench.over(dlq)
        assert (task.status, task.moved, task.to_move, task.handle) == (MoveTaskStatus.COMPLETED, 6, 6, None)
        assert (task.source_arn, task.destination_arn) == (NAMES.arn_of(dlq), None)
        for name in (f"orders{suffix}", f"refunds{suffix}"):
            await bench.until(name, (3, 0, 0))
        await bench.until(dlq, (0, 0, 0))

    on_a_bench(main)


def test_moved_elsewhere_at_a_rate_and_cancelled() -> None:
    async def main(bench: Bench) -> None:
        queues, source = bench.queues, NAMES.arn_of("dlq")
        await bench.with_letters(count=20)
        await queues.create("elsewhere", {}, {}, ANYONE)
        there = NAMES.arn_of("elsewhere")
        handle = await queues.start_move(source, there, 2, ANYONE)
        await refused(C.UNSUPPORTED_OPERATION, queues.start_move(source, None, None, ANYONE))
        await bench.clock.sleep(3_000)
        [task] = await queues.moves(source, 10, ANYONE)
        assert (task.handle, task.status, task.rate_per_second) == (handle, MoveTaskStatus.RUNNING, 2)
        assert (task.destination_arn, task.to_move) == (there, 40)
        moved = await queues.cancel_move(handle, ANYONE)
        assert 1 <= moved < 40
        await refused(C.UNSUPPORTED_OPERATION, queues.cancel_move(handle, ANYONE))
        task = await bench.over()
        assert (task.status, task.handle) == (MoveTaskStatus.CANCELLED, None)
        await bench.until("elsewhere", (task.moved, 0, 0))
        await bench.until("dlq", (40 - task.moved, 0, 0))
        await bench.clock.sleep(1_000)
        await queues.start_move(source, there, 500, ANYONE)
        assert (await bench.over()).status is MoveTaskStatus.COMPLETED
        both = await queues.moves(source, 10, ANYONE)
        assert [each.status for each in both] == [MoveTaskStatus.COMPLETED, MoveTaskStatus.CANCELLED]
        assert await queues.moves(source, 1, ANYONE) == both[:1]
        await bench.until("elsewhere", (40, 0, 0))

    on_a_bench(main)


def test_a_message_that_came_from_nowhere_stays() -> None:
    async def main(bench: Bench) -> None:
        await bench.with_letters(count=1)
        await bench.send("dlq", 99)
        await bench.until("dlq", (3, 0, 0))
        await bench.queues.start_move(NAMES.arn_of("dlq"), None, None, ANYONE)
        task = await bench.over()
        assert (task.status, task.moved) == (MoveTaskStatus.FAILED, 2)
        assert task.failure_reason == "CouldNotDetermineMessageSource"
        await bench.until("dlq", (1, 0, 0))

    on_a_bench(main)


def test_moves_that_are_refused() -> None:
    async def main(bench: Bench) -> None:
        queues = bench.queues
        await bench.with_letters(count=1)
        await queues.create("x.fifo", {"FifoQueue": "true"}, {}, ANYONE)
        source, orders = NAMES.arn_of("dlq"), NAMES.arn_of("orders")
        nobody, foreign = NAMES.arn_of("nobody"), source.replace("eu-central-1", "us-east-1")
        for call, code in (
            (queues.start_move("dlq", None, None, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.start_move(nobody, None, None, ANYONE), C.RESOURCE_NOT_FOUND),
            (queues.start_move(foreign, None, None, ANYONE), C.RESOURCE_NOT_FOUND),
            (queues.start_move(orders, None, None, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.start_move(source, source, None, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.start_move(source, NAMES.arn_of("x.fifo"), None, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.start_move(source, nobody, None, ANYONE), C.RESOURCE_NOT_FOUND),
            (queues.start_move(source, "x", None, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.start_move(source, None, 0, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.start_move(source, None, 501, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.moves(source, 0, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.moves(source, 11, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.moves(nobody, 1, ANYONE), C.RESOURCE_NOT_FOUND),
            (queues.cancel_move("####", ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.cancel_move("", ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.cancel_move("A" * 10_000, ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.cancel_move(TaskHandle("dlq", "../../x").text(), ANYONE), C.INVALID_PARAMETER_VALUE),
            (queues.cancel_move(TaskHandle("dlq", "abc").text(), ANYONE), C.RESOURCE_NOT_FOUND),
            (queues.cancel_move(TaskHandle("nobody", "abc").text(), ANYONE), C.RESOURCE_NOT_FOUND),
        ):
            await refused(code, call)
        assert await queues.moves(source, 10, ANYONE) == []

    on_a_bench(main)
