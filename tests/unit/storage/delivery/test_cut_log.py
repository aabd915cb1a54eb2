"""A group whose partition's log was cut: what is left of what it has done."""

import pytest

from storage.delivery.cut_log import records_of_cut
from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import Acked, DeliveryRecord, Jumped, Returned, ReturnedItem, Started, pack_offsets

GROUP = "g"


def state_of(*records: DeliveryRecord) -> PartitionDelivery:
    state = PartitionDelivery(leader_epoch=3, groups_max=10)
    state.apply([Started(GROUP, 0), *records], now_ms=0, wall_now_ms=0)
    return state


def snapshot_of(state: PartitionDelivery) -> GroupSnapshot:
    group = state.group(GROUP)
    assert group is not None
    return group.snapshot()


def acked(*offsets: int, below: int = 0) -> Acked:
    return Acked(GROUP, 0, pack_offsets(offsets), below)


def returned(offset: int, wall_ms: int = 7) -> Returned:
    return Returned(GROUP, 0, wall_ms, [ReturnedItem(offset, 2, 50, 0, 3)])


def test_what_was_said_last_of_a_message_stays() -> None:
    said = ReturnedItem(1, 2, 50, 0, 3, "ada", "why")
    state = state_of(acked(0, 6), Returned(GROUP, 0, 7, [said]))
    [record] = [each for each in records_of_cut(snapshot_of(state), 5) if isinstance(each, Returned)]
    assert record.items == [said]


@pytest.mark.parametrize(
    "records",
    [
        (acked(*range(8)),),
        (acked(0, 6),),
        (acked(0, 3, below=7),),
        (acked(0, 2), returned(6)),
        (acked(0, 2, 3, 5), returned(1), returned(4, 9), returned(5, 9)),
        (acked(0, below=6),),
        (Jumped(GROUP, 7, 3),),
    ],
)
def test_nothing_at_or_beyond_the_end_stays_and_all_below_does(records: tuple[DeliveryRecord, ...]) -> None:
    end = 5
    state = state_of(*records)
    before = snapshot_of(state)
    cut = records_of_cut(before, end)
    state.apply(cut, now_ms=0, wall_now_ms=0)
    state.check_invariants()
    after = snapshot_of(state)

    def is_done(snapshot: GroupSnapshot, offset: int) -> bool:
        return offset < snapshot.progress or any(start <= offset < to for start, to in snapshot.done)

    assert [is_done(after, offset) for offset in range(end)] == [is_done(before, offset) for offset in range(end)]
    assert not any(is_done(after, offset) for offset in range(end, 20))
    assert after.retries == [retry for retry in before.retries if retry[0] < end]
    assert after.delivered_below <= end
    assert after.generation == before.generation + 1, "every receipt of before is stale"
    assert records_of_cut(after, end) == [], "once"


def test_a_group_within_the_log_is_left_alone() -> None:
    for records in ((), (acked(0, 1, 4, below=5),), (returned(4),)):
        assert records_of_cut(snapshot_of(state_of(*records)), 5) == []
