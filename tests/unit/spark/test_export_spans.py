from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pyspark_acklog.export.spans import Span, common, joined, overlaps, total_length, without

TOPIC_IDS = ("0123456789abc", "z123456789abc")
spans = st.lists(
    st.builds(
        lambda topic_id, partition, start, length: Span(topic_id, partition, start, start + length),
        st.sampled_from(TOPIC_IDS),
        st.integers(0, 2),
        st.integers(0, 30),
        st.integers(0, 12),
    ),
    max_size=8,
)


def offsets(found: list[Span]) -> list[tuple[str, int, int]]:
    return [(span.topic_id, span.partition, offset) for span in found for offset in range(span.start, span.end)]


@given(spans)
def test_joined_has_the_same_offsets_in_as_few_spans_as_possible(given_spans: list[Span]) -> None:
    found = joined(given_spans)
    assert sorted(offsets(found)) == sorted(set(offsets(given_spans)))
    for one, other in pairwise(found):
        assert (one.topic_id, one.partition, one.end) < (other.topic_id, other.partition, other.start)


@given(spans, spans)
def test_without_and_common_part_the_offsets(wanted: list[Span], taken: list[Span]) -> None:
    left, shared = without(wanted, taken), common(wanted, taken)
    assert set(offsets(left)) == set(offsets(wanted)) - set(offsets(taken))
    assert set(offsets(shared)) == set(offsets(wanted)) & set(offsets(taken))
    assert total_length(left) + total_length(shared) == len(set(offsets(wanted)))


@given(spans)
def test_overlaps_are_what_is_there_more_than_once(given_spans: list[Span]) -> None:
    all_offsets = offsets(given_spans)
    assert set(offsets(overlaps(given_spans))) == {each for each in all_offsets if all_offsets.count(each) > 1}
