"""Where a stream is: what a checkpoint holds, and how micro-batches follow each other."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_acklog.failures import SparkSourceError, TopicChangedError
from pyspark_acklog.ranges import OffsetRange
from pyspark_acklog.stream_offsets import (
    TopicOffsets,
    advanced,
    between,
    beyond_the_log,
    is_same_place,
    of_document,
    of_ranges,
    to_document,
    with_slices,
)

OFFSETS = st.dictionaries(st.integers(0, 12), st.integers(0, 50), max_size=4)


def at(**topics: dict[int, int]) -> dict[str, TopicOffsets]:
    return {name: TopicOffsets(f"id-{name}", offsets) for name, offsets in topics.items()}


@given(st.dictionaries(st.sampled_from("abc"), OFFSETS))
def test_a_checkpoint_comes_back(topics: dict[str, dict[int, int]]) -> None:
    places = at(**topics)
    assert of_document(json.loads(json.dumps(to_document(places)))) == places


@pytest.mark.parametrize("document", [{"a": 1}, {"a": {"id": "x"}}, {"a": {"id": "x", "offsets": {"p": 1}}}])
def test_another_source_s_checkpoint_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(SparkSourceError, match="not of this source"):
        of_document(document)


@given(OFFSETS, OFFSETS, st.integers(0, 9), st.integers(1, 60))
def test_micro_batches_cover_everything_once(
    start: dict[int, int], more: dict[int, int], removed: int, messages_max: int
) -> None:
    first = at(t=start)
    begins = {number: start.get(number, removed) for number in {**start, **more}}
    now = at(t={number: begin + more.get(number, 0) for number, begin in begins.items()})
    seen: list[tuple[int, int]] = []
    place = first
    for _ in range(1_000):
        end = advanced(place, at(t=begins), now, messages_max=messages_max)
        ranges = between(place, end)
        assert sum(each.length for each in ranges) <= messages_max
        seen += [(each.partition, offset) for each in ranges for offset in range(each.start, each.end)]
        if end == place:
            break
        place = end
    assert sorted(seen) == sorted((p, o) for p, n in more.items() for o in range(begins[p], begins[p] + n))


def test_a_new_partition_and_a_new_topic_are_read_from_where_they_begin() -> None:
    log_starts, now = at(a={0: 1, 1: 1}, b={0: 2}), at(a={0: 7, 1: 2}, b={0: 3})
    found = advanced(at(a={0: 5}), log_starts, now, messages_max=None)
    assert found == at(a={0: 7, 1: 1}, b={0: 2})
    assert [each for each in between(at(a={0: 5}), found) if each.length] == [OffsetRange("a", "id-a", 0, 5, 7)]
    after = advanced(found, log_starts, now, messages_max=None)
    assert [each for each in between(found, after) if each.length] == [
        OffsetRange("a", "id-a", 1, 1, 2),
        OffsetRange("b", "id-b", 0, 2, 3),
    ]


def test_a_partition_that_is_gone_is_not_forgotten() -> None:
    assert advanced(at(a={0: 5, 1: 3}), {}, at(a={0: 6}), messages_max=None) == at(a={0: 6, 1: 3})


def test_a_high_watermark_that_is_behind_takes_nothing_back() -> None:
    assert advanced(at(a={0: 5}), {}, at(a={0: 4}), messages_max=None) == at(a={0: 5})


def test_a_topic_that_is_another_or_gone() -> None:
    with pytest.raises(TopicChangedError, match="made anew"):
        advanced(at(a={0: 5}), {}, {"a": TopicOffsets("other", {0: 9})}, messages_max=None)
    with pytest.raises(TopicChangedError, match="not there any more"):
        advanced(at(a={0: 5}), {}, at(b={0: 9}), messages_max=None)


def test_ranges_have_two_ends() -> None:
    ranges = [OffsetRange("a", "id-a", 0, 1, 2), OffsetRange("a", "id-a", 1, 3, 4)]
    assert of_ranges(ranges, at_end=False) == at(a={0: 1, 1: 3})
    assert of_ranges(ranges, at_end=True) == at(a={0: 2, 1: 4})


def test_how_a_micro_batch_is_cut_goes_with_its_end() -> None:
    places = with_slices(at(a={0: 5}, b={1: 2}), {"a": 100})
    document = json.loads(json.dumps(to_document(places)))
    assert document == {
        "a": {"id": "id-a", "offsets": {"0": 5}, "slice": 100},
        "b": {"id": "id-b", "offsets": {"1": 2}},
    }
    assert of_document(document) == places
    assert is_same_place(places, at(a={0: 5}, b={1: 2}))
    assert not is_same_place(places, at(a={0: 6}, b={1: 2}))


def test_what_a_query_has_read_and_the_log_has_not() -> None:
    start = at(a={0: 5, 1: 3, 2: 9}, gone={0: 1})
    assert beyond_the_log(start, at(a={0: 4, 1: 3})) == [OffsetRange("a", "id-a", 0, 4, 5)]
    assert beyond_the_log(start, {"a": TopicOffsets("other", {0: 0})}) == [], "that is said elsewhere"
