"""What every way to a node promises. Subclasses provide the fixture `connect`: a FakeNode in, a NodeApi out."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.rpc import inspect_messages, messages
from storage.rpc.node_api import NodeApi
from tests.support.fake_node import ANSWERS, REQUESTS, TOPIC_ID, FakeNode

Connect = Callable[[FakeNode], Awaitable[NodeApi]]


async def _until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)


class NodeApiContract:
    @pytest.mark.parametrize("name", sorted(REQUESTS))
    async def test_a_request_and_its_answer_arrive_as_they_were(self, connect: Connect, name: str) -> None:
        node = FakeNode()
        api = await connect(node)
        assert await getattr(api, name)(REQUESTS[name]) == ANSWERS[name]
        assert node.seen == [(name, REQUESTS[name])]

    async def test_a_large_batch_keeps_its_bytes(self, connect: Connect) -> None:
        node = FakeNode()
        api = await connect(node)
        batch = bytearray(bytes(range(256)) * 8 * 1024)
        await api.produce(messages.ProduceRequest(TOPIC_ID, 0, batch))
        assert node.calls("produce")[0].batch == batch

    async def test_the_node_stamps_its_own_copy_of_a_batch(self, connect: Connect) -> None:
        def stamp(request: messages.ProduceRequest) -> messages.ProduceResponse:
            request.batch[:5] = b"stamp"
            return messages.ProduceResponse(0, 0, 0)

        node = FakeNode()
        node.behave("produce", stamp)
        api = await connect(node)
        batch = bytearray(b"before and after")
        await api.produce(messages.ProduceRequest(TOPIC_ID, 0, batch))
        assert batch == b"before and after"

    async def test_an_expected_failure_keeps_all_that_it_says(self, connect: Connect) -> None:
        def fail(request: Any) -> Any:
            raise ServerError(
                ProblemCode.OVERLOADED, "too much", field="queue", retry_after_ms=250, extra={"near": ["orders"]}
            )

        node = FakeNode()
        node.behave("settle", fail)
        api = await connect(node)
        with pytest.raises(ServerError) as caught:
            await api.settle(REQUESTS["settle"])
        error = caught.value
        assert (error.code, error.detail, error.field, error.retry_after_ms, error.extra) == (
            ProblemCode.OVERLOADED,
            "too much",
            "queue",
            250,
            {"near": ["orders"]},
        )

    async def test_a_cancelled_call_is_cancelled_at_the_node(self, connect: Connect) -> None:
        node = FakeNode()
        node.hold("receive")
        api = await connect(node)
        call = asyncio.create_task(api.receive(REQUESTS["receive"]))
        await _until(lambda: node.calls("receive"))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await _until(lambda: node.cancelled)
        assert node.cancelled == ["receive"]
        assert await api.seek(REQUESTS["seek"]) == ANSWERS["seek"]  # and the way there still works

    async def test_calls_do_not_wait_for_each_other(self, connect: Connect) -> None:
        node = FakeNode()
        gate = node.hold("receive")
        api = await connect(node)
        waiting = [asyncio.create_task(api.receive(REQUESTS["receive"])) for _ in range(20)]
        await _until(lambda: len(node.calls("receive")) == 20)
        assert await api.positions(REQUESTS["positions"]) == ANSWERS["positions"]
        assert not any(call.done() for call in waiting)
        gate.set()
        assert await asyncio.gather(*waiting) == [ANSWERS["receive"]] * 20

    async def test_each_call_gets_its_own_answer(self, connect: Connect) -> None:
        node = FakeNode()
        node.behave("inspect", lambda request: inspect_messages.InspectResponse(Record(b"x"), 0, request.offset, []))
        api = await connect(node)
        answers = await asyncio.gather(
            *(api.inspect(inspect_messages.InspectRequest(TOPIC_ID, 0, offset, 0)) for offset in range(200))
        )
        assert [answer.append_time_ms for answer in answers] == list(range(200))
