"""While batches are under way to a node the next ones wait for them, within limits. On virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import NamedTuple

import pytest

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.calls.send_result import Placed
from app.gateway.batching.coalescer import ANY_PARTITION, Destination
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL, ProduceResponse
from tests.sim.loop import SimLoop, simulate
from tests.support.coalescing import coalescer_of

TOPIC = "t" * 13
WAIT_MS = 8
SLOW = 7
FAILING = 6


class Sent(NamedTuple):
    at_ms: float
    partition: int
    bodies: list[bytes]


class Nodes:
    """Partitions 0 to 3 are led by node 1, all others by node 2, unless a test moves one. A batch takes `duration_ms`,
    one to the partition SLOW ten times as long, and one to FAILING fails after it."""

    def __init__(self, loop: SimLoop, *, duration_ms: float) -> None:
        self._loop = loop
        self._duration_ms = duration_ms
        self._offsets: dict[int, int] = {}
        self.moved: dict[int, int] = {}
        self.sent: list[Sent] = []
        self.next_choices: list[int] = []
        self.coalescer = coalescer_of(
            self._append,
            any_in_flight_max=3,
            wait_ms=WAIT_MS,
            destination_of=self._destination_of,
            choose=self._choose,
        )

    @property
    def now_ms(self) -> float:
        return round(self._loop.time() * 1000, 3)

    def _destination_of(self, topic_id: str, partition: int) -> Destination:
        if partition == ANY_PARTITION:
            return topic_id
        return self.moved.get(partition, 1 if partition < 4 else 2)

    def _choose(self, topic_id: str, size_bytes: int, is_busy: Callable[[int], bool]) -> int:
        if not self.next_choices:
            raise ServerError(ProblemCode.TOPIC_NOT_FOUND, "the topic was deleted")
        chosen = next((choice for choice in self.next_choices if not is_busy(choice)), self.next_choices[0])
        self.next_choices.remove(chosen)
        return chosen

    def add(self, partition: int, body: bytes = b"") -> "asyncio.Future[Placed]":
        return self.coalescer.add(TOPIC, partition, ACKS_ALL, Record(body))

    async def pass_ms(self, duration_ms: float) -> None:
        await asyncio.sleep(duration_ms / 1000)

    async def _append(
        self, topic_id: str, partition: int, acks: int, records: list[Record], *, deadline_ms: int
    ) -> ProduceResponse:
        self.sent.append(Sent(self.now_ms, partition, [record.body for record in records]))
        offset = self._offsets.get(partition, 0)
        self._offsets[partition] = offset + len(records)
        await self.pass_ms(self._duration_ms * (10 if partition == SLOW else 1))
        if partition == FAILING:
            raise ServerError(ProblemCode.OVERLOADED, "full")
        return ProduceResponse(offset, 5, 1)


def on_nodes(test: Callable[[Nodes], Coroutine[None, None, None]], *, duration_ms: float) -> None:
    async def run(loop: SimLoop) -> None:
        nodes = Nodes(loop, duration_ms=duration_ms)
        await test(nodes)
        await nodes.pass_ms(1000)
        assert (nodes.coalescer.places, nodes.coalescer.waves) == (0, 0), "nothing is kept of what is over"

    simulate(1, run, shuffle=False)


def test_what_comes_behind_a_wave_goes_out_together_when_it_is_back() -> None:
    async def test(nodes: Nodes) -> None:
        futures = [nodes.add(0, b"a"), nodes.add(1, b"b")]
        for body in (b"c", b"d", b"e"):
            await nodes.pass_ms(1)
            futures.append(nodes.add(0, body))
        futures.append(nodes.add(2, b"f"))
        assert await asyncio.gather(*futures) == [
            Placed(partition, 5, offset) for partition, offset in ((0, 0), (1, 0), (0, 1), (0, 2), (0, 3), (2, 0))
        ]
        assert nodes.sent == [
            Sent(0, 0, [b"a"]),
            Sent(0, 1, [b"b"]),
            Sent(5, 0, [b"c", b"d", b"e"]),
            Sent(5, 2, [b"f"]),
        ]

    on_nodes(test, duration_ms=5)


def test_one_client_alone_never_waits() -> None:
    async def test(nodes: Nodes) -> None:
        for number in range(5):
            await nodes.add(number % 3)
        assert [sent.at_ms for sent in nodes.sent] == [0, 5, 10, 15, 20]

    on_nodes(test, duration_ms=5)


def test_nodes_do_not_wait_for_each_other() -> None:
    async def test(nodes: Nodes) -> None:
        first = nodes.add(0)
        await nodes.pass_ms(1)
        await asyncio.gather(first, nodes.add(4))
        assert [(sent.at_ms, sent.partition) for sent in nodes.sent] == [(0, 0), (1, 4)]

    on_nodes(test, duration_ms=5)


def test_a_slow_batch_holds_up_the_others_of_its_node_for_the_wait_only() -> None:
    async def test(nodes: Nodes) -> None:
        slow = nodes.add(SLOW)
        await nodes.pass_ms(1)
        await nodes.add(5)
        assert nodes.now_ms == 1 + WAIT_MS + 5
        assert not slow.done()
        await nodes.add(5)
        assert nodes.now_ms == 2 * (WAIT_MS + 5) + 1, "each message anew, as long as it is slow"
        await slow
        begin_ms = nodes.now_ms
        await nodes.add(5)
        assert nodes.now_ms == begin_ms + 5

    on_nodes(test, duration_ms=5)


def test_a_wait_ends_for_all_that_wait() -> None:
    async def test(nodes: Nodes) -> None:
        slow = nodes.add(SLOW)
        futures = []
        for _ in range(20):
            await nodes.pass_ms(1)
            futures.append(nodes.add(5))
        await asyncio.gather(slow, *futures)
        sent = [(sent.at_ms, len(sent.bodies)) for sent in nodes.sent if sent.partition == 5]
        assert sent == [(9, 8), (17, 8), (25, 4)]

    on_nodes(test, duration_ms=5)


def test_a_wave_that_fails_is_back_all_the_same() -> None:
    async def test(nodes: Nodes) -> None:
        failing = nodes.add(FAILING)
        await nodes.pass_ms(1)
        waiting = nodes.add(5)
        with pytest.raises(ServerError, match="full"):
            await failing
        await waiting
        assert nodes.now_ms == 10

    on_nodes(test, duration_ms=5)


def test_a_partition_that_moves_meanwhile_has_its_messages_sent_once_and_in_order() -> None:
    async def test(nodes: Nodes) -> None:
        futures = [nodes.add(0, b"a")]
        await nodes.pass_ms(1)
        futures.append(nodes.add(0, b"b"))
        nodes.moved[0] = 2
        futures.append(nodes.add(0, b"c"))
        assert await asyncio.gather(*futures) == [Placed(0, 5, offset) for offset in range(3)]
        assert [body for sent in nodes.sent for body in sent.bodies] == [b"a", b"b", b"c"]

    on_nodes(test, duration_ms=5)


def test_messages_that_may_go_anywhere_gather_whoever_leads_what_they_go_to() -> None:
    async def test(nodes: Nodes) -> None:
        nodes.next_choices = [0, 5]
        futures = [nodes.add(ANY_PARTITION, b"a")]
        for body in (b"b", b"c"):
            await nodes.pass_ms(1)
            futures.append(nodes.add(ANY_PARTITION, body))
        assert await asyncio.gather(*futures) == [Placed(0, 5, 0), Placed(5, 5, 0), Placed(5, 5, 1)]
        assert nodes.sent == [Sent(0, 0, [b"a"]), Sent(5, 5, [b"b", b"c"])]

    on_nodes(test, duration_ms=5)


def test_they_wait_for_none_that_have_a_partition() -> None:
    async def test(nodes: Nodes) -> None:
        nodes.next_choices = [0]
        with_key = nodes.add(0, b"a")
        await nodes.pass_ms(1)
        await asyncio.gather(with_key, nodes.add(ANY_PARTITION, b"b"))
        assert nodes.sent == [Sent(0, 0, [b"a"]), Sent(1, 0, [b"b"])]

    on_nodes(test, duration_ms=5)


def test_a_partition_that_is_slow_holds_them_up_for_the_wait_and_they_go_elsewhere() -> None:
    async def test(nodes: Nodes) -> None:
        nodes.next_choices = [SLOW, 0]
        slow = nodes.add(ANY_PARTITION)
        await nodes.pass_ms(1)
        assert await nodes.add(ANY_PARTITION) == Placed(0, 5, 0)
        assert nodes.now_ms == 1 + WAIT_MS + 5
        await slow

    on_nodes(test, duration_ms=5)


def test_one_that_hangs_draws_no_more_of_them_after_it_than_its_share() -> None:
    async def test(nodes: Nodes) -> None:
        nodes.next_choices = [SLOW] * 5 + [0] * 50
        futures = [nodes.add(ANY_PARTITION)]
        for _ in range(100):
            await nodes.pass_ms(1)
            futures.append(nodes.add(ANY_PARTITION))
        await asyncio.gather(*futures)
        first, second, third, *_ = [sent.at_ms for sent in nodes.sent if sent.partition == SLOW]
        assert (first, second) == (0, WAIT_MS + 1)
        assert third >= 50, "two at a time"
        others = [sent.at_ms for sent in nodes.sent if sent.partition == 0]
        assert max(later - earlier for earlier, later in pairwise(others)) <= 3 * (WAIT_MS + 1), (
            "the hanging one takes turns, no more"
        )

    on_nodes(test, duration_ms=5)


def test_no_more_of_their_batches_are_under_way_than_allowed() -> None:
    async def test(nodes: Nodes) -> None:
        nodes.next_choices = [SLOW] * 4
        futures = []
        for _ in range(4 * (WAIT_MS + 1)):
            futures.append(nodes.add(ANY_PARTITION))
            await nodes.pass_ms(1)
        assert len(nodes.sent) == 3
        await asyncio.gather(*futures)
        assert (len(nodes.sent), nodes.sent[3].at_ms) == (4, 50), "when the first is back"

    on_nodes(test, duration_ms=5)


def test_where_nothing_can_be_chosen_they_are_told_why() -> None:
    async def test(nodes: Nodes) -> None:
        with pytest.raises(ServerError, match="deleted"):
            await nodes.add(ANY_PARTITION)
        assert nodes.sent == []

    on_nodes(test, duration_ms=5)
