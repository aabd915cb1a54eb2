from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.partitioner import hash_of_key
from acklog.wire.record import Record, tag_bit
from storage.delivery.candidates import NO_KEY, CandidateIndex, CandidateKind, WantedRange, runs_of
from storage.delivery.candidates import CandidateKind as Kind
from storage.delivery.candidates import CandidateRun as Run


def test_it_knows_nothing_before_it_is_fed() -> None:
    index = CandidateIndex(runs_max=10)
    assert index.run_at(5, 9) == WantedRange(5, 9)


def test_what_was_fed_is_seen_up_to_the_end_that_is_asked_for() -> None:
    index = CandidateIndex(runs_max=10)
    index.feed(10, 20, [Run(10, 15, key_hash=1), Run(15, 20, key_hash=2)])
    assert index.run_at(12, 100) == Run(12, 15, key_hash=1)
    assert index.run_at(12, 13) == Run(12, 13, key_hash=1)
    assert index.run_at(19, 100) == Run(19, 20, key_hash=2)
    assert index.run_at(20, 100) == WantedRange(20, 100)
    assert index.run_at(3, 100) == WantedRange(3, 10)


def test_what_a_feed_leaves_out_is_a_gap() -> None:
    index = CandidateIndex(runs_max=10)
    index.feed(0, 1_000_000_000, [Run(5, 6), Run(7, 8)])
    assert index.run_count == 5
    assert index.run_at(0, 10) == Run(0, 5, Kind.GAP)
    assert index.run_at(6, 10) == Run(6, 7, Kind.GAP)
    assert index.run_at(8, 1_000_000_000) == Run(8, 1_000_000_000, Kind.GAP)


def test_a_feed_fills_up_to_what_is_known() -> None:
    index = CandidateIndex(runs_max=10)
    index.feed(10, 20, [Run(10, 20, key_hash=1)])
    index.feed(5, 30, [Run(0, 30, key_hash=2)])
    assert index.run_at(5, 100) == Run(5, 10, key_hash=2)
    assert index.run_at(10, 100) == Run(10, 20, key_hash=1)
    index.feed(12, 30, [Run(0, 30, key_hash=3)])
    assert index.run_at(20, 100) == Run(20, 30, key_hash=3)
    index.feed(12, 20, [Run(12, 20, key_hash=4)])
    assert index.run_at(12, 100) == Run(12, 20, key_hash=1)


def test_at_the_limit_it_forgets_what_was_looked_at_longest_ago() -> None:
    index = CandidateIndex(runs_max=4)
    for start in (0, 10, 20):
        index.feed(
            start,
            start + 2,
            [Run(start, start + 1, key_hash=1), Run(start + 1, start + 2, key_hash=2)],
        )
        index.run_at(0, 100)
    assert index.run_count == 4
    assert index.run_at(10, 100) == WantedRange(10, 20)
    assert index.run_at(0, 100).end == 1


def test_of_a_feed_that_is_too_large_it_takes_the_beginning() -> None:
    index = CandidateIndex(runs_max=3)
    index.feed(0, 10, [Run(offset, offset + 1, key_hash=offset) for offset in range(10)])
    assert index.run_count == 3
    assert index.run_at(2, 10) == Run(2, 3, key_hash=2)
    assert index.run_at(3, 10) == WantedRange(3, 10)


def test_messages_that_are_alike_are_one_run() -> None:
    records = [Record(b"1"), Record(b"2"), Record(b"3", "k"), Record(b"4", "k"), Record(b"5", "k", tags=["a", "b"])]
    key_hash = hash_of_key("k")
    assert runs_of(40, records) == [
        Run(40, 42, key_hash=NO_KEY),
        Run(42, 44, key_hash=key_hash),
        Run(44, 45, key_hash=key_hash, tag_bits=tag_bit("a") | tag_bit("b")),
    ]


def test_a_header_stands_for_the_key_where_groups_are_fair_by_it() -> None:
    records = [
        Record(b"1", "k", {"tenant": "a"}),
        Record(b"2", "other", {"tenant": "a", "x": "y"}),
        Record(b"3", "k", {"x": "y"}),
        Record(b"4", "k"),
        None,
        Record(b"5", None, {"tenant": ""}),
    ]
    assert runs_of(40, records, header="tenant") == [
        Run(40, 42, key_hash=hash_of_key("a")),
        Run(42, 44, key_hash=NO_KEY),
        Run(44, 45, CandidateKind.GAP),
        Run(45, 46, key_hash=hash_of_key("")),
    ]


_RUNS = st.lists(st.tuples(st.integers(1, 4), st.booleans(), st.integers(0, 2)), max_size=12)


@given(_RUNS, st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=12), st.integers(1, 6))
def test_it_says_what_the_log_has_or_asks(
    parts: list[tuple[int, bool, int]], looks: list[tuple[int, int]], runs_max: int
) -> None:
    """Whatever it was fed, in whatever order, and whatever it has forgotten."""
    log: list[Run] = []
    offset = 0
    for length, is_there, key_hash in parts:
        if is_there:
            log.append(Run(offset, offset + length, key_hash=key_hash))
        offset += length
    end = max(offset, 1)
    truth = {each: (run.kind, run.key_hash) for run in log for each in range(run.start, run.end)}
    index = CandidateIndex(runs_max=runs_max)
    for start, batch in looks:
        if start >= end:
            continue
        found = index.run_at(start, end)
        if isinstance(found, WantedRange):
            assert found.start == start < found.end <= end
            index.feed(start, min(start + batch, end), log)
            found = index.run_at(start, end)
        assert isinstance(found, Run)
        assert index.run_count <= runs_max
        assert found.start == start < found.end <= end
        for each in range(found.start, found.end):
            assert (found.kind, found.key_hash) == truth.get(each, (Kind.GAP, NO_KEY))
