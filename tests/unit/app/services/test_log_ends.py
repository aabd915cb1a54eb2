"""What a gateway has shown of a log does not become less, whoever answers next."""

import asyncio
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from app.gateway.routing import PartitionLeaders
from app.services.log_ends import LogEnds
from app.services.shown_ends import ShownEnds
from cluster.errors import ServerError
from storage.rpc.messages import PositionsRequest, PositionsResponse
from tests.support.led_cluster import TOPIC_ID, LedCluster, with_led_cluster


def show(ends: ShownEnds, leader_epoch: int, high_watermark: int, partition: int = 0) -> int:
    return ends.show("t", partition, leader_epoch=leader_epoch, high_watermark=high_watermark)


def is_behind(ends: ShownEnds, leader_epoch: int, high_watermark: int) -> bool:
    try:
        ends.check_not_behind("t", 0, leader_epoch=leader_epoch, high_watermark=high_watermark)
    except ServerError as error:
        return error.code is ProblemCode.UNAVAILABLE
    return False


def test_what_was_shown_stays_shown() -> None:
    ends = ShownEnds(10)
    assert [show(ends, *end) for end in ((5, 10), (5, 8), (4, 3), (-1, 9), (5, 12), (6, 12))] == [
        10,
        10,
        10,
        10,
        12,
        12,
    ]


def test_a_later_epoch_may_have_less_where_an_operator_chose_so() -> None:
    ends = ShownEnds(10)
    show(ends, 5, 10)
    assert not is_behind(ends, 6, 7)
    assert show(ends, 6, 7) == 7


@pytest.mark.parametrize(
    ("leader_epoch", "high_watermark", "behind"),
    [(5, 10, False), (5, 9, True), (4, 9, True), (-1, 9, True), (4, 11, False), (6, 9, False)],
)
def test_an_answer_is_behind_where_it_ends_before_what_was_shown(
    leader_epoch: int, high_watermark: int, behind: bool
) -> None:
    ends = ShownEnds(10)
    assert not is_behind(ends, leader_epoch, high_watermark), "nothing was shown yet"
    show(ends, 5, 10)
    assert is_behind(ends, leader_epoch, high_watermark) is behind


def test_the_partitions_that_were_looked_at_last_are_remembered() -> None:
    ends = ShownEnds(2)
    for partition in (0, 1, 0, 2):
        show(ends, 5, 10, partition)
    assert len(ends) == 2
    assert show(ends, 5, 1, partition=0) == 10
    assert show(ends, 5, 1, partition=1) == 1


class _Leader:
    def __init__(self, leader_epoch: int, high_watermark: int) -> None:
        self.answer = PositionsResponse(0, high_watermark, 0, leader_epoch, [])
        self.asked = 0

    async def positions(self, request: PositionsRequest) -> PositionsResponse:
        self.asked += 1
        return self.answer


def test_a_leader_that_is_behind_what_was_shown_is_not_believed() -> None:
    """The gateway has not heard that it was replaced, or hears of an old one again."""

    async def main(cluster: LedCluster) -> Any:
        cluster.nodes[1], cluster.nodes[2] = _Leader(1, 5), _Leader(2, 9)
        leaders = PartitionLeaders(cluster.gateway)
        ends = LogEnds(leaders, partitions_max=10)
        ends.shown.show(TOPIC_ID, 0, leader_epoch=2, high_watermark=8)
        asking = asyncio.create_task(ends.positions(TOPIC_ID, 0, deadline_ms=leaders.deadline_in(5_000)))
        await cluster.pass_ms(300)
        assert cluster.nodes[1].asked > 1
        assert not asking.done()
        cluster.metadata.lead(0, 2, 2)
        assert (await asking).high_watermark == 9

    with_led_cluster(main)
