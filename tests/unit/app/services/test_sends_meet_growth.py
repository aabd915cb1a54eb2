"""A send that comes to a partition just when its topic's partitions change is placed anew, and its caller hears nothing
of it."""

import asyncio
import json
from collections import Counter
from typing import Any

import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE
from app.calls.send import Produce
from app.calls.send_result import Placed
from app.services.registry import Services
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.topic_mapping import remapped
from cluster.model.values import Topic
from storage.produce.produce_check import mapping_is_over
from storage.rpc.messages import ANY_MAPPING, ProduceRequest
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.memory_gateway import MemoryWorld

Json = dict[str, object]


class Growing:
    """Leaders that hear of a change just before they are asked the `at`-th time, and take nothing by a mapping that is
    over. `has_heard`: so has the gateway."""

    def __init__(self, world: MemoryWorld, topic: Topic, *, at: int = 1, has_heard: bool = True) -> None:
        self.topic = topic
        self.to: list[tuple[int, tuple[int, ...]]] = [(7, ())]
        self.refused = 0
        self._world = world
        self._at = at
        self._asked = 0
        self._has_heard = has_heard
        world.node.before_produce = self._asked_for

    def _asked_for(self, request: ProduceRequest) -> None:
        self._asked += 1
        if self._asked >= self._at and self.to and request.mapping == self.topic.mapping:
            partitions, decommissioned = self.to.pop(0)
            self.topic = remapped(
                self.topic,
                partitions=partitions,
                decommissioned=decommissioned,
                ordered_mappings=self.topic.mapping + 1,
                now_ms=self._world.clock.now_ms(),
            )
            if self._has_heard:
                self.tell_gateway()
        if request.mapping not in {ANY_MAPPING, self.topic.mapping}:
            self.refused += 1
            if request.partition in self.topic.decommissioned:
                raise ServerError(ProblemCode.PARTITION_DECOMMISSIONED, "it takes no more")
            raise mapping_is_over(self.topic)

    def tell_gateway(self) -> None:
        self._world.metadata.topics_by_name["orders"] = self.topic


def numbered(count: int, pad: str = "x" * 100) -> list[Json]:
    return [{"body": [number, pad], "key": f"customer-{number}"} for number in range(count)]


async def send(client: httpx2.AsyncClient, messages: list[Json], key: str | None = None) -> tuple[int, Any]:
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = await client.post("/messages", json={"queue": "orders", "messages": messages}, headers=headers)
    return answer.status_code, answer.json()


def stored(world: MemoryWorld, topic: Topic) -> Counter[str]:
    return Counter(json.dumps(json.loads(record.body)) for record in world.node.stored(topic.id))


def once(messages: list[Json]) -> Counter[str]:
    return Counter(json.dumps(message["body"]) for message in messages)


