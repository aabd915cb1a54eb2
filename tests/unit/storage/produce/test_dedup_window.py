import tracemalloc

import pytest

from acklog.wire.batch import DedupKey
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.produce.dedup_window import ENTRY_OVERHEAD_BYTES, DedupWindow
from storage.rpc.messages import KeyedResult

WINDOW_MS = 300_000


def key(name: str, *, index: int = 0, content: bytes = b"12345678", count: int = 1) -> DedupKey:
    return DedupKey(index, name, content, count)


def new_window(limit_bytes: int = 1_000_000) -> DedupWindow:
    return DedupWindow(window_ms=WINDOW_MS, limit_bytes=limit_bytes)


def append(window: DedupWindow, *keys: DedupKey, offset: int, now_ms: int = 0) -> None:
    window.commit(window.reserve(list(keys), now_ms), offset, 7, now_ms)


def test_a_duplicate_gets_the_original_place() -> None:
    window = new_window()
    append(window, key("a", index=0), key("b", index=3), offset=100)
    verdict = window.check([key("b", index=1), key("c", index=2)], 10)
    assert (verdict.known, verdict.pending) == ([KeyedResult(1, 103, 7, False)], [])


def test_another_content_is_a_conflict() -> None:
    window = new_window()
    append(window, key("a"), offset=100)
    assert window.check([key("a", content=b"87654321")], 0).known == [KeyedResult(0, 100, 7, True)]


def test_a_run_is_known_by_its_first_place_and_its_length() -> None:
    window = new_window()
    append(window, key("a", count=3), key("b", index=3, count=10_000), offset=100)
    verdict = window.check([key("b", count=10_000), key("a", index=10_000, count=3)], 10)
    assert verdict.known == [KeyedResult(0, 103, 7, False, 10_000), KeyedResult(10_000, 100, 7, False, 3)]


@pytest.mark.parametrize("count", [1, 2, 4, 10_000])
def test_another_length_of_a_run_is_a_conflict(count: int) -> None:
    window = new_window()
    append(window, key("a", count=3), offset=100)
    assert window.check([key("a", index=5, count=count)], 0).known == [KeyedResult(5, 100, 7, True, count)]


def test_a_run_takes_the_memory_of_one_message() -> None:
    window = new_window(limit_bytes=2 * (ENTRY_OVERHEAD_BYTES + 1))
    append(window, key("a", count=10_000), offset=0)
    append(window, key("b", count=1), offset=10_000)
    assert (len(window), window.size_bytes) == (2, 2 * (ENTRY_OVERHEAD_BYTES + 1))
    with pytest.raises(ServerError):
        window.reserve([key("c")], 0)


def test_the_cost_of_an_entry_is_not_less_than_what_it_takes() -> None:
    window = new_window(limit_bytes=1 << 30)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(12_000):  # the dictionary has just grown at 10,923
            append(window, key(f"a request's own key {number}", content=bytes(bytearray(8)), count=1000), offset=5000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.5 * window.size_bytes < after - before <= window.size_bytes


def test_only_eight_bytes_of_the_fingerprint_are_compared() -> None:
    window = new_window()
    append(window, key("a", content=b"12345678rest"), offset=100)
    assert not window.check([key("a", content=b"12345678other")], 0).known[0].conflict


def test_a_key_that_is_being_appended_is_pending_whatever_its_content() -> None:
    window = new_window()
    token = window.reserve([key("a")], 0)
    verdict = window.check([key("a", content=b"another!")], 0)
    assert (verdict.known, verdict.pending) == ([], [token])
    window.abort(token)
    assert window.check([key("a")], 0).pending == []


def test_nothing_is_forgotten_before_its_window_which_begins_with_the_commit() -> None:
    window = new_window()
    token = window.reserve([key("a")], 0)
    window.commit(token, 5, 7, 1000)
    assert window.next_deadline() == 1000 + WINDOW_MS
    assert window.check([key("a")], 999 + WINDOW_MS).known
    assert not window.check([key("a")], 1000 + WINDOW_MS).known
    assert (len(window), window.size_bytes) == (0, 0)


def test_pending_keys_never_expire() -> None:
    window = new_window()
    token = window.reserve([key("a")], 0)
    assert window.check([key("a")], 10 * WINDOW_MS).pending == [token]


def test_two_equal_keys_in_a_batch_are_refused() -> None:
    window = new_window()
    for call in (window.check, window.reserve):
        with pytest.raises(ValueError, match="two runs"):
            call([key("a"), key("a", index=1)], 0)
    assert len(window) == 0


def test_a_full_window_refuses_before_anything_changes_and_says_when_to_come_back() -> None:
    window = new_window(limit_bytes=2 * (ENTRY_OVERHEAD_BYTES + 1))
    append(window, key("a"), offset=1, now_ms=100)
    with pytest.raises(ServerError) as caught:
        window.reserve([key("b"), key("c", index=1)], 1100)
    assert caught.value.code is ProblemCode.DEDUP_WINDOW_FULL
    assert caught.value.retry_after_ms == WINDOW_MS - 1000
    assert len(window) == 1
    append(window, key("b"), offset=2, now_ms=1100)
    with pytest.raises(ServerError):
        window.reserve([key("c")], 1100)
    window.commit(window.reserve([key("c")], 100 + WINDOW_MS), 3, 7, 100 + WINDOW_MS)


def test_a_restart_goes_by_the_age_of_the_batches() -> None:
    window = new_window()
    window.rebuild([key("old")], 1, 6, age_ms=WINDOW_MS, now_ms=50)
    window.rebuild([key("a")], 2, 6, age_ms=WINDOW_MS - 10, now_ms=50)
    window.rebuild([key("b", index=4, count=6)], 3, 7, age_ms=20, now_ms=50)
    assert not window.check([key("old")], 50).known
    assert window.check([key("a")], 59).known == [KeyedResult(0, 2, 6, False)]
    assert not window.check([key("a")], 60).known
    assert window.check([key("b", count=6)], 29 + WINDOW_MS).known == [KeyedResult(0, 7, 7, False, 6)]


def test_a_clock_that_went_back_never_makes_it_forget_early() -> None:
    window = new_window()
    window.rebuild([key("future")], 1, 6, age_ms=-5000, now_ms=0)
    window.rebuild([key("later")], 2, 6, age_ms=1000, now_ms=0)
    assert window.check([key("future"), key("later", index=1)], WINDOW_MS - 1).known
    assert len(window) == 2
    window.check([], WINDOW_MS)
    assert len(window) == 0


def test_a_key_used_again_after_its_window_has_its_new_place() -> None:
    window = new_window()
    window.rebuild([key("a")], 1, 6, age_ms=50, now_ms=0)
    window.rebuild([key("a")], 9, 6, age_ms=10, now_ms=0)
    assert window.check([key("a")], WINDOW_MS - 50).known == [KeyedResult(0, 9, 6, False)]
    assert not window.check([key("a")], WINDOW_MS - 10).known
    window.check_invariants()
