"""Where two logs part, told by epochs, stepping back until both know one (rules R1, R2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.replication.divergence import Diverged, LogPosition, Restart, compare, position_of, truncation_offset
from tests.unit.storage.replication.support import log_of


@pytest.mark.parametrize(
    ("position", "answer"),
    [
        (LogPosition(0, -1), None),
        (LogPosition(3, 1), None),
        (LogPosition(2, 1), None),
        (LogPosition(6, 4), None),
        (LogPosition(5, 1), Diverged(1, 3)),  # more of epoch 1 than the leader
        (LogPosition(4, 2), Diverged(1, 3)),  # an epoch that the leader does not have: step back
        (LogPosition(7, 4), Diverged(4, 6)),
        (LogPosition(7, 6), Diverged(4, 6)),  # a newer epoch than any of the leader's
        (LogPosition(9, -1), Restart(0)),
    ],
)
def test_where_logs_part(position: LogPosition, answer: Diverged | Restart | None) -> None:
    """The leader has epoch 1 at 0-2, epoch 3 at 3-4, epoch 4 at 5."""
    assert compare(log_of(1, 1, 1, 3, 3, 4), position) == answer


def test_what_the_leader_has_removed_cannot_be_compared() -> None:
    log = log_of(1, 1, 2, 2, 2)
    log.remove_before(3)
    assert compare(log, LogPosition(2, 1)) == Restart(3)
    assert compare(log, LogPosition(5, 1)) == Restart(3)  # below 3 the two may differ, and nobody could tell
    assert compare(log, LogPosition(3, 2)) is None
    assert compare(log, LogPosition(3, -1)) is None


def test_an_empty_log_has_no_epoch_wherever_it_begins() -> None:
    log = log_of(1, 1, 2)
    log.remove_before(3)
    assert position_of(log) == LogPosition(3, -1)
    assert compare(log_of(1, 1, 2, 5), position_of(log)) is None


def test_only_what_is_durable_is_a_position() -> None:
    assert position_of(log_of(1, 1, 2, durable=2)) == LogPosition(2, 1)


def test_the_follower_looks_at_its_own_end_of_the_epoch() -> None:
    assert truncation_offset(log_of(1, 1, 2, 2).epochs, Diverged(1, 3)) == 2
    assert truncation_offset(log_of(1, 1, 1, 1).epochs, Diverged(1, 3)) == 3
    assert truncation_offset(log_of(2, 2).epochs, Diverged(1, 3)) == 0


@st.composite
def partings(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Two logs, as epochs of their records, and up to where they are equal: behind it each has epochs of its own, and
    one of them may have more of the last common one."""
    common = sorted(draw(st.lists(st.integers(1, 3), max_size=5)))
    more = [common[-1]] * draw(st.integers(0, 3)) if common else []
    own = [more, []] if draw(st.booleans()) else [[], more]
    leader = common + own[0] + sorted(draw(st.lists(st.sampled_from([4, 6, 8]), max_size=4)))
    follower = common + own[1] + sorted(draw(st.lists(st.sampled_from([5, 7, 9]), max_size=4)))
    pairs = list(zip(leader, follower, strict=False))
    return leader, follower, next((at for at, (one, other) in enumerate(pairs) if one != other), len(pairs))


@given(partings())
def test_turn_by_turn_exactly_the_common_part_stays(logs: tuple[list[int], list[int], int]) -> None:
    leader, follower = log_of(*logs[0]), log_of(*logs[1])
    while (parting := compare(leader, position_of(follower))) is not None:
        before = follower.written_end
        follower.truncate(
            parting.offset if isinstance(parting, Restart) else truncation_offset(follower.epochs, parting)
        )
        assert follower.written_end < before
    assert follower.written_end == logs[2]
