"""Who may be elected that was not in sync, and what is lost by it: pure."""

from dataclasses import replace

import msgspec
import pytest

from cluster.errors import ServerError
from cluster.model.codec import decode, encode
from cluster.model.unclean_election import (
    LogReach,
    Loss,
    ReplicaReport,
    elected_unclean,
    longest,
    loss_by,
    refuse_while_clean,
    why_not,
)
from cluster.model.values import NO_LEADER, NodeRegistration, PartitionState, UncleanElection

STATE = PartitionState("t", 0, (1, 2, 3), (1,), 1, 5, 8, directories=("d1", "d2", "d3"))


def registration(node: int, *, incarnation: int = 5, directory: str = "", **more: bool) -> NodeRegistration:
    return NodeRegistration(node, incarnation, directory or f"d{node}", f"n{node}", **more)


def living(*nodes: NodeRegistration) -> dict[int, NodeRegistration]:
    return {each.node_id: each for each in nodes}


def report(node: int, end: int = 10, epoch: int = 7, *, delivery: int = 4, high_watermark: int = 0) -> ReplicaReport:
    return ReplicaReport(node, 5, f"d{node}", LogReach(0, end, epoch, high_watermark), LogReach(0, delivery, epoch, 0))


@pytest.mark.parametrize(
    ("state", "nodes"),
    [
        (STATE, [registration(1)]),
        (STATE, [registration(1, incarnation=6)]),
        (msgspec.structs.replace(STATE, leader=NO_LEADER, isr=(1, 2)), [registration(2)]),
        (msgspec.structs.replace(STATE, directories=(), isr=(1, 2)), [registration(2, directory="any")]),
    ],
    ids=["led", "the leader is back", "another member is there", "directories are not known"],
)
def test_it_is_refused_while_a_clean_election_is_possible(state: PartitionState, nodes: list[NodeRegistration]) -> None:
    with pytest.raises(ServerError) as caught:
        refuse_while_clean(state, living(*nodes, registration(3)))
    assert caught.value.code.name == "CLEAN_ELECTION_POSSIBLE"


@pytest.mark.parametrize(
    ("state", "nodes"),
    [
        (STATE, []),
        (STATE, [registration(1, incarnation=6, directory="new")]),
        (msgspec.structs.replace(STATE, leader=NO_LEADER, isr=()), [registration(1)]),
    ],
    ids=["all are away", "its disk is another", "nobody is in sync"],
)
def test_it_is_possible_where_nobody_in_sync_is_left(state: PartitionState, nodes: list[NodeRegistration]) -> None:
    refuse_while_clean(state, living(*nodes, registration(2), registration(3)))


def test_who_cannot_be_elected() -> None:
    there = living(registration(2), registration(3), registration(4))
    empty = replace(report(2), messages=LogReach(0, 0, -1, 0))
    assert why_not(report(2), STATE, there) is None
    assert why_not(report(2), msgspec.structs.replace(STATE, directories=()), there) is None
    full = living(registration(2, has_impaired_storage=True))
    for reason, said, nodes in (
        ("holds no replica", report(4), there),
        ("not registered", report(2), living()),
        ("started again", replace(report(2), incarnation=4), there),
        ("started again", replace(report(2), directory_id="another"), there),
        ("new one", replace(report(2), directory_id="new"), living(registration(2, directory="new"))),
        ("damaged", replace(report(2), is_damaged=True), there),
        ("takes nothing", report(2), full),
        ("empty", empty, there),
    ):
        assert reason in (why_not(said, STATE, nodes) or "")


def test_the_longest_by_epoch_and_then_by_end() -> None:
    assert longest([]) is None
    for better, worse in (
        (report(3, 5, 8), report(2, 90, 7)),
        (report(3, 11), report(2, 10)),
        (report(3, delivery=5), report(2, delivery=4)),
        (report(2), report(3)),
    ):
        for order in ([better, worse], [worse, better]):
            assert longest(order) == better


def test_what_is_lost_as_far_as_is_known() -> None:
    chosen = report(2, 10)
    assert loss_by(chosen, [chosen], STATE) == Loss(10, 10, (1,)), "and nobody knows what node 1 had"
    assert loss_by(chosen, [chosen, report(3, 14, 6)], STATE) == Loss(10, 14, (1,))
    assert loss_by(chosen, [chosen], STATE, [3, 17]) == Loss(10, 17, (1,)), "a group was further"
    wiped = replace(report(1, 0), directory_id="new")
    assert loss_by(chosen, [chosen, wiped], STATE).unasked == (1,), (
        "what is on the new disk says nothing of the old one"
    )


def test_the_mark_stays_and_counts() -> None:
    before = msgspec.structs.replace(STATE, given_up_by=(1,), damaged=(1,))
    state = elected_unclean(before, report(2, 10), Loss(10, 17, (1,)), now_ms=99)
    assert (state.leader, state.leader_incarnation, state.isr) == (2, 5, (2,))
    assert (state.leader_epoch, state.partition_epoch) == (9, STATE.partition_epoch + 1)
    assert (state.given_up_by, state.damaged, state.directories) == ((), (), ("d1", "d2", "d3"))
    assert state.unclean_election == UncleanElection(1, 9, 2, 10, 17, 99)
    again = elected_unclean(state, report(3, 10), Loss(10, 12, ()), now_ms=100)
    assert again.unclean_election == UncleanElection(2, 10, 3, 10, 12, 100)


class BeforeMarks(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A partition as earlier versions read it."""

    topic_id: str
    partition: int
    leader: int


def test_earlier_versions_read_a_marked_partition_and_this_one_reads_theirs() -> None:
    state = elected_unclean(STATE, report(2, 10), Loss(10, 17, (1,)), now_ms=99)
    assert decode(BeforeMarks, encode(state)).leader == 2
    assert decode(PartitionState, encode(state)) == state
    assert b"unclean" not in encode(STATE)
    assert decode(PartitionState, encode(STATE)).unclean_election is None
