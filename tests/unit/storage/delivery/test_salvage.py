"""What is left of groups where a part of what they did cannot be read: never more than they had done."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_progress import GroupProgress
from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.records import (
    Acked,
    Claimed,
    DeliveryRecord,
    GroupRemoved,
    Jumped,
    Returned,
    ReturnedItem,
    Skipped,
    Sought,
    Started,
    pack_offsets,
)
from storage.delivery.salvage import Basis, DeliverySalvage, Projection, SalvagedGroup

START = 3


def acked(*offsets: int, generation: int = 0) -> Acked:
    return Acked("g", generation, pack_offsets(offsets), max(offsets) + 1)


def salvaged(
    *parts: list[DeliveryRecord] | None, projection: Projection | None = None, readers: tuple[str, ...] = ()
) -> dict[str, SalvagedGroup]:
    """None among the parts is a place where records are lost."""
    projections = {} if projection is None else {"g": projection}
    salvage = DeliverySalvage(projections, readers=readers, messages_start=START)
    for part in parts:
        if part is None:
            salvage.lost()
        else:
            salvage.apply(part)
    return salvage.finish()


def told(groups: dict[str, SalvagedGroup]) -> tuple[Basis, int, list[tuple[int, int]]]:
    group = groups["g"]
    return group.basis, group.progress.progress, list(group.progress.done_above)


def test_a_whole_log_says_everything() -> None:
    groups = salvaged([Started("g", 5), acked(5, 7)], projection=Projection(99, 4))
    assert told(groups) == (Basis.EXACT, 6, [(7, 8)])


@pytest.mark.parametrize(
    ("tail", "projection", "outcome"),
    [
        ([acked(12)], Projection(10, 0), (Basis.PROJECTED, 10, [(12, 13)])),
        ([acked(12)], Projection(10, -1), (Basis.PROJECTED, 10, [(12, 13)])),
        ([], Projection(10, 0), (Basis.PROJECTED, 10, [])),
        ([], Projection(10, 6), (Basis.PROJECTED, 10, [])),
        ([], Projection(1, 0), (Basis.PROJECTED, START, [])),
        ([], Projection(10, -1), (Basis.EARLIEST, START, [])),
        ([acked(12, generation=1)], Projection(10, 0), (Basis.EARLIEST, START, [(12, 13)])),
        ([acked(12, generation=1)], Projection(10, -1), (Basis.EARLIEST, START, [(12, 13)])),
        ([acked(12, generation=1)], Projection(10, 1), (Basis.PROJECTED, 10, [(12, 13)])),
        ([acked(12)], None, (Basis.EARLIEST, START, [(12, 13)])),
        ([acked(12), Sought("g", 1, 6), acked(6, generation=1)], Projection(10, 0), (Basis.EXACT, 7, [])),
        ([Sought("g", 4, 6)], None, (Basis.EXACT, 6, [])),
        ([Started("g", 6), acked(6)], None, (Basis.EXACT, 7, [])),
    ],
)
def test_without_what_was_before(
    tail: list[DeliveryRecord], projection: Projection | None, outcome: tuple[Basis, int, list[tuple[int, int]]]
) -> None:
    assert told(salvaged(None, tail, projection=projection)) == outcome


@pytest.mark.parametrize(
    ("tail", "projection", "outcome"),
    [
        ([acked(12)], None, (Basis.LOG, 8, [(12, 13)])),
        ([acked(12)], Projection(10, 0), (Basis.LOG, 10, [(12, 13)])),
        ([], Projection(10, 0), (Basis.LOG, 10, [])),
        ([], Projection(5, 1), (Basis.PROJECTED, 5, [])),
        ([acked(6, generation=1)], Projection(5, 1), (Basis.PROJECTED, 5, [(6, 7)])),
        ([acked(6, generation=1)], Projection(7, 0), (Basis.EARLIEST, START, [(6, 7)])),
        ([], Projection(10, -1), (Basis.EARLIEST, START, [])),
        ([], None, (Basis.EARLIEST, START, [])),
        ([Sought("g", 3, 4), acked(4, generation=3)], Projection(9, 0), (Basis.EXACT, 5, [])),
    ],
)
def test_with_a_gap_in_between(
    tail: list[DeliveryRecord], projection: Projection | None, outcome: tuple[Basis, int, list[tuple[int, int]]]
) -> None:
    head: list[DeliveryRecord] = [Started("g", 5), acked(5, 6, 7)]
    assert told(salvaged(head, None, tail, projection=projection)) == outcome


def test_attempts_that_are_left_are_kept() -> None:
    returned = Returned("g", 0, 1, [ReturnedItem(4, 2, 0, 0, 1), ReturnedItem(11, 3, 0, 0, 1)])
    groups = salvaged(None, [returned], projection=Projection(10, 0))
    assert {offset: retry.attempts for offset, retry in groups["g"].progress.retries.items()} == {11: 3}


def test_a_group_that_was_removed_stays_away() -> None:
    assert salvaged(None, [GroupRemoved("g"), acked(4)], projection=Projection(10, 0), readers=("g",)) == {}


def test_who_may_have_read_the_partition_begins_at_its_start() -> None:
    assert told(salvaged(None, [], readers=("g",))) == (Basis.EARLIEST, START, [])


def test_receipts_of_before_are_older_than_what_comes() -> None:
    head: list[DeliveryRecord] = [Started("g", 5), Sought("g", 7, 5)]
    assert salvaged(head, None)["g"].progress.generation > 1000


def test_a_sound_snapshot_is_where_it_begins() -> None:
    salvage = DeliverySalvage({}, messages_start=0)
    salvage.begin([GroupSnapshot("g", 2, 10, [(12, 13)], [(11, 3, 1, 1, 0)], 13, [], 4, 5)])
    salvage.lost()
    salvage.apply([Jumped("g", 11, 1), acked(14, generation=2)])
    group = salvage.finish()["g"]
    assert (group.basis, group.progress.progress) == (Basis.LOG, 11)
    assert (group.progress.dead_lettered_count, group.progress.lost_count) == (4, 6)


@given(st.data())
def test_nothing_counts_as_done_that_was_not(data: st.DataObject) -> None:
    """A group acknowledges and seeks; the projection follows, at the latest behind each seek. Whatever part of the log
    is lost then: what comes out is done is done."""
    truth, records = (
        GroupProgress(START, DeliverySettings(dead_lettered_ranges_max=10)),
        list[DeliveryRecord]([Started("g", START)]),
    )
    projection = Projection(START, 0)
    for _ in range(data.draw(st.integers(0, 12))):
        if data.draw(st.integers(0, 3)) == 0:
            sought = Sought("g", truth.generation + 1, data.draw(st.integers(START, 20)))
            truth.sought(sought)
            records.append(sought)
            projection = Projection(truth.progress, truth.generation)
        else:
            done = acked(*data.draw(st.sets(st.integers(START, 20), min_size=1)), generation=truth.generation)
            truth.acked(done)
            records.append(done)
            if data.draw(st.booleans()):
                projection = Projection(truth.progress, truth.generation)
    lost_from = data.draw(st.integers(0, len(records)))
    lost_until = data.draw(st.integers(lost_from, len(records)))
    if data.draw(st.booleans()):
        projection = projection._replace(generation=-1) if truth.generation == 0 else projection
    parts = [records[:lost_from], None, records[lost_until:]]
    for group in salvaged(*parts, projection=projection).values():
        group.progress.check_invariants()
        assert all(truth.is_done(offset) for offset in range(START, 30) if group.progress.is_done(offset))


def test_what_was_passed_over_stays_so() -> None:
    """R41: also where a part of the log is lost, of its generation and of no other."""
    passed_over = Skipped("g", 0, pack_offsets([5, 6, 9]))
    assert told(salvaged([Started("g", 5), passed_over])) == (Basis.EXACT, 7, [(9, 10)])
    assert told(salvaged([Started("g", 5)], None, [passed_over], projection=Projection(4, 0)))[1:] == (7, [(9, 10)])
    assert told(salvaged([Started("g", 5), Sought("g", 1, 2), passed_over])) == (Basis.EXACT, 2, [])


def test_a_claim_right_behind_what_is_known_shows_that_no_seek_is_missing() -> None:
    groups = salvaged([Started("g", 5), acked(5)], None, [Claimed("g", 1, 8, "ada"), acked(6, generation=1)])
    assert told(groups) == (Basis.LOG, 7, [])
    assert groups["g"].progress.owner == (8, "ada")


def test_a_claim_behind_a_gap_may_follow_a_seek_and_the_group_begins_again() -> None:
    groups = salvaged([Started("g", 5), acked(5)], None, [Claimed("g", 3, 8, "ada")], projection=Projection(6, 3))
    assert told(groups) == (Basis.PROJECTED, 6, [])
    assert groups["g"].progress.owner == (8, "ada")
