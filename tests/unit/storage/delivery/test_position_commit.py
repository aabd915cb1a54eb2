"""Commits of readers that keep their own positions, between decision and log."""

import pytest

from acklog.wire.problems import ProblemCode
from storage.delivery.group_snapshot import CommittedPosition
from storage.delivery.position_commit import CommitDecision
from storage.delivery.records import PositionCommitted, Sought
from tests.unit.storage.delivery.group import GROUP, GroupBench


class ReaderBench(GroupBench):
    def decide(self, offset: int, *, expected: int | None = None, metadata: str = "") -> CommitDecision:
        return self.group.commit(CommittedPosition(offset, 3, metadata), expected=expected)

    def commit(self, offset: int, *, expected: int | None = None, metadata: str = "") -> ProblemCode | None:
        decision = self.decide(offset, expected=expected, metadata=metadata)
        for record in decision.records:
            self.write(record)
        return decision.problem


@pytest.fixture
def bench() -> ReaderBench:
    return ReaderBench()


def test_everything_below_is_done_and_nothing_from_it_on(bench: ReaderBench) -> None:
    leased = bench.receive(4)
    bench.ack(leased[3])
    bench.nack(leased[0], delay_ms=5_000)
    assert bench.commit(3) is None
    assert (bench.group.progress, bench.state(2), bench.state(4)) == (4, "done", "waiting")
    assert bench.ack(leased[1]) == [None], "what is done is done, whoever says so"
    assert [lease.offset for lease in bench.receive(2)] == [4, 5]
    assert bench.group.delayed_count == 0


def test_a_billion_messages_cost_nothing(bench: ReaderBench) -> None:
    bench.readable_end = 10**9
    assert bench.commit(10**9) is None
    assert bench.group.progress == 10**9


def test_the_words_of_the_reader_survive_a_failover_and_end_with_a_seek(bench: ReaderBench) -> None:
    bench.commit(7, metadata="row 12")
    bench.ack(*bench.receive(1))
    bench.fail_over()
    assert (bench.group.progress, bench.group.committed) == (8, CommittedPosition(7, 3, "row 12"))
    assert bench.group.snapshot().committed == CommittedPosition(7, 3, "row 12")
    bench.write(bench.group.seek(2))
    assert bench.group.committed is None


def test_who_does_not_know_where_the_group_is_cannot_send_it_back(bench: ReaderBench) -> None:
    bench.commit(7)
    assert bench.commit(3) is ProblemCode.COMMIT_CONFLICT
    assert bench.commit(3, expected=6) is ProblemCode.COMMIT_CONFLICT
    assert (bench.group.progress, bench.group.generation) == (7, 0)
    assert bench.commit(3, expected=7) is None
    assert (bench.group.progress, bench.group.generation, bench.state(5)) == (3, 1, "waiting")
    assert bench.group.committed == CommittedPosition(3, 3)


def test_what_is_expected_fences_forward_too(bench: ReaderBench) -> None:
    bench.commit(7)
    assert bench.commit(9, expected=6) is ProblemCode.COMMIT_CONFLICT
    assert bench.commit(9, expected=7) is None
    assert bench.commit(9, expected=7) is None, "a try whose answer was lost is made again"
    assert bench.commit(9, expected=7, metadata="another's") is ProblemCode.COMMIT_CONFLICT, "who expects 7 has lost"


def test_what_is_committed_already_writes_nothing(bench: ReaderBench) -> None:
    bench.commit(7, metadata="a")
    assert bench.decide(7, metadata="a").records == []
    assert bench.decide(7, metadata="b").records == [PositionCommitted(GROUP, 0, 7, 3, "b")]


def test_of_two_that_expect_the_same_one_waits_for_the_other(bench: ReaderBench) -> None:
    first = bench.decide(4, expected=0)
    assert bench.decide(5, expected=0).problem is ProblemCode.CONFLICT
    for record in first.records:
        bench.write(record)
    assert bench.commit(5, expected=0) is ProblemCode.COMMIT_CONFLICT
    assert bench.commit(5, expected=4) is None


def test_a_commit_that_could_not_be_written_blocks_nobody(bench: ReaderBench) -> None:
    bench.commit(4)
    back = bench.decide(2, expected=4)
    assert [type(record) for record in back.records] == [Sought, PositionCommitted]
    for record in back.records:
        bench.abort(record)
    assert bench.group.progress == 4
    assert bench.commit(6, expected=4) is None


def test_a_seek_voids_a_commit_that_was_decided_before(bench: ReaderBench) -> None:
    forward = bench.decide(9)
    bench.write(bench.group.seek(2))
    for record in forward.records:
        bench.write(record)
    assert (bench.group.progress, bench.group.committed) == (2, None)
    assert bench.commit(3, expected=2) is None
