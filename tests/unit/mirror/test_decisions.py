"""Where copying goes on, what is a gap, which topics go in a circle, which groups are moved, and how fast."""

import pytest

from acklog.catalog import PartitionProgress, Topic
from acklog.errors import InvalidArgument
from acklog.mirror.copied_place import CopiedPlace
from acklog.mirror.loop_rule import copy_fault, is_copy_of_target, is_same_cluster
from acklog.mirror.mirror_gap import GapFoundError, GapKind
from acklog.mirror.mirror_settings import AT_ONCE_MAX, INTERVAL_MS_MAX, INTERVAL_MS_MIN, MirrorSettings
from acklog.mirror.position_rule import MARK, PositionMove, Stays, decide_position
from acklog.mirror.resumption import CopyState, TopicPair, gap_of_out_of_range, state_from
from acklog.mirror.throttle import Throttle
from acklog.positions import CommittedPosition
from tests.support.mirror_world import config_of

PAIR = TopicPair("orders", "source-1", "eu.orders", "target-1")


def state_at(next_offset: int) -> CopyState:
    state = CopyState(PAIR, 3)
    state.note(CopiedPlace(next_offset - 1, 40, 5))
    return state


def test_a_state_comes_back_from_its_checkpoint() -> None:
    state = state_at(8)
    checkpoint = state.checkpoint(99)
    assert checkpoint is not None
    again = state_from(checkpoint, PAIR, 3, goes_on=False)
    assert (again.next_offset, again.last, again.epoch) == (8, CopiedPlace(7, 40, 5), 5)
    assert again.offsets.target_of(8) == 41


def test_without_a_checkpoint_nothing_is_known() -> None:
    state = state_from(None, PAIR, 3, goes_on=False)
    assert (state.next_offset, state.last, state.epoch, state.checkpoint(0)) == (None, None, None, None)


def test_the_epoch_is_told_only_right_behind_the_last_copy() -> None:
    state = state_at(8)
    state.next_offset = 9
    assert state.epoch is None


@pytest.mark.parametrize(
    ("pair", "kind"),
    [
        (TopicPair("orders", "source-2", "eu.orders", "target-1"), GapKind.SOURCE_REMADE),
        (TopicPair("orders", "source-1", "eu.orders", "target-2"), GapKind.TARGET_REMADE),
    ],
)
def test_a_topic_that_was_made_anew_is_a_gap_and_another_topic_for_who_goes_on(pair: TopicPair, kind: GapKind) -> None:
    checkpoint = state_at(8).checkpoint(0)
    with pytest.raises(GapFoundError) as failure:
        state_from(checkpoint, pair, 3, goes_on=False)
    assert failure.value.gap.kind is kind
    assert state_from(checkpoint, pair, 3, goes_on=True).next_offset is None


def test_what_was_removed_and_what_was_cut_are_told_apart() -> None:
    removed = gap_of_out_of_range(state_at(8), log_start=20, high_watermark=30)
    assert (removed.kind, removed.from_offset, removed.below_offset) == (GapKind.REMOVED, 8, 20)
    cut = gap_of_out_of_range(state_at(8), log_start=0, high_watermark=5)
    assert (cut.kind, cut.from_offset, cut.below_offset) == (GapKind.SOURCE_CUT, 5, 8)


def place(progress: int, committed: int | None = None, **fields: object) -> PartitionProgress:
    mark = None if committed is None else CommittedPosition(committed, None, MARK)
    values = {"in_flight": 0, "done_above": 0, "delayed": 0, "log_start": 0, "committed": mark, **fields}
    return PartitionProgress("eu.orders", 0, progress, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("translated", "here", "decision"),
    [
        (None, None, Stays.NOT_KNOWN),
        (5, None, PositionMove(5, None)),
        (5, place(3, 3), PositionMove(5, 3)),
        (3, place(3, 3), Stays.IS_THERE),
        (2, place(3, 3), Stays.IS_THERE),
        (5, place(3), Stays.HAS_BEGUN),
        (5, place(4, 3), Stays.HAS_BEGUN),
        (5, place(2, 3), Stays.HAS_BEGUN),
        (5, place(3, 3, in_flight=1), Stays.HAS_BEGUN),
        (5, place(3, 3, done_above=1), Stays.HAS_BEGUN),
        (5, place(3, 3, delayed=1), Stays.HAS_BEGUN),
        (5, place(4, 3, log_start=4), PositionMove(5, 4)),
        (5, PartitionProgress("eu.orders", 0), Stays.NOT_KNOWN),
        (5, place(3, committed=None), Stays.HAS_BEGUN),
    ],
)
def test_a_group_is_moved_only_where_a_mirror_has_put_it(
    translated: int | None, here: PartitionProgress | None, decision: PositionMove | Stays
) -> None:
    assert decide_position(translated, here) == decision


def test_somebody_elses_commit_is_a_consumer() -> None:
    here = place(3, 3)
    here.committed = CommittedPosition(3, None, "mine")
    assert decide_position(5, here) is Stays.HAS_BEGUN


def topic(name: str, topic_id: str) -> Topic:
    return Topic(name, topic_id, 1, 1, config_of({}), 0)


def test_a_cluster_is_not_copied_to_itself() -> None:
    assert is_same_cluster({"a": topic("a", "1")}, {"a": topic("a", "1")})
    assert not is_same_cluster({"a": topic("a", "1")}, {"a": topic("a", "2")})


def test_a_topic_that_is_copied_from_there_is_not_copied_back() -> None:
    copies, names = {"us.orders": "t1"}, {"t1": "orders"}
    assert is_copy_of_target("us.orders", copies, names)
    assert not is_copy_of_target("orders", copies, names)
    assert not is_copy_of_target("us.orders", copies, {"t2": "orders"})


def test_two_topics_that_are_copied_to_each_other_are_a_circle() -> None:
    copies, names = {"orders": "t1"}, {"t1": "orders"}
    assert "is copied to it by another mirror" in copy_fault("orders", "orders", copies, names)
    assert copy_fault("orders", "eu.orders", copies, names) == ""
    assert copy_fault("refunds", "refunds", copies, names) == ""


def test_a_throttle_lets_through_so_much_a_second() -> None:
    throttle = Throttle(1_000)
    assert throttle.pause_s(500, 10.0) == 0.0
    assert throttle.pause_s(2_000, 10.0) == 0.5
    assert throttle.pause_s(1, 10.0) == 2.5
    assert throttle.pause_s(1, 100.0) == 0.0
    assert Throttle(None).pause_s(10**12, 0.0) == 0.0


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ("at_once", 1, AT_ONCE_MAX),
        ("read_bytes_max", 1, 8 * 1024 * 1024),
        ("copies_max", 1, 10_000),
        ("look_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
        ("discovery_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
        ("checkpoint_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
        ("position_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
    ],
)
def test_settings_have_limits(field: str, least: int, most: int) -> None:
    for good in (least, most):
        MirrorSettings(name="a", **{field: good})  # type: ignore[arg-type]
    for bad in (least - 1, most + 1):
        with pytest.raises(InvalidArgument) as failure:
            MirrorSettings(name="a", **{field: bad})  # type: ignore[arg-type]
        assert failure.value.field == field


def test_a_name_and_a_rate_have_to_be_such() -> None:
    with pytest.raises(InvalidArgument):
        MirrorSettings(name="a b")
    MirrorSettings(name="a" * 235)
    with pytest.raises(InvalidArgument):
        MirrorSettings(name="a" * 236)
    with pytest.raises(InvalidArgument):
        MirrorSettings(name="a", bytes_per_second=0)
