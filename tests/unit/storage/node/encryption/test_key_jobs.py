"""Whose turn it is: what is urgent first, what failed behind what did not, and later each time."""

from cluster.backoff import Backoff
from storage.node.encryption.key_jobs import WHOLE_TOPIC, KeyJob, KeyJobs

A1, A2, B1, WHOLE = KeyJob("a", 1), KeyJob("a", 2), KeyJob("b", 1), KeyJob("a", WHOLE_TOPIC)


def jobs(*added: KeyJob, urgent: KeyJob | None = None) -> KeyJobs:
    found = KeyJobs(Backoff(500, 2_000))
    for job in added:
        found.add(job, is_urgent=job == urgent)
    return found


def test_what_is_urgent_comes_first() -> None:
    row = jobs(A1, A2, B1, urgent=A2)
    assert [row.take(0), row.take(0), row.take(0), row.take(0)] == [A2, A1, B1, None]


def test_what_somebody_waits_for_is_preferred() -> None:
    row = jobs(A1, B1)
    row.prefer(B1)
    row.prefer(A2)
    assert [row.take(0), row.take(0), row.take(0)] == [B1, A1, None]


def test_what_fails_is_tried_later_each_time() -> None:
    row, now_ms, pauses = jobs(A1), 0, []
    for _ in range(4):
        assert row.take(now_ms) == A1
        row.fail(A1, now_ms)
        assert row.take(now_ms) is None
        assert row.next_due_ms is not None
        pauses.append(row.next_due_ms - now_ms)
        now_ms = row.next_due_ms
        assert row.take(now_ms - 1) is None
    assert pauses == [500, 1_000, 2_000, 2_000]
    assert row.take(now_ms) == A1
    row.done(A1)
    assert (row.take(now_ms * 2), row.next_due_ms, row.missing_keys) == (None, None, 0)


def test_what_has_failed_comes_behind_what_has_not() -> None:
    row = jobs(A1, urgent=A1)
    row.take(0)
    row.fail(A1, 0)
    row.add(B1, is_urgent=False)
    assert [row.take(500), row.take(500)] == [B1, A1]


def test_what_waits_for_others_is_due_once_something_has_changed_and_what_failed_is_not() -> None:
    row = jobs(WHOLE, A1)
    assert [row.take(0), row.take(0)] == [WHOLE, A1]
    row.wait(WHOLE, 0)
    row.fail(A1, 0)
    assert row.take(0) is None
    row.hurry()
    assert [row.take(0), row.take(0)] == [WHOLE, None]


def test_what_is_added_while_it_is_done_is_done_again_and_by_nobody_else_meanwhile() -> None:
    row = jobs(A1)
    assert row.take(0) == A1
    row.add(A1, is_urgent=True)
    assert row.take(0) is None
    row.done(A1)
    assert row.take(0) == A1
    row.add(A1, is_urgent=True)
    row.fail(A1, 0)
    assert row.take(0) == A1


def test_it_rests_where_nothing_can_begin() -> None:
    row = jobs(A1, WHOLE)
    assert (row.is_at_rest, row.missing_keys) == (False, 1)
    for _ in range(2):
        job = row.take(0)
        assert job is not None
        assert not row.is_at_rest
        row.fail(job, 0)
    assert (row.is_at_rest, row.missing_keys) == (True, 1)
