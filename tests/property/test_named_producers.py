"""Processes that open names, send under them, try again and are fenced, while their topic grows: exactly what a naive
model says is stored, and answered (rules R3, R19)."""

import asyncio
from collections import Counter
from typing import Any

import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.wire.problems import ProblemCode
from app.http.application import create_app
from cluster.errors import ServerError
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of

NAMES = ("a", "b")
PROCESSES = 4
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("open"), st.integers(0, PROCESSES - 1), st.just(0), st.just("")),
        st.tuples(
            st.just("send"),
            st.integers(0, PROCESSES - 1),
            st.integers(0, 3),
            st.sampled_from(["", "", "other content", "refused"]),
        ),
        st.tuples(st.just("grow"), st.integers(1, 3), st.just(0), st.just("")),
    ),
    max_size=25,
)


class Model:
    """Who has which name, and the first answer to each request: dictionaries, and no more."""

    def __init__(self) -> None:
        self.epochs: Counter[str] = Counter()
        self.life: dict[int, int] = {}
        self.answers: dict[tuple[str, int, int], tuple[str, Any]] = {}

    def open(self, name: str, process: int) -> int:
        self.epochs[name] += 1
        self.life[process] = self.epochs[name]
        return self.life[process]


class Story:
    def __init__(self) -> None:
        self.world = MemoryWorld()
        self.model = Model()
        self.heads: dict[int, dict[str, str]] = {}
        self.partitions = 3

    async def play(self, steps: list[tuple[str, int, int, str]]) -> None:
        topic = await self.world.topic(partitions=self.partitions)
        async with client_of(create_app(self.world.gateway)) as client:
            for what, number, sequence, how in steps:
                if what == "open":
                    await self.open(client, number)
                elif what == "grow":
                    self.partitions += number
                    await self.world.topics.update("orders", partitions=self.partitions)
                elif number in self.heads:
                    await self.send(client, number, sequence, how)
        stored = Counter(record.body for record in self.world.node.stored(topic.id))
        wanted = Counter(f'"{body}"'.encode() for body, _ in self.model.answers.values())
        assert stored == wanted

    async def open(self, client: httpx2.AsyncClient, process: int) -> None:
        name = NAMES[process % 2]
        answer = await client.put(f"/topics/orders/producers/{name}", json={"instanceId": str(process)})
        view = answer.json()
        assert view["epoch"] == self.model.open(name, process)
        self.heads[process] = {"Producer-Id": view["producerId"], "Producer-Epoch": str(view["epoch"])}

    async def send(self, client: httpx2.AsyncClient, process: int, sequence: int, how: str) -> None:
        model, name = self.model, NAMES[process % 2]
        life = model.life[process]
        request = (name, life, sequence)
        body = f"{name}-{life}-{sequence}-{'other' if how == 'other content' else ''}"
        if how == "refused":
            self.world.node.fail("produce", ServerError(ProblemCode.OVERLOADED, "busy"))
        answer = await client.post(
            "/messages",
            json={"queue": "orders", "body": body, "key": f"k{sequence}"},
            headers={**self.heads[process], "Producer-Sequence": str(sequence)},
        )
        self.world.node.forgive()
        document = answer.json()
        if life != model.epochs[name]:
            assert (answer.status_code, document["code"]) == (409, "PRODUCER_FENCED")
        elif how == "refused" and answer.status_code != 201:
            assert document["code"] in {"OVERLOADED", "IDEMPOTENCY_KEY_REUSED"}
        elif request not in model.answers:
            assert answer.status_code == 201
            model.answers[request] = (body, document)
        elif model.answers[request][0] == body:
            assert document == model.answers[request][1]
        else:
            assert document["code"] == "IDEMPOTENCY_KEY_REUSED"


@given(_steps)
@settings(max_examples=150, deadline=None)
def test_exactly_what_the_model_says_is_stored(steps: list[tuple[str, int, int, str]]) -> None:
    asyncio.run(Story().play(steps))
