from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from acklog.wire.limits import PRODUCE_RETRIES_MS
from acklog.wire.problems import ProblemCode
from app.gateway.jittered_backoff import RETRY_PAUSE_MAX_MS
from app.gateway.leader_watch import CHECK_DELAY_MS
from app.gateway.routing import PartitionLeaders, Try
from cluster.errors import ServerError
from tests.support.led_cluster import TOPIC_ID, LedCluster, with_led_cluster

_P = ProblemCode
Answer = str | ServerError | Callable[[], Awaitable[str]]


def fault(code: ProblemCode, **extra: object) -> ServerError:
    return ServerError(code, "so it is", extra=dict(extra))


class Node:
    """Gives its answers in turn, the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)


class Asked:
    """Calls whoever leads, and notes when, whom and as what."""

    def __init__(self, cluster: LedCluster, **nodes: Node) -> None:
        self.cluster = cluster
        self.leaders = PartitionLeaders(cluster.gateway)
        self.nodes = {int(name[1:]): node for name, node in nodes.items()}
        cluster.nodes.update(self.nodes)
        self.tries: list[tuple[int, int, bool]] = []

    @property
    def times_ms(self) -> list[int]:
        return [time_ms for time_ms, _, _ in self.tries]

    @property
    def whom(self) -> list[int]:
        return [node_id for _, node_id, _ in self.tries]

    async def _ask(self, node: Any, attempt: Try) -> str:
        number = next(number for number, each in self.nodes.items() if each is node)
        self.tries.append((self.cluster.clock.monotonic_ms(), number, attempt.is_retry))
        answer = node.answers.pop(0) if len(node.answers) > 1 else node.answers[0]
        if isinstance(answer, ServerError):
            raise answer
        return answer if isinstance(answer, str) else await answer()

    async def change(self, deadline_ms: int = 2_000) -> str:
        return await self.leaders.change(TOPIC_ID, 0, self._ask, deadline_ms=deadline_ms)

    async def once(self, deadline_ms: int = 2_000) -> str:
        return await self.leaders.change_once(
            TOPIC_ID, 0, lambda node, left_ms: self._ask(node, Try(left_ms, False)), deadline_ms=deadline_ms
        )

    async def call(self, deadline_ms: int = 2_000) -> str:
        return await self.leaders.call(
            TOPIC_ID, 0, lambda node, left_ms: self._ask(node, Try(left_ms, False)), deadline_ms=deadline_ms
        )

    async def silence(self) -> str:
        await self.cluster.pass_ms(1_000_000)
        raise AssertionError("the call was not given up")

    def now_ms(self) -> int:
        return self.cluster.clock.monotonic_ms()


async def code_of(call: Awaitable[object]) -> ProblemCode:
    with pytest.raises(ServerError) as caught:
        await call
    return caught.value.code


@pytest.mark.parametrize("way", ["call", "change", "once"])
@pytest.mark.parametrize("code", [_P.UNAVAILABLE, _P.NOT_ENOUGH_REPLICAS, _P.SHUTTING_DOWN])
def test_what_was_not_done_is_tried_again_with_pauses_that_grow_to_a_limit(code: ProblemCode, way: str) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(code)))
        assert await code_of(getattr(asked, way)()) is code
        pauses = [later - earlier for earlier, later in pairwise(asked.times_ms)]
        assert max(pauses) <= RETRY_PAUSE_MAX_MS
        assert pauses[0] <= 10
        assert 10 < len(asked.tries) < 30
        assert asked.times_ms[-1] < 2_000

    with_led_cluster(main)


@pytest.mark.parametrize("way", ["call", "change", "once"])
def test_a_new_leader_is_asked_at_once(way: str) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.UNAVAILABLE)), n2=Node("done"))
        cluster.later(1_500, lambda: cluster.metadata.lead(0, 2, 2))
        assert await getattr(asked, way)() == "done"
        assert 1_500 <= asked.times_ms[-1] <= 1_500 + CHECK_DELAY_MS

    with_led_cluster(main)


def test_one_that_is_not_ready_yet_is_asked_again_soon() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.UNAVAILABLE)), n2=Node(fault(_P.UNAVAILABLE), "done"))
        cluster.later(1_500, lambda: cluster.metadata.lead(0, 2, 2))
        assert await asked.change() == "done"
        assert asked.times_ms[-1] - asked.times_ms[-2] <= 10

    with_led_cluster(main)


def test_without_a_leader_nobody_is_asked_until_there_is_one() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node("done"))
        cluster.metadata.lead(0, -1, 1)
        cluster.later(500, lambda: cluster.metadata.lead(0, 1, 2))
        assert await asked.change() == "done"
        assert asked.times_ms == [500 + CHECK_DELAY_MS]
        cluster.metadata.lead(0, -1, 2)
        assert await code_of(asked.change(deadline_ms=3_000)) is _P.UNAVAILABLE

    with_led_cluster(main)


def test_a_node_that_is_not_known_is_no_more_than_away() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n2=Node("done"))
        cluster.later(100, lambda: cluster.metadata.lead(0, 2, 2))
        assert await asked.change() == "done"

    with_led_cluster(main)


def test_a_silent_leader_is_left_when_another_one_takes_over() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node("in vain"), n2=Node("done"))
        asked.nodes[1].answers = [asked.silence]
        cluster.later(700, lambda: cluster.metadata.lead(0, 2, 2))
        assert await asked.change() == "done"
        assert asked.tries == [(0, 1, False), (705, 2, True)]
        cluster.metadata.lead(0, 1, 3)
        cluster.later(700, lambda: cluster.metadata.lead(0, 2, 4))
        assert await asked.call(deadline_ms=5_000) == "done"

    with_led_cluster(main)


def test_a_leader_that_loses_its_office_without_a_successor_may_still_answer() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node("in vain"))

        async def slowly() -> str:
            await cluster.pass_ms(900)
            return "done"

        asked.nodes[1].answers = [slowly]
        cluster.later(100, lambda: cluster.metadata.lead(0, -1, 2))
        assert await asked.change() == "done"

    with_led_cluster(main)


def test_an_unknown_outcome_is_tried_again_as_a_retry() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.UNAVAILABLE), fault(_P.OUTCOME_UNKNOWN), "done"))
        assert await asked.change() == "done"
        assert [is_retry for _, _, is_retry in asked.tries] == [False, False, True]

    with_led_cluster(main)


@pytest.mark.parametrize("code", [_P.UNAVAILABLE, _P.OVERLOADED, _P.OUTCOME_UNKNOWN, _P.INVALID_FIELD, _P.INTERNAL])
def test_whatever_comes_after_an_unknown_outcome_leaves_it_unknown(code: ProblemCode) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.OUTCOME_UNKNOWN), fault(code)))
        assert await code_of(asked.change()) is _P.OUTCOME_UNKNOWN
        assert (len(asked.tries) > 2) == (code in {_P.UNAVAILABLE, _P.OVERLOADED, _P.OUTCOME_UNKNOWN})

    with_led_cluster(main)


def test_a_topic_that_is_deleted_meanwhile_ends_the_tries() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.OUTCOME_UNKNOWN), fault(_P.UNAVAILABLE)))
        cluster.later(300, cluster.metadata.delete_topic)
        assert await code_of(asked.change()) is _P.OUTCOME_UNKNOWN
        assert asked.now_ms() < 600
        assert await code_of(asked.change()) is _P.TOPIC_NOT_FOUND

    with_led_cluster(main)


def test_a_refusal_is_the_clients_as_long_as_nothing_is_unknown() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.OVERLOADED)))
        for way in (asked.change, asked.once, asked.call):
            assert await code_of(way()) is _P.OVERLOADED
        assert asked.times_ms == [0, 0, 0]

    with_led_cluster(main)


def test_an_unknown_outcome_is_not_tried_again_after_the_time_that_nodes_remember() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(*[fault(_P.UNAVAILABLE)] * 20, fault(_P.OUTCOME_UNKNOWN), fault(_P.UNAVAILABLE)))
        assert await code_of(asked.change(deadline_ms=600_000)) is _P.OUTCOME_UNKNOWN
        first_unknown_ms = asked.times_ms[20]
        assert first_unknown_ms + PRODUCE_RETRIES_MS - 300 < asked.times_ms[-1] < first_unknown_ms + PRODUCE_RETRIES_MS

    with_led_cluster(main)


def test_what_must_not_be_done_twice_is_not() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.OUTCOME_UNKNOWN), "done"))
        assert await code_of(asked.once()) is _P.OUTCOME_UNKNOWN
        asked.nodes[1].answers = [asked.silence]
        assert await code_of(asked.once()) is _P.OUTCOME_UNKNOWN
        assert (len(asked.tries), asked.now_ms()) == (2, 2_000)

    with_led_cluster(main)


@pytest.mark.parametrize(("way", "code"), [("call", _P.TIMED_OUT), ("change", _P.OUTCOME_UNKNOWN)])
def test_a_leader_that_stays_silent_is_waited_for_until_the_deadline(way: str, code: ProblemCode) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node("in vain"))
        asked.nodes[1].answers = [asked.silence]
        assert await code_of(getattr(asked, way)()) is code
        assert (len(asked.tries), asked.now_ms()) == (1, 2_000)

    with_led_cluster(main)


@pytest.mark.parametrize("way", ["call", "change", "once"])
def test_a_deadline_that_has_passed_asks_nobody(way: str) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node("done"))
        assert await code_of(getattr(asked, way)(deadline_ms=-1)) is _P.TIMED_OUT
        assert asked.tries == []

    with_led_cluster(main)


def test_a_hint_is_followed_at_once() -> None:
    async def main(cluster: LedCluster) -> None:
        hint = fault(_P.UNAVAILABLE, leader=3, leaderEpoch=5)
        asked = Asked(cluster, n1=Node(hint), n3=Node(fault(_P.UNAVAILABLE), "done"))
        assert await asked.change() == "done"
        assert asked.whom == [1, 3, 3], "nor is the hint forgotten when its node is not ready yet"
        assert asked.times_ms[:2] == [0, 0]

    with_led_cluster(main)


@pytest.mark.parametrize(
    "extra", [{"leader": 3, "leaderEpoch": 1}, {"leader": -1, "leaderEpoch": 5}, {"leader": "3", "leaderEpoch": None}]
)
def test_a_hint_that_knows_no_better_is_none(extra: dict[str, object]) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.UNAVAILABLE, **extra), "done"), n3=Node("wrong"))
        assert await asked.change() == "done"

    with_led_cluster(main)


def test_the_metadata_overtakes_a_hint() -> None:
    async def main(cluster: LedCluster) -> None:
        hint = fault(_P.UNAVAILABLE, leader=3, leaderEpoch=5)
        asked = Asked(cluster, n1=Node(hint), n2=Node("done"), n3=Node(fault(_P.UNAVAILABLE)))
        cluster.later(400, lambda: cluster.metadata.lead(0, 2, 6))
        assert await asked.change() == "done"
        assert set(asked.whom) == {1, 2, 3}
        assert asked.whom.count(1) == 1

    with_led_cluster(main)


def test_hints_in_a_circle_are_followed_with_pauses() -> None:
    async def main(cluster: LedCluster) -> None:
        to_2 = fault(_P.UNAVAILABLE, leader=2, leaderEpoch=5)
        to_1 = fault(_P.UNAVAILABLE, leader=1, leaderEpoch=5)
        asked = Asked(cluster, n1=Node(to_2), n2=Node(to_1))
        assert await code_of(asked.change()) is _P.UNAVAILABLE
        assert len(asked.tries) < 30

    with_led_cluster(main)


def test_a_failed_disk_is_left_for_a_replica() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.STORAGE_FAILED)), n2=Node("done"))
        cluster.later(500, lambda: cluster.metadata.lead(0, 2, 2))
        assert await asked.change() == "done"
        assert asked.tries[-1][2], "the append may have reached the disk before it failed"

    with_led_cluster(main)


@pytest.mark.parametrize("way", ["call", "change", "once"])
def test_a_damaged_replica_is_left_for_another(way: str) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.RECORDS_CORRUPT)), n2=Node("done"))
        cluster.later(500, lambda: cluster.metadata.lead(0, 2, 2))
        assert await getattr(asked, way)() == "done"
        assert not asked.tries[-1][2], "a damaged replica has done nothing"

    with_led_cluster(main)


@pytest.mark.parametrize("way", ["call", "change", "once"])
def test_damage_that_nobody_makes_good_is_what_the_client_is_told(way: str) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.RECORDS_CORRUPT)))
        assert await code_of(getattr(asked, way)()) is _P.RECORDS_CORRUPT
        assert len(asked.tries) > 10

    with_led_cluster(main)


@pytest.mark.parametrize("way", ["call", "change", "once"])
def test_the_only_damaged_copy_is_asked_once(way: str) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.RECORDS_CORRUPT)))
        assert await code_of(getattr(asked, way)()) is _P.RECORDS_CORRUPT
        assert len(asked.tries) == 1

    with_led_cluster(main, replicas=1)


def test_the_only_disk_that_failed_is_what_the_client_is_told() -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.STORAGE_FAILED)))
        assert await code_of(asked.change()) is _P.STORAGE_FAILED
        assert asked.times_ms == [0]

    with_led_cluster(main, replicas=1)


@pytest.mark.parametrize("way", ["call", "change", "once"])
def test_a_gateway_that_stops_says_so(way: str) -> None:
    async def main(cluster: LedCluster) -> None:
        asked = Asked(cluster, n1=Node(fault(_P.SHUTTING_DOWN)))
        cluster.gateway.shutdown.begin()
        assert await code_of(getattr(asked, way)()) is _P.SHUTTING_DOWN
        assert asked.times_ms == [0]

    with_led_cluster(main)


def test_a_thousand_calls_for_a_partition_look_at_it_once_when_something_changes() -> None:
    async def main(cluster: LedCluster) -> None:
        leaders = PartitionLeaders(cluster.gateway)
        woken: list[int] = []
        watches = [
            leaders.watch.partition(TOPIC_ID, 0, leader_epoch=1, wake=lambda number=number: woken.append(number))  # type: ignore[misc]
            for number in range(1000)
        ]
        for watch in watches:
            watch.__enter__()
        cluster.metadata.looks = 0
        for number in range(100):
            cluster.metadata.lead(0, -1, 1 + number)
        await cluster.pass_ms(CHECK_DELAY_MS)
        assert (cluster.metadata.looks, woken) == (1, [])
        cluster.metadata.lead(0, 2, 200)
        await cluster.pass_ms(CHECK_DELAY_MS)
        assert sorted(woken) == list(range(1000))
        for watch in watches:
            watch.__exit__()
        cluster.metadata.looks = 0
        cluster.metadata.lead(0, 3, 201)
        await cluster.pass_ms(2 * CHECK_DELAY_MS)
        assert cluster.metadata.looks == 0

    with_led_cluster(main)


def test_the_leaders_of_a_new_topic_are_waited_for() -> None:
    async def main(cluster: LedCluster) -> None:
        leaders = PartitionLeaders(cluster.gateway)
        state = cluster.metadata.states.pop((TOPIC_ID, 0))
        assert await code_of(leaders.wait_for_leaders([TOPIC_ID], deadline_ms=300)) is _P.UNAVAILABLE
        assert cluster.clock.monotonic_ms() == 300
        assert state.leader == 1
        cluster.later(100, lambda: cluster.metadata.lead(0, 2, 1))
        assert await leaders.wait_for_leaders([TOPIC_ID], deadline_ms=1_000) == [2]
        assert cluster.clock.monotonic_ms() == 400 + CHECK_DELAY_MS

    with_led_cluster(main)
