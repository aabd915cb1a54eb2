"""Requests that are sent again and again, in part refused, while their topic's partitions change, between two tries or
within one: every message is stored once, and every answer names the same place (rule R28)."""

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from acklog.wire.problems import ProblemCode
from app.http.application import create_app
from cluster.errors import ServerError
from cluster.model.topic_mapping import EARLIER_MAPPINGS_MAX, remapped
from cluster.model.values import Topic
from storage.produce.produce_check import check_mapping
from storage.rpc.messages import ProduceRequest
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of

REQUESTS = 3
Step = tuple[str, int, int]

_message = st.fixed_dictionaries(
    {},
    optional={
        "key": st.sampled_from([f"customer-{number}" for number in range(12)]),
        "dedupId": st.integers(0, 5),
        "partition": st.just(0),
    },
)
_requests = st.lists(st.lists(_message, min_size=1, max_size=6), min_size=REQUESTS, max_size=REQUESTS)
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, REQUESTS - 1), st.integers(0, 3)),
        st.tuples(st.just("send into a growth"), st.integers(0, REQUESTS - 1), st.integers(1, 3)),
        st.tuples(st.just("grow"), st.integers(1, 4), st.just(0)),
        st.tuples(st.just("decommission"), st.integers(1, 7), st.just(0)),
    ),
    max_size=14,
)


def named(request: int, messages: list[dict[str, object]]) -> list[dict[str, object]]:
    """With bodies of their own; equal dedupIds of one request are one message."""
    found = []
    for number, message in enumerate(messages):
        dedup_id = message.get("dedupId")
        if dedup_id is None:
            found.append({**message, "body": f"{request}-{number}"})
        else:
            key = f"customer-{dedup_id}"
            found.append({"key": key, "dedupId": f"{request}-{dedup_id}", "body": f"{request}-named-{dedup_id}"})
    return found


class Story:
    """One topic, some requests, and what was answered to them."""

    def __init__(self, requests: list[list[dict[str, object]]]) -> None:
        self.world = MemoryWorld()
        self.requests = [named(number, messages) for number, messages in enumerate(requests)]
        self.places: dict[str, tuple[int, int]] = {}

    async def play(self, steps: list[Step]) -> None:
        topic = await self.world.topic(partitions=2)
        async with client_of(create_app(self.world.gateway)) as client:
            for what, number, failures in steps:
                if what != "send" and self._topic().mapping >= EARLIER_MAPPINGS_MAX:
                    continue  # beyond so many a topic forgets the first, as is documented
                if what == "grow":
                    present = self._topic().partitions
                    await self.world.topics.update("orders", partitions=max(present, min(present + number, 12)))
                elif what == "send into a growth":
                    self.world.node.before_produce = self._leader(grow_at=failures)
                    await self._send(client, number)
                    self.world.node.before_produce = None
                elif what == "decommission":
                    if number < self._topic().partitions:
                        await self.world.topics.decommission("orders", [number])
                else:
                    busy = [ServerError(ProblemCode.OVERLOADED, "busy")] * failures
                    self.world.node.fail("produce", *busy)
                    await self._send(client, number)
                    self.world.node.forgive()
            for number in range(REQUESTS):
                await self._send(client, number)
        bodies = sorted(record.body.decode().strip('"') for record in self.world.node.stored(topic.id))
        assert bodies == sorted({str(message["body"]) for request in self.requests for message in request})
        assert set(self.places) == set(bodies)

    def _leader(self, *, grow_at: int) -> Callable[[ProduceRequest], None]:
        """Which takes nothing by a mapping that is over, from the so many-th batch on that it is asked to take."""
        asked = 0

        def take(request: ProduceRequest) -> None:
            nonlocal asked
            asked += 1
            if asked == grow_at:
                topic = self._topic()
                now_ms, ordered = self.world.clock.now_ms(), topic.ordered_mappings + 1
                grown = remapped(
                    topic,
                    partitions=topic.partitions + 1,
                    decommissioned=topic.decommissioned,
                    ordered_mappings=ordered,
                    now_ms=now_ms,
                )
                self.world.metadata.topics_by_name["orders"] = grown
            check_mapping(request, self._topic())

        return take

    def _topic(self) -> Topic:
        return self.world.metadata.topics_by_name["orders"]

    async def _send(self, client: Any, number: int) -> None:
        envelope = {"queue": "orders", "messages": self.requests[number]}
        answer = await client.post("/messages", json=envelope, headers={"Idempotency-Key": f"request-{number}"})
        document = answer.json()
        results = document.get("results", [])
        for message, result in zip(self.requests[number], results, strict=True):
            assert result.get("code") in {None, "OVERLOADED"}, document
            if "code" not in result:
                place = (result["partition"], result["offset"])
                assert self.places.setdefault(str(message["body"]), place) == place


@given(_requests, _steps)
@example(  # what has a dedupId parts the others of its request, found or not
    [[{}], [{}, {"dedupId": 0}, {}], [{}]], [("grow", 1, 0), ("send", 1, 0)]
)
@example(  # as many changes as are remembered, and more
    [[{}], [{}], [{}]], [("send", 0, 0), *[("grow", 1, 0)] * (EARLIER_MAPPINGS_MAX + 1), ("send", 0, 0)]
)
@settings(max_examples=150, deadline=None)
def test_every_message_is_stored_once(requests: list[list[dict[str, object]]], steps: list[Step]) -> None:
    asyncio.run(Story(requests).play(steps))
