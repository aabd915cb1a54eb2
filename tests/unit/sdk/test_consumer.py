"""The asynchronous consumer in virtual time."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from acklog import AsyncClient, Message
from acklog.client.call import Request, Response
from acklog.consumer.async_consumer import AsyncConsumer
from acklog.consumer.settlements import SettlementProblem
from acklog.errors import ClientClosed, DeadlineExceeded, InvalidArgument, SettlementsLost, TopicNotFound
from tests.sim.loop import SimLoop, simulate
from tests.unit.sdk.fake_log import problem
from tests.unit.sdk.fake_queue import FakeQueue, Item

Program = Callable[[AsyncConsumer], Awaitable[None]]


def run(queue: FakeQueue, program: Program, *, seed: int = 0, **options: Any) -> None:
    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=queue) as client:
            await program(client.consumer("orders", group="mail", **options))

    simulate(seed, main)


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def take(consumer: AsyncConsumer, count: int) -> list[Any]:
    """Work on so many messages and stop."""
    bodies: list[Any] = []
    async for message in consumer:
        async with message:
            bodies.append(message.body)
        if len(bodies) == count:
            return bodies
    return bodies


def test_a_block_that_ends_acks_its_message() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            assert await take(consumer, 3) == [1, 2, 3]

    queue = FakeQueue.of(1, 2, 3)
    run(queue, program)
    assert queue.done == [1, 2, 3]
    assert len(queue.calls("/ack")) == 1


def test_a_block_that_raises_nacks_its_message() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                with pytest.raises(ZeroDivisionError):
                    async with message:
                        raise ZeroDivisionError
                break
            assert await take(consumer, 1) == ["x"]
            assert now_s() >= 7

    queue = FakeQueue.of("x")
    run(queue, program, nack_delay_s=7)
    assert queue.nacks == [(0, 7)]
    assert queue.delivered == [(0, 1), (0, 2)]


def test_the_first_decision_about_a_message_counts() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    message.nack(delay_s=3, reason="not now")
                    message.ack()
                break

    queue = FakeQueue.of("x")
    run(queue, program)
    assert (queue.nacks, queue.reasons) == ([(0, 3)], ["not now"])
    assert queue.done == []


def test_work_longer_than_the_lease_keeps_its_message() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    await asyncio.sleep(100)
                break

    queue = FakeQueue.of("x")
    run(queue, program, visibility_s=10)
    assert queue.delivered == [(0, 1)]
    assert queue.done == ["x"]
    assert 19 <= len(queue.calls("/extend")) <= 21


def test_messages_that_wait_here_are_kept_leased_too() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    await asyncio.sleep(15)
                if message.offset == 9:
                    break

    queue = FakeQueue.of(*range(10))
    run(queue, program, visibility_s=10)
    assert queue.delivered == [(index, 1) for index in range(10)]
    extensions = queue.calls("/extend")
    assert max(len(json.loads(request.body)["receipts"]) for request in extensions) == 10


def test_a_message_that_nobody_settles_is_not_held_for_ever() -> None:
    problems: list[SettlementProblem] = []

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                if message.attempt == 2:
                    assert 20 <= now_s() <= 30.1
                    break

    run(FakeQueue.of("x"), program, visibility_s=10, hold_s_max=30, on_problem=problems.append)
    assert [(each.action, type(each.error)) for each in problems] == [("extend", DeadlineExceeded)]


def test_a_stop_gives_back_what_nobody_works_on() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            assert await take(consumer, 1) == [0]

    queue = FakeQueue.of(*range(5))
    run(queue, program)
    assert queue.done == [0]
    assert sorted(queue.nacks) == [(1, 0), (2, 0), (3, 0), (4, 0)]


def test_a_stop_gives_back_what_is_still_on_its_way_here() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            assert await take(consumer, 9) == list(range(9))
            await asyncio.sleep(0.1)  # more was asked for and leased, and its answer is on the way

    queue = FakeQueue.of(*range(100), answer_latency_s=0.3)
    run(queue, program)
    assert queue.done == list(range(9))
    assert len(queue.delivered) > 10, "there was another answer"
    assert sorted(index for index, _ in queue.nacks) == list(range(9, len(queue.delivered)))


def test_each_receive_has_the_filter_of_the_consumer() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        asyncio.get_running_loop().call_later(0.2, consumer.stop)
        await consumer.run(lambda message: None)

    queue = FakeQueue.of(*range(5))
    run(queue, program, message_filter='tag = "a"')
    asked = [parse_qs(urlsplit(request.target).query) for request in queue.calls("/messages")]
    assert asked
    assert all(query["filter"] == ['tag = "a"'] for query in asked)


def test_at_most_once_works_on_what_is_still_on_its_way_here() -> None:
    seen: list[Any] = []

    async def program(consumer: AsyncConsumer) -> None:
        asyncio.get_running_loop().call_later(0.2, consumer.stop)
        await consumer.run(lambda message: seen.append(message.body))

    run(FakeQueue.of(*range(5), answer_latency_s=0.5), program, auto_ack=True)
    assert seen == list(range(5))


@pytest.mark.parametrize(("waits_s", "ends_by_s"), [(5, 5.1), (0.5, 1.1)])
def test_a_stop_waits_for_a_silent_server_so_long_and_no_longer(waits_s: float, ends_by_s: float) -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            begun = asyncio.ensure_future(anext(consumer, None))
            await asyncio.sleep(waits_s)
            consumer.stop()
            assert await begun is None
        assert now_s() < ends_by_s

    run(FakeQueue.of(), program)


def test_acks_are_sent_again_until_the_server_is_back() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    queue.is_down = True
                    asyncio.get_running_loop().call_later(25, setattr, queue, "is_down", False)
                break
            await consumer.flush()
            assert 25 <= now_s() <= 32

    queue = FakeQueue.of("x")
    run(queue, program, visibility_s=60)
    assert queue.done == ["x"]


def test_acks_that_cannot_be_confirmed_are_reported_at_the_close() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async for message in consumer:
            message.ack()
            queue.is_down = True
            break
        with pytest.raises(SettlementsLost, match="1 acks and nacks could not be confirmed") as caught:
            await consumer.close()
        assert caught.value.receipts == ["r-0-1"]
        assert 4 <= now_s() <= 6

    queue = FakeQueue.of("x")
    run(queue, program, stop_timeout_s=5)


def test_acks_that_failed_for_too_long_are_reported() -> None:
    problems: list[SettlementProblem] = []

    def busy(queue: FakeQueue, request: Request) -> Response | None:
        return problem(429, "OVERLOADED", True) if request.target == "/ack" else None

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                message.ack()
                break
            await consumer.flush()

    run(FakeQueue.of("x", fault=busy), program, on_problem=problems.append, settle_timeout_ms=20_000)
    assert [(each.action, each.receipt, each.error.code) for each in problems] == [("ack", "r-0-1", "OVERLOADED")]


def test_a_stale_receipt_is_reported_and_the_others_are_not_hurt(caplog: pytest.LogCaptureFixture) -> None:
    problems: list[SettlementProblem] = []

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            messages = [await anext(consumer), await anext(consumer)]
            queue.items[0].attempt += 1  # somebody else has it now
            for message in messages:
                message.ack()
            await consumer.flush()

    queue = FakeQueue.of("x", "y")
    with caplog.at_level(logging.WARNING):
        run(queue, program, on_problem=problems.append)
    assert [(each.receipt, each.error.code) for each in problems] == [("r-0-1", "RECEIPT_STALE")]
    assert queue.done == ["y"]
    assert "1 messages could not be settled; the first (ack): RECEIPT_STALE" in caplog.text


def test_the_consumer_waits_for_a_server_that_is_away() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        asyncio.get_running_loop().call_later(60, setattr, queue, "is_down", False)
        async with consumer:
            assert await take(consumer, 1) == ["x"]
            assert 60 <= now_s() <= 66

    queue = FakeQueue.of("x", is_down=True)
    run(queue, program)
    assert 12 <= len(queue.calls("/messages")) <= 40


def test_a_server_that_answers_at_once_with_nothing_is_not_asked_all_the_time() -> None:
    def shutting_down(queue: FakeQueue, request: Request) -> Response | None:
        if now_s() < 30:
            return Response(200, b'{"messages":[],"reason":"SHUTTING_DOWN"}')
        return None

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            assert await take(consumer, 1) == ["x"]

    queue = FakeQueue.of("x", fault=shutting_down)
    run(queue, program)
    assert len(queue.calls("/messages")) < 20


def test_what_waiting_does_not_change_is_raised() -> None:
    def unknown(queue: FakeQueue, request: Request) -> Response | None:
        return problem(404, "TOPIC_NOT_FOUND", False, near=["orders"])

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            for _ in range(2):
                with pytest.raises(TopicNotFound):
                    await take(consumer, 1)

    run(FakeQueue(fault=unknown), program)


def test_handlers_run_so_many_at_a_time_and_failures_come_again() -> None:
    running: list[int] = []
    most = 0

    async def handler(message: Message) -> None:
        nonlocal most
        running.append(message.offset)
        most = max(most, len(running))
        await asyncio.sleep(1)
        running.remove(message.offset)
        if message.body == 3 and message.attempt == 1:
            raise ValueError("not yet")

    async def program(consumer: AsyncConsumer) -> None:
        asyncio.get_running_loop().call_later(30, consumer.stop)
        await consumer.run(handler, concurrency=4)

    queue = FakeQueue.of(*range(20))
    run(queue, program)
    assert queue.done == list(range(20))
    assert most == 4
    assert [attempt for index, attempt in queue.delivered if index == 3] == [1, 2]


def test_a_stop_lets_running_handlers_end() -> None:
    async def handler(message: Message) -> None:
        asyncio.get_running_loop().call_soon(consumers[0].stop)
        await asyncio.sleep(20)

    consumers: list[AsyncConsumer] = []

    async def program(consumer: AsyncConsumer) -> None:
        consumers.append(consumer)
        await consumer.run(handler, concurrency=2)
        assert 20 <= now_s() <= 21

    queue = FakeQueue.of(*range(5))
    run(queue, program)
    assert queue.done == [0, 1]


def test_handlers_that_do_not_end_are_cancelled_and_their_messages_come_again() -> None:
    async def handler(message: Message) -> None:
        await asyncio.sleep(1000)

    async def program(consumer: AsyncConsumer) -> None:
        asyncio.get_running_loop().call_later(1, consumer.stop)
        await consumer.run(handler, concurrency=2)
        assert 6 <= now_s() <= 7

    queue = FakeQueue.of(*range(2))
    run(queue, program, stop_timeout_s=5)
    assert queue.done == []
    assert sorted(queue.nacks) == [(0, 0), (1, 0)]


def test_batches_are_as_large_as_asked_or_as_there_is() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        sizes = []
        async with consumer, aclosing(consumer.batches(4, linger_ms=50)) as batches:
            async for batch in batches:
                async with batch:
                    sizes.append(len(batch))
                    assert batch[0] is batch.messages[0]
                if sum(sizes) == 10:
                    break
        assert sizes == [4, 4, 2]

    queue = FakeQueue.of(*range(10))
    run(queue, program)
    assert queue.done == list(range(10))


def test_a_batch_that_fails_is_given_back_but_for_what_was_settled_by_hand() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer, aclosing(consumer.batches(3, linger_ms=50)) as batches:
            batch = await anext(batches)
            batch[1].ack()
            with pytest.raises(ZeroDivisionError):
                async with batch:
                    raise ZeroDivisionError

    queue = FakeQueue.of(1, 2, 3)
    run(queue, program, nack_delay_s=1)
    assert queue.done == [2]
    assert queue.nacks == [(0, 1), (2, 1)]


def test_at_most_once() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            assert await take(consumer, 2) == [1, 2]

    queue = FakeQueue.of(1, 2)
    run(queue, program, auto_ack=True)
    assert queue.done == [1, 2]
    assert queue.calls("/ack") == queue.calls("/extend") == []


def test_at_most_once_works_on_what_it_has_before_it_stops() -> None:
    seen: list[Any] = []

    async def handler(message: Message) -> None:
        seen.append(message.body)
        consumers[0].stop()
        await asyncio.sleep(0.1)

    consumers: list[AsyncConsumer] = []

    async def program(consumer: AsyncConsumer) -> None:
        consumers.append(consumer)
        await consumer.run(handler)

    run(FakeQueue.of(*range(5)), program, auto_ack=True)
    assert seen == list(range(5))


@pytest.mark.parametrize("seed", range(10))
def test_every_message_is_done_whatever_fails(seed: int) -> None:
    async def handler(message: Message) -> None:
        await asyncio.sleep(0.05)
        if message.attempt == 1 and message.offset % 10 == 0:
            raise ValueError

    async def program(consumer: AsyncConsumer) -> None:
        loop = asyncio.get_running_loop()
        for outage_s in (0.5, 2.0, 5.0):
            loop.call_later(outage_s, setattr, queue, "is_down", True)
            loop.call_later(outage_s + 0.7, setattr, queue, "is_down", False)
        running = loop.create_task(consumer.run(handler, concurrency=5))
        while len(queue.done) < len(queue.items):
            await asyncio.sleep(1)
        consumer.stop()
        await running

    queue = FakeQueue.of(*range(100), lose_answers=0.1, seed=seed)
    logging.getLogger("acklog.consumer").setLevel(logging.CRITICAL)
    try:
        run(queue, program, seed=seed, visibility_s=10, backoff_max_ms=500)
    finally:
        logging.getLogger("acklog.consumer").setLevel(logging.NOTSET)
    assert queue.done == list(range(100))


def test_several_handlers_of_one_client() -> None:
    seen: list[tuple[str, Any]] = []
    queue = FakeQueue.of(1, 2)

    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=queue) as client:

            @client.handler("orders", group="mail", concurrency=2)
            async def on_order(message: Message) -> None:
                seen.append((message.topic, message.body))

            @client.handler("payments", group="mail")
            def on_payment(message: Message) -> None:
                seen.append((message.topic, message.body))
                raise AssertionError("a handler's failure is its message's")

            def unknown(queue: FakeQueue, request: Request) -> Response | None:
                return problem(403, "FORBIDDEN", False) if len(queue.done) >= 2 else None

            queue.fault = unknown
            queue.items.append(Item(3))
            with pytest.raises(Exception, match="FORBIDDEN"):
                await client.run()
            with pytest.raises(InvalidArgument, match="there is no handler"):
                await client.run()

    logging.getLogger("acklog.consumer").setLevel(logging.CRITICAL)
    try:
        simulate(0, main)
    finally:
        logging.getLogger("acklog.consumer").setLevel(logging.NOTSET)
    assert len(seen) >= 2


def test_a_message_of_a_plain_receive_cannot_settle_itself() -> None:
    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=FakeQueue.of("x")) as client:
            [message] = await client.receive("orders", visibility_s=30)
            for settle in (message.ack, message.nack, message.__enter__):
                with pytest.raises(InvalidArgument, match=r"client\.ack"):
                    settle()

    simulate(0, main)


def test_a_closed_consumer_says_so() -> None:
    async def program(consumer: AsyncConsumer) -> None:
        await consumer.close()
        await consumer.close()
        with pytest.raises(ClientClosed):
            await take(consumer, 1)

    run(FakeQueue(), program)
