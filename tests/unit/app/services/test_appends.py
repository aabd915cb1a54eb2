"""Batches that go to the node in the same process without a task: when they do, and who is told what."""

import asyncio

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.gateway.batching.batch_numbers import BatchNumbers
from app.gateway.batching.coalescer import ANY_PARTITION
from app.gateway.batching.flight import Flight
from app.gateway.routing import PartitionLeaders
from app.services.appends import LocalAppends, NumberedAppends
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL, ProduceRequest, ProduceResponse
from storage.rpc.node_api import ProduceWaiter
from tests.support.counting_entropy import CountingEntropy
from tests.support.led_cluster import TOPIC_ID, LedCluster, with_led_cluster

RESPONSE = ProduceResponse(7, 3, 1_000)
NOT_OPEN = ServerError(ProblemCode.UNAVAILABLE, "the partition is not open")


class Node:
    """`refusals` come first, at `begin_produce`; `declines` leaves it to `produce`. What has begun is in `begun`."""

    def __init__(self, *refusals: ServerError, declines: bool = False) -> None:
        self.refusals = list(refusals)
        self.declines = declines
        self.begun: list[tuple[ProduceRequest, ProduceWaiter]] = []
        self.produced: list[ProduceRequest] = []

    def begin_produce(self, request: ProduceRequest, waiter: ProduceWaiter) -> bool:
        if self.refusals:
            raise self.refusals.pop(0)
        if self.declines:
            return False
        self.begun.append((request, waiter))
        return True

    async def produce(self, request: ProduceRequest) -> ProduceResponse:
        if self.refusals:
            raise self.refusals.pop(0)
        self.produced.append(request)
        return RESPONSE


class Waiting(Flight):
    """Notes what it is told."""

    def __init__(self, *, deadline_ms: int) -> None:
        super().__init__(TOPIC_ID, 0, ACKS_ALL, deadline_ms)
        self.batch = encode_batch([Record(b"1")])
        self.told: list[ProduceResponse | BaseException] = []

    def stored(self, response: ProduceResponse) -> None:
        self.told.append(response)

    def failed(self, error: BaseException) -> None:
        self.told.append(error)

    def error(self) -> ServerError:
        (error,) = self.told
        assert isinstance(error, ServerError)
        return error


def begin(cluster: LedCluster, *, timeout_ms: int = 2_000) -> Waiting:
    waiting = Waiting(deadline_ms=cluster.clock.monotonic_ms() + timeout_ms)
    LocalAppends(PartitionLeaders(cluster.gateway)).begin(waiting)
    return waiting


async def _turn() -> None:
    await asyncio.sleep(0)


def test_the_node_begins_at_once_and_the_waiter_is_told_in_a_turn_of_its_own() -> None:
    async def main(cluster: LedCluster) -> None:
        node = cluster.nodes[1] = Node()
        waiting = begin(cluster)
        ((request, outcome),) = node.begun
        assert (request.topic_id, request.partition, request.acks, request.timeout_ms) == (TOPIC_ID, 0, ACKS_ALL, 2_000)
        outcome.set_result(RESPONSE)
        assert not waiting.told, "the node's log is not to wait for what the waiter does, or to fail with it"
        await _turn()
        assert waiting.told == [RESPONSE]
        assert not node.produced

    with_led_cluster(main)


@pytest.mark.parametrize("node", [Node(declines=True), Node(NOT_OPEN), Node(NOT_OPEN, NOT_OPEN)])
def test_what_the_node_does_not_begin_with_waits_for_it(node: Node) -> None:
    async def main(cluster: LedCluster) -> None:
        cluster.nodes[1] = node
        waiting = begin(cluster)
        await cluster.pass_ms(500)
        assert waiting.told == [RESPONSE]
        assert (len(node.begun), len(node.produced)) == (0, 1)

    with_led_cluster(main)


def test_without_a_leader_it_waits_for_one() -> None:
    async def main(cluster: LedCluster) -> None:
        cluster.nodes[1] = Node()
        cluster.metadata.lead(0, -1, 1)
        waiting = begin(cluster)
        cluster.later(100, lambda: cluster.metadata.lead(0, 1, 2))
        await cluster.pass_ms(500)
        assert waiting.told == [RESPONSE]

    with_led_cluster(main)


def test_a_node_that_is_not_there_yet_is_waited_for() -> None:
    async def main(cluster: LedCluster) -> None:
        waiting = begin(cluster)
        cluster.later(100, lambda: cluster.nodes.update({1: Node()}))
        await cluster.pass_ms(500)
        assert waiting.told == [RESPONSE]

    with_led_cluster(main)


def test_the_time_is_up_where_nobody_can_be_asked() -> None:
    async def main(cluster: LedCluster) -> None:
        waiting = begin(cluster, timeout_ms=300)
        await cluster.pass_ms(500)
        assert waiting.error().code is ProblemCode.UNAVAILABLE

    with_led_cluster(main)


def test_what_was_begun_and_not_done_is_done_again() -> None:
    async def main(cluster: LedCluster) -> None:
        node = cluster.nodes[1] = Node()
        waiting = begin(cluster)
        node.begun[0][1].set_exception(ServerError(ProblemCode.UNAVAILABLE, "led elsewhere now"))
        await cluster.pass_ms(500)
        assert waiting.told == [RESPONSE]
        assert bytes(node.produced[0].batch) == bytes(node.begun[0][0].batch)

    with_led_cluster(main)


def test_what_may_have_been_done_is_not_done_again() -> None:
    async def main(cluster: LedCluster) -> None:
        node = cluster.nodes[1] = Node()
        waiting = begin(cluster)
        node.begun[0][1].set_exception(ServerError(ProblemCode.OUTCOME_UNKNOWN, "not confirmed within 2000 ms"))
        await cluster.pass_ms(500)
        assert waiting.error().code is ProblemCode.OUTCOME_UNKNOWN
        assert "may be stored all the same" in waiting.error().detail
        assert not node.produced

    with_led_cluster(main)


def test_a_partition_that_was_just_decommissioned_is_said_to_be_unavailable() -> None:
    async def main(cluster: LedCluster) -> None:
        node = cluster.nodes[1] = Node()
        waiting = begin(cluster)
        node.begun[0][1].set_exception(ServerError(ProblemCode.PARTITION_DECOMMISSIONED, "no more"))
        await _turn()
        assert waiting.error().code is ProblemCode.UNAVAILABLE

    with_led_cluster(main)


def test_an_error_that_nobody_foresaw_is_told_as_it_is() -> None:
    async def main(cluster: LedCluster) -> None:
        node = cluster.nodes[1] = Node()
        waiting = begin(cluster)
        error = ZeroDivisionError()
        node.begun[0][1].set_exception(error)
        await _turn()
        assert waiting.told == [error]

    with_led_cluster(main)


def test_what_waits_for_each_other_on_its_way() -> None:
    async def main(cluster: LedCluster) -> None:
        cluster.metadata.lead(0, 2, 1)
        leaders = PartitionLeaders(cluster.gateway)
        numbered = NumberedAppends(leaders, BatchNumbers(CountingEntropy()))
        assert numbered.destination(TOPIC_ID, 0) == 2
        assert numbered.destination(TOPIC_ID, ANY_PARTITION) == TOPIC_ID
        local = LocalAppends(leaders)
        assert local.destination(TOPIC_ID, 0) == local.destination("another", ANY_PARTITION)

    with_led_cluster(main)
