from dataclasses import replace

from acklog.wire.batch import NO_PRODUCER, encode_control_batch, read_header, stamp
from acklog.wire.compacted_batch import NEVER_MS
from storage.compaction.latest_offsets import KEY_OVERHEAD_BYTES, LatestOffsets
from storage.compaction.segment_compaction import PLACEHOLDER_RECORDS_MAX, CompactionTerms, SegmentCompaction
from tests.support.compaction import (
    TERMS,
    batch_at,
    compacted,
    latest_in,
    remaining,
    segment_of,
    tombstone,
    value,
)


def offsets_left(segment: list[bytes], *, terms: CompactionTerms = TERMS) -> list[int]:
    return sorted(remaining(compacted(segment, latest_in([segment]), terms)[0]))


def test_the_last_of_each_key_stays_and_what_has_no_key() -> None:
    segment = segment_of([value("a", "1"), value("b", "1")], [value("a", "2"), value(None, "x")], [value("b", "2")])
    assert offsets_left(segment) == [2, 3, 4]


def test_nothing_is_changed_where_nothing_is_to_be_removed() -> None:
    segment = segment_of([value("a", "1")], [value("b", "1")])
    written, compaction = compacted(segment, latest_in([segment]))
    assert written == segment
    assert not compaction.has_changed
    segment = segment_of([value("a", "1")], [value("a", "2")])
    segment, _ = compacted(segment, latest_in([segment]))
    again, compaction = compacted(segment, latest_in([segment]))
    assert again == segment
    assert not compaction.has_changed


def test_what_was_appended_behind_the_map_is_left_alone() -> None:
    segment = segment_of([value("a", "1")], [value("a", "2")], [value("a", "3")])
    latest = latest_in([segment[:2]])
    assert sorted(remaining(compacted(segment, latest)[0])) == [1, 2]


def test_a_map_takes_whole_batches_until_it_is_full_and_the_first_one_always() -> None:
    segment = segment_of([value("a", "1"), value("b", "1")], [value("b", "2")], [value("c", "1")])
    latest = latest_in([segment], bytes_max=1)
    assert latest.end == 3, "the second batch has no other keys"
    assert len(latest) == 2
    assert latest_in([segment], bytes_max=3 * (KEY_OVERHEAD_BYTES + 1)).end == 4
    assert latest_in([segment], bytes_max=3 * (KEY_OVERHEAD_BYTES + 1) - 1).end == 3


def test_a_tombstone_stays_for_a_while_after_it_was_met() -> None:
    segment = segment_of([value("a", "1")], [tombstone("a")], [value("b", "1")])
    first, compaction = compacted(segment, latest_in([segment]), replace(TERMS, tombstones_met_before_ms=10_000))
    assert sorted(remaining(first)) == [1, 2], "nobody has met it before"
    assert compaction.figures.oldest_tombstone_ms == TERMS.now_ms
    later = replace(TERMS, now_ms=5000, tombstones_met_before_ms=TERMS.now_ms)
    second, compaction = compacted(first, latest_in([first]), later)
    assert second == first
    assert compaction.figures.oldest_tombstone_ms == TERMS.now_ms
    third, compaction = compacted(first, latest_in([first]), replace(later, tombstones_met_before_ms=TERMS.now_ms + 1))
    assert sorted(remaining(third)) == [2]
    assert compaction.figures.oldest_tombstone_ms == NEVER_MS
    assert compaction.figures.records_removed == 1


def test_tombstones_never_go_where_they_may_not() -> None:
    segment = segment_of([tombstone("a")])
    for _ in range(2):
        segment, _ = compacted(segment, latest_in([segment]))
    assert sorted(remaining(segment)) == [0]


def test_neighbours_of_which_nothing_is_left_become_one_placeholder_within_an_epoch() -> None:
    segment = [batch_at(number, [value("a", "1")], epoch=number // 3, append_ms=number) for number in range(7)]
    written, _ = compacted(segment, latest_in([segment]))
    headers = [read_header(each) for each in written]
    assert [(each.base_offset, each.count, each.leader_epoch) for each in headers] == [(0, 3, 0), (3, 3, 1), (6, 1, 2)]
    assert [each.append_time_ms for each in headers] == [2, 5, 6]


def test_a_placeholder_stands_for_so_many_at_most() -> None:
    half = PLACEHOLDER_RECORDS_MAX // 2
    records = [value("a", "1")] * half
    segment = [batch_at(number * half, records) for number in range(3)]
    latest = LatestOffsets(0, bytes_max=1000)
    for each in [*segment, batch_at(3 * half, records)]:
        latest.add(read_header(each), [])
    latest._offsets["a"] = 4 * half
    written, _ = compacted(segment, latest)
    assert [read_header(each).count for each in written] == [PLACEHOLDER_RECORDS_MAX, half]


def test_a_batch_that_may_come_again_keeps_what_it_is_known_by() -> None:
    batches = [
        batch_at(number, [value("a", str(number))], append_ms=100 * number, producer=(7, 0, number))
        for number in range(4)
    ]
    terms = replace(TERMS, identities_kept_after_ms=99)
    written, _ = compacted(batches, latest_in([batches]), terms)
    assert [read_header(each).producer_id for each in written] == [NO_PRODUCER, 7, 7, 7]
    assert sorted(remaining(written)) == [3]
    later, _ = compacted(written, latest_in([written]), replace(terms, identities_kept_after_ms=250))
    assert [(read_header(each).count, read_header(each).producer_id) for each in later] == [(3, NO_PRODUCER), (1, 7)]


def test_control_batches_stay() -> None:
    control = encode_control_batch(b"\x91\x00", count=1)
    stamp(control, base_offset=1, leader_epoch=0, append_time_ms=0)
    segment = [batch_at(0, [value("a", "1")]), bytes(control), batch_at(2, [value("a", "2")])]
    latest = latest_in([segment])
    compaction = SegmentCompaction(latest, TERMS)
    written = [bytes(each) for data in segment for each in compaction.take(read_header(data), data)]
    assert [read_header(each).base_offset for each in written] == [0, 1, 2]
    assert written[1] == bytes(control)
