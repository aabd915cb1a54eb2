"""The state of a group that a restore brings: as it was, and never further than the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from storage.delivery.adopted_state import adopted_state
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_progress import GroupProgress
from storage.delivery.group_snapshot import NOBODY, CommittedPosition, GroupSnapshot
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import DeliveryFormatError, StateRestored, decode_records, encode_records

STATE = GroupSnapshot(
    "there",
    7,
    10,
    [(12, 15), (20, 22)],
    [(11, 3, 5, 1_000, 2_000), (18, 1, 5, 1_000, 0)],
    22,
    [(3, 4)],
    1,
    0,
    CommittedPosition(10, 5, "row 7"),
    (4, "worker"),
    2,
)


def is_done(state: GroupSnapshot, offset: int) -> bool:
    progress = GroupProgress(state.progress, DeliverySettings())
    progress.restore(state)
    return progress.is_done(offset)


@given(st.integers(0, 30))
def test_below_the_end_of_the_log_it_is_what_it_was_and_above_it_nothing(end: int) -> None:
    state = adopted_state(STATE, "here", end=end, leader_epoch=9)
    assert state.group_id == "here"
    assert (state.generation, state.owner, state.claimed_generations) == (0, NOBODY, 0)
    assert state.progress <= end
    assert [is_done(state, offset) for offset in range(end)] == [is_done(STATE, offset) for offset in range(end)]
    assert not any(is_done(state, offset) for offset in range(end, 40))
    assert [(offset, attempts, epoch) for offset, attempts, epoch, *_ in state.retries] == [
        (offset, attempts, 9) for offset, attempts in ((11, 3), (18, 1)) if offset < end
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        replace(STATE, done=[(15, 12)]),
        replace(STATE, done=[(10, 12)]),
        replace(STATE, progress=-1),
        replace(STATE, retries=[(2, 1, 5, 1_000, 0)]),
        replace(STATE, retries=[(12, 1, 5, 1_000, 0)]),
    ],
)
def test_what_no_group_can_be_in_is_refused(wrong: GroupSnapshot) -> None:
    with pytest.raises(DeliveryFormatError):
        adopted_state(wrong, "here", end=100, leader_epoch=9)


def test_its_record_replaces_whatever_was_there_and_may_come_twice() -> None:
    state = adopted_state(STATE, "here", end=100, leader_epoch=9)
    [record] = decode_records(encode_records([StateRestored("here", state)]))
    delivery = PartitionDelivery(leader_epoch=9, groups_max=10)
    delivery.apply([record], now_ms=0, wall_now_ms=5_000)
    once = delivery.snapshot()
    delivery.apply([record], now_ms=0, wall_now_ms=5_000)
    assert delivery.snapshot() == once
    found = delivery.group("here")
    assert found is not None
    assert found.progress == 10
    delivery.check_invariants()
