"""The asynchronous producer in virtual time, against a server that fails in every way that a retry can meet."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from acklog import AsyncClient
from acklog.client.call import Request, Response
from acklog.errors import (
    AcklogError,
    BufferFull,
    CannotConnect,
    ClientClosed,
    ConnectionFailed,
    DeadlineExceeded,
    DeliveryFailed,
    Forbidden,
    InvalidArgument,
    MessageTooLarge,
    TopicNotFound,
)
from acklog.producer.async_producer import AsyncProducer
from tests.sim.loop import SimLoop, simulate
from tests.unit.sdk.fake_log import FakeLog, answer, envelope_of, problem

MIB = 1024 * 1024
Program = Callable[[AsyncProducer], Awaitable[None]]


def run(log: FakeLog, program: Program, *, seed: int = 0, **options: Any) -> None:
    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=log) as client:
            await program(client.producer("orders", **options))

    simulate(seed, main)


def test_a_delivery_has_the_place_of_its_message() -> None:
    async def program(producer: AsyncProducer) -> None:
        deliveries = [await producer.send({"n": number}, key="k") for number in range(3)]
        assert [(await delivery).offset for delivery in deliveries] == [0, 1, 2]
        assert deliveries[0].done()
        assert deliveries[0].error() is None

    log = FakeLog()
    run(log, program)
    assert log.bodies() == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len(log.requests) == 1


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_lost_doubled_or_out_of_order_whatever_fails(seed: int) -> None:
    log = FakeLog(seed, unreachable=0.2, lose_answers=0.2, overloaded=0.02)

    async def program(producer: AsyncProducer) -> None:
        async with producer:
            for number in range(300):
                await producer.send(number, key=f"key-{number % 7}")
                if number % 50 == 0:
                    await asyncio.sleep(0.01)

    run(log, program, seed=seed, batch_messages_max=10, requests_in_flight_max=3)
    assert sorted(log.bodies()) == list(range(300))
    assert log.in_flight_max <= 3


@pytest.mark.parametrize("seed", range(20))
def test_messages_of_a_key_keep_their_order_over_retries(seed: int) -> None:
    log = FakeLog(seed, unreachable=0.3, lose_answers=0.3)

    async def program(producer: AsyncProducer) -> None:
        async with producer:
            for number in range(200):
                await producer.send(number, key=f"key-{number % 5}")

    run(log, program, seed=seed, batch_messages_max=7)
    for residue in range(5):
        of_key = [body for body in log.bodies() if body % 5 == residue]
        assert of_key == sorted(of_key)


def test_a_retry_is_the_same_request_byte_by_byte() -> None:
    attempts = 0

    def twice_lost(log: FakeLog, request: Request) -> Response | None:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            log.store(request)
            raise ConnectionFailed("the connection broke")
        return None

    async def program(producer: AsyncProducer) -> None:
        await (await producer.send("once"))
        await (await producer.send("twice"))

    log = FakeLog(fault=twice_lost)
    run(log, program)
    first, second, third, other = log.requests
    assert first == second == third
    assert other.headers["Idempotency-Key"] != first.headers["Idempotency-Key"]
    assert log.bodies() == ["once", "twice"]


def test_one_message_of_a_batch_may_fail_alone() -> None:
    def refuse_second(log: FakeLog, request: Request) -> Response | None:
        results: list[dict[str, Any]] = [
            {"messageId": "m-0", "partition": 0, "offset": 0},
            {"code": "INVALID_FIELD", "detail": "no", "retriable": False, "field": "messages[1].key"},
        ]
        return answer(207, {"results": results, "failed": 1})

    async def program(producer: AsyncProducer) -> None:
        good, bad = await producer.send(1), await producer.send(2)
        assert (await good).offset == 0
        with pytest.raises(AcklogError) as caught:
            await bad
        assert caught.value.code == "INVALID_FIELD"
        assert bad.error() is caught.value
        await producer.flush()  # its failure is known, so the flush has nothing to say

    run(FakeLog(fault=refuse_second), program)


def test_an_error_that_no_retry_changes_fails_at_once() -> None:
    def unknown(log: FakeLog, request: Request) -> Response | None:
        return problem(404, "TOPIC_NOT_FOUND", False, near=["orders"])

    async def program(producer: AsyncProducer) -> None:
        with pytest.raises(TopicNotFound) as caught:
            await (await producer.send(1))
        assert caught.value.near == ["orders"]

    log = FakeLog(fault=unknown)
    run(log, program)
    assert len(log.requests) == 1


def test_a_retry_waits_as_long_as_the_server_asks() -> None:
    def busy_once(log: FakeLog, request: Request) -> Response | None:
        if len(log.requests) > 1:
            return None
        return problem(429, "OVERLOADED", True, headers={"retry-after": "7"})

    async def program(producer: AsyncProducer) -> None:
        started = asyncio.get_running_loop().time()
        await (await producer.send(1))
        assert 7 <= asyncio.get_running_loop().time() - started < 8

    run(FakeLog(fault=busy_once), program)


def test_the_deadline_of_a_delivery_says_what_failed_and_what_may_be_stored() -> None:
    async def program(producer: AsyncProducer) -> None:
        started = asyncio.get_running_loop().time()
        delivery = await producer.send(1)
        with pytest.raises(DeadlineExceeded, match=r"it is not stored; last failure: CANNOT_CONNECT"):
            await delivery
        assert asyncio.get_running_loop().time() - started == pytest.approx(10, abs=0.1)
        assert producer.buffered_bytes == 0

    run(FakeLog(unreachable=1.0), program, delivery_timeout_ms=10_000)


def test_a_producer_without_a_server_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def program(producer: AsyncProducer) -> None:
        first = await producer.send(1)
        with pytest.raises(CannotConnect, match="nobody listens"):
            await first
        assert 15 <= asyncio.get_running_loop().time() < 18
        with pytest.raises(CannotConnect):  # what comes later gets one try
            await (await producer.send(2))
        assert asyncio.get_running_loop().time() < 19
        log.unreachable = 0.0
        assert (await (await producer.send(3))).offset == 0

    log = FakeLog(unreachable=1.0)
    run(log, program)
    assert [record.getMessage() for record in caplog.records] == [
        "nothing can be sent yet, trying again: CANNOT_CONNECT: nobody listens"
    ]


def test_a_server_that_was_there_is_waited_for() -> None:
    async def program(producer: AsyncProducer) -> None:
        await (await producer.send(1))
        log.unreachable = 1.0
        started = asyncio.get_running_loop().time()
        with pytest.raises(DeadlineExceeded):
            await (await producer.send(2))
        assert asyncio.get_running_loop().time() - started == pytest.approx(120, abs=0.5)

    log = FakeLog()
    run(log, program)


def test_the_deadline_of_a_delivery_whose_answers_are_lost() -> None:
    async def program(producer: AsyncProducer) -> None:
        delivery = await producer.send(1)
        with pytest.raises(DeadlineExceeded, match="it may be stored all the same"):
            await delivery

    run(FakeLog(lose_answers=1.0), program, delivery_timeout_ms=10_000)


def test_what_comes_behind_a_batch_that_is_stuck_fails_in_time_too() -> None:
    async def program(producer: AsyncProducer) -> None:
        deliveries = [await producer.send(number, key="k") for number in range(3)]
        for delivery in deliveries:
            with pytest.raises(DeadlineExceeded):
                await delivery
        assert asyncio.get_running_loop().time() < 11

    run(FakeLog(unreachable=1.0), program, delivery_timeout_ms=10_000, batch_messages_max=1)


def test_a_full_buffer_makes_senders_wait_and_then_fail() -> None:
    async def program(producer: AsyncProducer) -> None:
        body = "x" * (MIB // 2)
        for _ in range(3):
            await producer.send(body)
        with pytest.raises(BufferFull, match="no room for 3000 ms; the message was not taken"):
            await producer.send(body)
        assert asyncio.get_running_loop().time() == pytest.approx(3, abs=0.1)
        assert producer.buffered_messages == 3
        assert producer.buffered_bytes <= 2 * MIB

    run(FakeLog(unreachable=1.0), program, buffer_bytes_max=2 * MIB, send_timeout_ms=3000, delivery_timeout_ms=60_000)


def test_senders_that_wait_go_on_when_there_is_room() -> None:
    async def program(producer: AsyncProducer) -> None:
        body = "x" * (MIB // 2)

        async def send(number: int) -> None:
            await producer.send(body, key=str(number))

        await asyncio.gather(*(send(number) for number in range(40)))
        await producer.flush()

    log = FakeLog()
    run(log, program, buffer_bytes_max=2 * MIB)
    assert len(log.messages) == 40


def test_callbacks_are_called_once_and_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    async def program(producer: AsyncProducer) -> None:
        delivery = await producer.send(1)
        delivery.add_done_callback(lambda each: seen.append(each.index))
        delivery.add_done_callback(lambda each: seen.append(1 // each.index))
        await delivery
        delivery.add_done_callback(lambda each: seen.append(99))

    with caplog.at_level(logging.ERROR):
        run(FakeLog(), program)
    assert seen == [0, 99]
    assert "a delivery's callback failed" in caplog.text


def test_a_flush_raises_failures_that_nobody_has_looked_at() -> None:
    def forbidden(log: FakeLog, request: Request) -> Response | None:
        return problem(403, "FORBIDDEN", False)

    async def program(producer: AsyncProducer) -> None:
        for number in range(250):
            await producer.send(number)
        with pytest.raises(DeliveryFailed, match="250 messages were not delivered; the first: FORBIDDEN") as caught:
            await producer.flush()
        assert caught.value.count == 250
        assert len(caught.value.failures) == 100
        assert isinstance(caught.value.failures[0], Forbidden)
        await producer.flush()
        await producer.send(1)
        with pytest.raises(DeliveryFailed):
            await producer.close()

    run(FakeLog(fault=forbidden), program, batch_messages_max=10)


def test_a_flush_has_a_deadline_of_its_own() -> None:
    async def program(producer: AsyncProducer) -> None:
        delivery = await producer.send(1)
        with pytest.raises(DeadlineExceeded, match="1 messages were not confirmed within 2 s; they go on"):
            await producer.flush(2)
        assert not delivery.done()

    run(FakeLog(unreachable=1.0), program)


def test_a_close_delivers_what_is_buffered() -> None:
    async def program(producer: AsyncProducer) -> None:
        async with producer:
            for number in range(50):
                await producer.send(number)
        with pytest.raises(ClientClosed):
            await producer.send(1)

    log = FakeLog()
    run(log, program, linger_ms=60_000)
    assert log.bodies() == list(range(50))


def test_a_close_gives_up_after_its_time_and_says_so() -> None:
    async def program(producer: AsyncProducer) -> None:
        deliveries = [await producer.send(number, key="k") for number in range(3)]
        with pytest.raises(DeliveryFailed, match="3 messages were not delivered"):
            await producer.close()
        assert asyncio.get_running_loop().time() == pytest.approx(5, abs=0.1)
        assert all(delivery.done() for delivery in deliveries)
        assert producer.buffered_bytes == 0

    run(FakeLog(unreachable=1.0), program, close_timeout_ms=5000, batch_messages_max=1)


def test_requests_may_be_compressed() -> None:
    async def program(producer: AsyncProducer) -> None:
        async with producer:
            for number in range(100):
                await producer.send({"text": "again and again", "n": number})

    log = FakeLog()
    run(log, program, compression="gzip")
    assert len(log.messages) == 100
    [request] = log.requests
    assert len(request.body) < 1500


def test_every_field_of_a_message_arrives() -> None:
    async def program(producer: AsyncProducer) -> None:
        async with producer:
            await producer.send(
                None, key="k", headers={"h": "v"}, tags=["t"], timestamp_ms=5, partition=3, dedup_id="once"
            )
            await producer.send(b"\0", content_type="image/png")
            await producer.send(7, delay_seconds=2.5, ttl_seconds=60)
            await producer.send(8, key="later", deliver_at=datetime(2030, 1, 1, tzinfo=UTC))

    log = FakeLog()
    run(log, program, acks=1)
    assert sorted(log.messages, key=len) == [
        {"bodyBase64": "AA==", "contentType": "image/png"},
        {"body": 7, "delaySeconds": 2.5, "ttlSeconds": 60},
        {"body": 8, "key": "later", "deliverAt": "2030-01-01T00:00:00+00:00"},
        {
            "body": None,
            "key": "k",
            "headers": {"h": "v"},
            "tags": ["t"],
            "timestamp": 5,
            "partition": 3,
            "dedupId": "once",
        },
    ]
    assert envelope_of(log.requests[0])["queue"] == "orders"
    assert envelope_of(log.requests[0])["acks"] == 1


def test_what_cannot_be_a_message_is_refused_at_once() -> None:
    async def program(producer: AsyncProducer) -> None:
        with pytest.raises(InvalidArgument, match="cannot be JSON"):
            await producer.send(object())
        with pytest.raises(InvalidArgument, match="content_type goes with a body of bytes"):
            await producer.send("text", content_type="text/plain")
        with pytest.raises(InvalidArgument, match="has no zone"):
            await producer.send(1, deliver_at=datetime(2030, 1, 1))
        with pytest.raises(MessageTooLarge, match="1048577 bytes, the limit is 1048576"):
            await producer.send(b"x" * (MIB + 1))
        await producer.send("x" * (MIB - 2))
        assert producer.buffered_messages == 1

    run(FakeLog(), program)


def test_a_partitioner_of_ones_own() -> None:
    def describe(log: FakeLog, request: Request) -> Response | None:
        if request.method == "GET":
            assert request.target == "/topics/orders"
            config = {
                "retention": "time",
                "retentionMs": 1,
                "retentionBytes": -1,
                "segmentBytes": 1,
                "dedupWindowMs": 1,
                "minInsyncReplicas": 1,
                "maxReplicaLagMs": 1,
            }
            topic = {"name": "orders", "id": "x", "partitions": 4, "replicationFactor": 1, "createdAt": 1}
            return answer(200, {**topic, "config": config, "partitionStates": []})
        return None

    def by_length(topic: str, key: str | None, partitions: int) -> int:
        assert topic == "orders"
        return len(key or "") % partitions if key != "bad" else 4

    async def program(producer: AsyncProducer) -> None:
        async with producer:
            await producer.send(1, key="12345")
            await producer.send(2, key="123", partition=0)
            with pytest.raises(InvalidArgument, match=r"the partitioner returned 4; 'orders' has 0 to 3"):
                await producer.send(3, key="bad")

    log = FakeLog(fault=describe)
    run(log, program, partitioner=by_length)
    assert sorted(message["partition"] for message in log.messages) == [0, 1]
