"""Receives from several nodes, while some of them are away."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from structlog.testing import capture_logs

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.gateway.leader_watch import CHECK_DELAY_MS
from app.gateway.routing import PartitionLeaders
from app.services import polls
from app.services.polls import ANSWER_MARGIN_MS, PATIENCE_MS, SUSPICION_MS, Polls, narrowed
from cluster.errors import ServerError
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse
from tests.support.led_cluster import TOPIC_ID, LedCluster, with_led_cluster

_P = ProblemCode


class Node:
    """Leases what it has. `faults` come first; None stands for silence."""

    def __init__(self, cluster: LedCluster, number: int) -> None:
        self._cluster = cluster
        self._number = number
        self.waiting: list[DeliveredMessage] = []
        self.leased = 0
        self.faults: list[ServerError | None] = []
        self.requests: list[ReceiveRequest] = []
        self.given_up = 0
        self.reason = "EMPTY"
        self._news = asyncio.Event()

    def put(self, count: int = 1, *, size_bytes: int = 1) -> None:
        for _ in range(count):
            self.waiting.append(
                DeliveredMessage(TOPIC_ID, self._number, 0, 1, 0, 1, f"r-{self._number}", Record(b"x" * size_bytes))
            )
        self._news.set()

    async def receive(self, request: ReceiveRequest) -> ReceiveResponse:
        self.requests.append(request)
        try:
            if self.faults:
                fault = self.faults[0] if len(self.faults) == 1 else self.faults.pop(0)
                if fault is not None:
                    raise fault
                await asyncio.Event().wait()
            self._news.clear()
            if not self.waiting and request.wait_ms:
                try:
                    async with asyncio.timeout(request.wait_ms / 1000):
                        await self._news.wait()
                except TimeoutError:
                    pass
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        taken = self.waiting[: request.max_messages]
        del self.waiting[: len(taken)]
        self.leased += len(taken)
        return ReceiveResponse(taken, "" if taken else self.reason)


class World:
    """Node n leads partition n - 1."""

    def __init__(self, cluster: LedCluster, nodes: int) -> None:
        self.cluster = cluster
        self.nodes = {number: Node(cluster, number) for number in range(1, nodes + 1)}
        cluster.nodes.update(self.nodes)
        for number in self.nodes:
            cluster.metadata.lead(number - 1, number, 1)
        self.released: list[DeliveredMessage] = []
        self.polls = Polls(cluster.gateway, PartitionLeaders(cluster.gateway), self.released.extend)

    def now_ms(self) -> int:
        return self.cluster.clock.monotonic_ms()

    def request(self, max_messages: int = 10, *, max_bytes: int = 1000, auto_ack: bool = False) -> ReceiveRequest:
        return ReceiveRequest([TOPIC_ID], "g" * 13, "me", max_messages, max_bytes, auto_ack=auto_ack)

    async def ask(self, max_messages: int = 10) -> ReceiveResponse:
        return await self.polls.ask(self.request(max_messages))

    async def wait(self, wait_ms: int = 5_000, *, max_messages: int = 10, max_bytes: int = 1000) -> ReceiveResponse:
        return await self.polls.wait(self.request(max_messages, max_bytes=max_bytes), wait_ms)

    def take_over(self, node_id: int, *partitions: int) -> None:
        for partition in partitions:
            self.cluster.metadata.lead(partition, node_id, 2)


def with_world(main: Callable[[World], "asyncio.Future[None] | object"], *, nodes: int = 3) -> None:
    async def run(cluster: LedCluster) -> None:
        await main(World(cluster, nodes))  # type: ignore[misc]

    with_led_cluster(run, partitions=nodes)


def unavailable() -> ServerError:
    return ServerError(_P.UNAVAILABLE, "moved")


# --- without waiting -------------------------------------------------------------------------------------------------


def test_no_more_is_leased_than_was_asked_for() -> None:
    async def main(world: World) -> None:
        for node in world.nodes.values():
            node.put(4)
        found = await world.ask(6)
        assert len(found.messages) == sum(node.leased for node in world.nodes.values()) == 6

    with_world(main)


def test_groups_that_ask_by_turns_come_to_every_node_first() -> None:
    """With one count of turns for all, each of two groups would begin at the same one of two nodes for ever."""

    async def main(world: World) -> None:
        first: dict[str, set[int]] = {"a": set(), "b": set()}
        for group_id in ["a", "b"] * 3:
            for node in world.nodes.values():
                node.put(10)
            found = await world.polls.ask(msgspec.structs.replace(world.request(), group_id=group_id))
            first[group_id] |= {message.partition for message in found.messages}
        assert first == {"a": {1, 2}, "b": {1, 2}}

    with_world(main, nodes=2)


def test_the_turns_of_as_many_groups_as_may_be_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polls, "TURNS_MAX", 2)

    async def main(world: World) -> None:
        for group_id in ["a", "b", "a", "c"]:
            await world.polls.ask(msgspec.structs.replace(world.request(), group_id=group_id))
        assert [group_id for group_id, _ in world.polls._turns] == ["a", "c"]

    with_world(main)


def test_a_node_that_is_away_leaves_the_others_messages_and_a_reason_if_there_are_none() -> None:
    async def main(world: World) -> None:
        world.nodes[2].faults = [unavailable()]
        world.nodes[3].put()
        assert len((await world.ask()).messages) == 1
        assert (await world.ask()).reason == "UNAVAILABLE"
        world.nodes[1].reason = "ALL_LEASED"
        assert (await world.ask()).reason == "ALL_LEASED"
        assert world.now_ms() == 0

    with_world(main)


def test_a_silent_node_costs_its_patience_once_and_is_left_out_for_a_while() -> None:
    async def main(world: World) -> None:
        world.nodes[2].faults = [None]
        for _ in range(6):
            world.nodes[3].put()
            assert len((await world.ask()).messages) == 1
        assert world.now_ms() == PATIENCE_MS
        assert len(world.nodes[2].requests) == world.nodes[2].given_up == 1
        world.nodes[2].faults = []
        world.nodes[2].put()
        assert (await world.ask()).reason == "UNAVAILABLE"
        await world.cluster.pass_ms(SUSPICION_MS)
        assert len((await world.ask()).messages) == 1

    with_world(main)


def test_while_nobody_answers_their_successors_are_waited_for() -> None:
    async def main(world: World) -> None:
        world.nodes[1].faults = [unavailable()]
        world.nodes[2].faults = [None]
        world.nodes[3].put()
        world.cluster.metadata.lead(2, 2, 1)
        world.cluster.later(2_000, lambda: world.take_over(3, 0, 1, 2))
        assert len((await world.ask()).messages) == 1
        assert world.now_ms() <= 2_000 + CHECK_DELAY_MS

    with_world(main)


def test_the_last_reason_is_told_when_nobody_answers_until_the_deadline() -> None:
    async def main(world: World) -> None:
        for node in world.nodes.values():
            node.faults = [unavailable()]
        with pytest.raises(ServerError) as caught:
            await world.ask()
        assert caught.value.code is _P.UNAVAILABLE
        assert 9_000 < world.now_ms() <= 10_000

    with_world(main)


@pytest.mark.parametrize("wait_ms", [0, 5_000])
def test_a_damaged_replica_is_waited_out_where_another_can_take_its_place(wait_ms: int) -> None:
    async def main(world: World) -> None:
        world.nodes[1].faults = [ServerError(_P.RECORDS_CORRUPT, "a batch is damaged")]
        world.nodes[2].put()
        world.cluster.metadata.lead(1, 1, 1)
        world.cluster.metadata.lead(2, 1, 1)
        world.cluster.later(700, lambda: world.take_over(2, 0, 1, 2))
        assert len((await (world.wait(wait_ms) if wait_ms else world.ask())).messages) == 1
        assert world.now_ms() <= 700 + CHECK_DELAY_MS

    with_world(main)


@pytest.mark.parametrize("wait_ms", [0, 5_000])
def test_what_will_not_pass_is_told_at_once(wait_ms: int) -> None:
    async def main(world: World) -> None:
        for node in world.nodes.values():
            node.faults = [ServerError(_P.WRONG_GROUP_MODE, "exclusive")]
        with pytest.raises(ServerError) as caught:
            await (world.wait(wait_ms) if wait_ms else world.ask())
        assert caught.value.code is _P.WRONG_GROUP_MODE
        assert world.now_ms() == 0

    with_world(main)


# --- waiting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_first_message_ends_the_wait_wherever_it_comes(number: int) -> None:
    async def main(world: World) -> None:
        world.cluster.later(1_234, world.nodes[number].put)
        found = await world.wait()
        assert [message.partition for message in found.messages] == [number]
        assert world.now_ms() == 1_234
        assert sum(node.given_up for node in world.nodes.values()) == 2

    with_world(main)


def test_what_comes_too_much_at_once_is_released() -> None:
    async def main(world: World) -> None:
        for node in world.nodes.values():
            node.put(4)
        found = await world.wait(max_messages=6)
        leased = sum(node.leased for node in world.nodes.values())
        assert (len(found.messages), len(found.messages) + len(world.released)) == (6, leased)
        assert leased > 6

    with_world(main)


def test_bytes_are_limited_over_all_nodes_but_for_the_first_message() -> None:
    async def main(world: World) -> None:
        for node in world.nodes.values():
            node.put(1, size_bytes=2_000)
        found = await world.wait(max_bytes=1_000)
        assert (len(found.messages), len(world.released)) == (1, 2)

    with_world(main)


def test_a_wait_ends_in_time_with_the_reason_of_the_nodes() -> None:
    async def main(world: World) -> None:
        world.nodes[2].reason = "DELAYED"
        found = await world.wait(1_000)
        assert (found.messages, found.reason, world.now_ms()) == ([], "DELAYED", 1_000)

    with_world(main)


def test_a_silent_node_disturbs_nobody_who_waits() -> None:
    async def main(world: World) -> None:
        world.nodes[2].faults = [None]
        world.cluster.later(500, world.nodes[3].put)
        assert len((await world.wait()).messages) == 1
        assert world.now_ms() == 500
        found = await world.wait(1_000)
        assert (found.messages, found.reason) == ([], "EMPTY")
        assert world.now_ms() == 1_500 + ANSWER_MARGIN_MS

    with_world(main)


def test_a_wait_goes_on_while_nobody_leads_or_answers() -> None:
    async def main(world: World) -> None:
        world.nodes[1].faults = [unavailable()]
        found = await world.wait(1_000)
        assert (found.messages, found.reason) == ([], "UNAVAILABLE")
        world.cluster.metadata.lead(0, -1, 1)
        found = await world.wait(1_000)
        assert (found.messages, found.reason) == ([], "UNAVAILABLE")
        world.nodes[1].faults = []
        world.nodes[1].put()
        began_ms = world.now_ms()
        world.cluster.later(700, lambda: world.cluster.metadata.lead(0, 1, 2))
        assert len((await world.wait()).messages) == 1
        assert world.now_ms() == began_ms + 700 + CHECK_DELAY_MS

    with_world(main, nodes=1)


def test_a_wait_moves_to_a_new_leader_and_leaves_the_old_one() -> None:
    async def main(world: World) -> None:
        world.cluster.metadata.lead(1, 1, 1)
        world.nodes[2].put()
        world.cluster.later(800, lambda: world.take_over(2, 0, 1))
        found = await world.wait()
        assert [message.partition for message in found.messages] == [2]
        assert world.now_ms() == 800 + CHECK_DELAY_MS
        assert world.nodes[1].given_up == 1

    with_world(main, nodes=2)


def test_whoever_goes_away_leaves_nothing_leased() -> None:
    async def main(world: World) -> None:
        waiting = asyncio.ensure_future(world.wait())
        await world.cluster.pass_ms(100)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert [node.given_up for node in world.nodes.values()] == [1, 1, 1]
        waiting = asyncio.ensure_future(world.wait())
        await world.cluster.pass_ms(100)
        world.nodes[1].put()
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        assert len(world.released) == world.nodes[1].leased

    with_world(main)


def test_one_node_in_trouble_does_not_end_a_wait_at_the_others() -> None:
    async def main(world: World) -> None:
        world.nodes[1].faults = [ServerError(_P.RECORDS_CORRUPT, "a batch is damaged")]
        world.cluster.later(500, world.nodes[3].put)
        assert len((await world.wait()).messages) == 1
        assert (await world.wait(500)).reason == "UNAVAILABLE"

    with_world(main)


@pytest.mark.parametrize("wait_ms", [0, 5_000])
@pytest.mark.parametrize("answered_before", [0, 1, 2])
def test_what_may_have_been_acknowledged_unseen_is_told_and_no_more_is_asked_for(
    answered_before: int, wait_ms: int
) -> None:
    """Or as much could be lost at each of the other nodes, and the client would not know."""

    async def main(world: World) -> None:
        in_turn = [world.nodes[number] for number in (2, 3, 1)]
        for node in in_turn[answered_before:]:
            node.faults = [ServerError(_P.OUTCOME_UNKNOWN, "it broke")]
        request = world.request(3, auto_ack=True)
        with pytest.raises(ServerError) as caught:
            await (world.polls.wait(request, wait_ms) if wait_ms else world.polls.ask(request))
        assert caught.value.code is _P.OUTCOME_UNKNOWN
        assert [len(node.requests) for node in in_turn] == ([1] * (answered_before + 1) + [0, 0])[:3]

    with_world(main)


def test_a_node_that_is_silent_while_it_acknowledges_what_it_sends_may_have_done_so() -> None:
    async def main(world: World) -> None:
        for node in world.nodes.values():
            node.faults = [None]
        with pytest.raises(ServerError) as caught:
            await world.polls.ask(world.request(3, auto_ack=True))
        assert caught.value.code is _P.OUTCOME_UNKNOWN
        assert sum(len(node.requests) for node in world.nodes.values()) == 1

    with_world(main)


def test_what_was_acknowledged_is_handed_out_when_the_next_node_may_have_lost_some() -> None:
    async def main(world: World) -> None:
        world.nodes[2].put(2)
        world.nodes[3].faults = [ServerError(_P.OUTCOME_UNKNOWN, "it broke")]
        with capture_logs() as logs:
            found = await world.polls.ask(world.request(3, auto_ack=True))
        assert len(found.messages) == 2
        assert not world.nodes[1].requests
        assert [(entry["event"], entry["node"], entry["messages_max"]) for entry in logs] == [
            ("auto_acked_messages_may_be_lost", 3, 1)
        ]

    with_world(main)


def test_what_is_acknowledged_by_being_sent_is_asked_for_at_one_node_after_the_other() -> None:
    async def main(world: World) -> None:
        for node in world.nodes.values():
            node.put(4)
        found = await world.polls.wait(world.request(6, auto_ack=True), 5_000)
        assert len(found.messages) == sum(node.leased for node in world.nodes.values()) == 6
        await world.polls.ask(world.request(10, auto_ack=True))
        world.nodes[2].faults = [unavailable(), unavailable()]
        world.cluster.later(3_000, world.nodes[1].put)
        found = await world.polls.wait(world.request(6, auto_ack=True), 9_000)
        assert len(found.messages) == 1
        assert sum(node.given_up for node in world.nodes.values()) == 0
        assert world.released == []

    with_world(main)


def test_what_was_received_before_is_asked_for_at_every_node_before_anything_new() -> None:
    """A node that is away for a moment might have it: what another one has must not overtake that."""

    async def main(world: World) -> None:
        world.nodes[3].faults = [unavailable()]
        world.cluster.later(300, world.nodes[3].faults.clear)
        request = msgspec.structs.replace(world.request(), attempt_id="a")
        assert (await world.polls.ask_for_repeated(request)).messages == []
        for node in world.nodes.values():
            assert {each.max_messages for each in node.requests} == {0}
        world.nodes[3].faults = [unavailable()]
        with pytest.raises(ServerError, match="moved"):
            await world.polls.ask_for_repeated(request)

    with_world(main)


def test_a_node_is_asked_for_the_rest_as_the_request_says() -> None:
    """Whatever is added to a request reaches every node."""
    names = ReceiveRequest.__struct_fields__
    request = ReceiveRequest(**dict.fromkeys(names, "asked") | {"max_messages": 10, "max_bytes": 100})
    message = DeliveredMessage(TOPIC_ID, 0, 0, 1, 0, 1, "r", Record(b"x" * 30))
    part = narrowed(request, [message], 7)
    changed = {name for name in names if getattr(part, name) != getattr(request, name)}
    assert changed == {"max_messages", "max_bytes", "wait_ms"}
    assert msgspec.structs.replace(part, wait_ms="asked", max_messages=10, max_bytes=100) == request