SHAPES: dict[str, list[Json]] = {
    "plain": numbered(40),
    "with keyless ones": [*numbered(20), {"body": "a"}, *numbered(3), {"body": "b"}],
    "with headers": [{**message, "headers": {"source": "shop"}} for message in numbered(40)],
    "named one by one": [{**message, "dedupId": f"d{number}"} for number, message in enumerate(numbered(40))],
    "some named": [{**each, **({"dedupId": f"d{n}"} if n % 3 else {})} for n, each in enumerate(numbered(40))],
}


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("key", [None, "request-1"], ids=["", "request-named"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_every_message_is_stored_once_where_it_belongs_now(
    client: httpx2.AsyncClient, world: MemoryWorld, shape: str, key: str | None, at: int
) -> None:
    """`at`: some of its partitions have been through before."""
    growing = Growing(world, await world.topic(partitions=3), at=at)
    status, first = await send(client, SHAPES[shape], key)
    assert (status, first["failed"], growing.refused > 0) == (201, 0, True)
    assert stored(world, growing.topic) == once(SHAPES[shape])
    places = {(result["partition"], result["offset"]) for result in first["results"]}
    assert len(places) == len(SHAPES[shape])
    if key is not None or all("dedupId" in message for message in SHAPES[shape]):
        assert await send(client, SHAPES[shape], key) == (status, first)
        assert stored(world, growing.topic) == once(SHAPES[shape])


@pytest.mark.parametrize(
    "extra", [{}, {"headers": {"source": "shop"}}, {"dedupId": "d"}], ids=["plain", "more", "named"]
)
async def test_a_single_message(client: httpx2.AsyncClient, world: MemoryWorld, extra: Json) -> None:
    growing = Growing(world, await world.topic(partitions=1))
    answer = await client.post("/messages", json={"queue": "orders", "key": "customer-7", "body": 1, **extra})
    assert (answer.status_code, growing.refused) == (201, 1)
    assert len(world.node.stored(growing.topic.id)) == 1
    other = await client.post("/messages", json={"queue": "orders", "key": "customer-7", "body": 2})
    assert other.json()["partition"] == answer.json()["partition"] != 0


async def test_single_messages_that_shared_a_batch_part(world: MemoryWorld) -> None:
    growing = Growing(world, await world.topic(partitions=1))
    services = Services(world.gateway)
    waiters: list[asyncio.Future[Placed]] = [asyncio.get_running_loop().create_future() for _ in range(20)]
    for number, waiter in enumerate(waiters):
        single = Produce("orders", [(b"%d" % number, f"customer-{number}")])
        assert services.send.begin(single, ANYONE, waiter) is not None
    waiters[3].cancel()
    placed = await asyncio.gather(*waiters, return_exceptions=True)
    partitions = {each.partition for each in placed if isinstance(each, Placed)}
    assert len(partitions) > 1
    assert growing.refused == 1
    assert Counter(record.body for record in world.node.stored(growing.topic.id)) == Counter(
        b"%d" % number for number in range(20)
    )


async def test_keys_keep_their_order_within_a_request(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    growing = Growing(world, await world.topic(partitions=2))
    messages: list[Json] = [{"key": f"customer-{number % 5}", "body": number} for number in range(50)]
    assert (await send(client, messages))[0] == 201
    for name in range(5):
        bodies = [int(r.body) for r in world.node.stored(growing.topic.id) if r.key == f"customer-{name}"]
        assert bodies == sorted(bodies)


async def test_who_names_a_partition_keeps_it(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    growing = Growing(world, await world.topic(partitions=2))
    chosen: list[Json] = [{**message, "partition": 1} for message in numbered(10)]
    status, answer = await send(client, [*numbered(20), *chosen])
    assert (status, growing.refused > 0) == (201, True)
    assert {result["partition"] for result in answer["results"][20:]} == {1}
    assert {result["partition"] for result in answer["results"][:20]} > {1}
    assert stored(world, growing.topic) == once([*numbered(20), *chosen])


async def test_a_partition_that_has_just_been_decommissioned(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    growing = Growing(world, await world.topic(partitions=3))
    growing.to = [(3, (0, 2))]
    status, answer = await send(client, numbered(20))
    assert (status, {result["partition"] for result in answer["results"]}) == (201, {1})
    assert stored(world, growing.topic) == once(numbered(20))


@pytest.mark.parametrize("key", [None, "request-1"])
async def test_a_gateway_that_has_not_heard_asks(
    client: httpx2.AsyncClient, world: MemoryWorld, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = Growing(world, await world.topic(partitions=2), has_heard=False)
    confirmed = []

    async def confirm(name: str) -> None:
        confirmed.append(name)
        growing.tell_gateway()

    monkeypatch.setattr(world.metadata, "confirm", confirm)
    assert (await send(client, numbered(20), key))[0] == 201
    assert set(confirmed) == {keys.topic("orders")}
    assert stored(world, growing.topic) == once(numbered(20))


@pytest.mark.parametrize("messages", [numbered(20), numbered(1)], ids=["many", "one"])
@pytest.mark.parametrize("key", [None, "request-1"])
async def test_where_nobody_says_what_has_changed_the_caller_is_told_to_send_again(
    client: httpx2.AsyncClient, world: MemoryWorld, key: str | None, messages: list[Json]
) -> None:
    growing = Growing(world, await world.topic(partitions=1), has_heard=False)
    status, answer = await send(client, messages, key)
    assert (status, answer["code"], answer["retriable"]) == (409, "CONFLICT", True)
    assert not world.node.stored(growing.topic.id)
    growing.tell_gateway()
    assert (await send(client, messages, key))[0] == 201
    assert stored(world, growing.topic) == once(messages)


@pytest.mark.parametrize("messages", [numbered(20), numbered(1)], ids=["many", "one"])
@pytest.mark.parametrize("key", [None, "request-1"])
async def test_a_second_change_on_the_way_is_told(
    client: httpx2.AsyncClient, world: MemoryWorld, key: str | None, messages: list[Json]
) -> None:
    growing = Growing(world, await world.topic(partitions=1))
    growing.to = [(2, ()), (5, ())]
    status, answer = await send(client, messages, key)
    assert (status, answer["code"]) == (409, "CONFLICT")
    assert (await send(client, messages, key))[0] == 201
    assert stored(world, growing.topic) == once(messages)


async def test_what_is_unknown_is_settled_before_a_named_request_is_placed_anew(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    """One part of it may be stored, another one was kept out: the first is looked for, and is not stored again."""
    growing = Growing(world, await world.topic(partitions=2), at=2)
    produce, calls = world.node.produce, []

    async def lose_the_first_answer(request: ProduceRequest) -> Any:
        calls.append(request)
        answer = await produce(request)
        if len(calls) == 1:
            raise ServerError(ProblemCode.OUTCOME_UNKNOWN, "the connection broke")
        return answer

    world.node.produce = lose_the_first_answer  # type: ignore[method-assign]
    status, answer = await send(client, numbered(20), "request-1")
    assert (status, answer["failed"], growing.refused) == (201, 0, 1)
    assert stored(world, growing.topic) == once(numbered(20))
    assert await send(client, numbered(20), "request-1") == (status, answer)


async def test_what_is_unknown_and_has_no_name_stays_unknown(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    growing = Growing(world, await world.topic(partitions=2), at=2)
    world.node.fail("produce", ServerError(ProblemCode.OUTCOME_UNKNOWN, "the connection broke"))
    growing._asked = 1
    status, answer = await send(client, numbered(20))
    assert (status, growing.refused) == (207, 1)
    unknown = [number for number, result in enumerate(answer["results"]) if result.get("code")]
    assert {answer["results"][number]["code"] for number in unknown} == {"OUTCOME_UNKNOWN"}
    left = [message for number, message in enumerate(numbered(20)) if number not in unknown]
    assert stored(world, growing.topic) == once(left)


@pytest.mark.parametrize("name", [{}, {"dedupId": "d1"}], ids=["", "named"])
def test_what_is_to_be_seen_later_is_placed_anew_too(name: Json) -> None:
    """The leaders hear of a change first, then the gateway."""

    async def main(cluster: Cluster) -> None:
        await cluster.topic(replicas=1, partitions=1)
        client, view = client_of(cluster.gateways[0]), cluster.gateways[0].gateway.metadata
        message = {"queue": "orders", "key": "customer-7", "body": 1, "delaySeconds": 3_600, **name}
        before = view.topics()[0]
        with pytest.MonkeyPatch.context() as patch:
            await client.patch("/topics/orders", json={"partitions": 7})
            shown = iter([before] * 2)
            patch.setattr(view, "topic", lambda _: next(shown, view.topics()[0]))
            answer = await client.post("/messages", json=message)
        assert (answer.status_code, answer.json()["partition"] > 0) == (201, True), answer.text
        if name:
            await client.patch("/topics/orders", json={"partitions": 12})
            again = await client.post("/messages", json=message)
            assert again.json()["scheduleId"] == answer.json()["scheduleId"]
        listed = (await client.get("/topics/orders/scheduled")).json()
        assert len(listed["scheduled"]) == 1, listed

    ClusterBuilder().nodes(1).gateway().run(main)
