"""A flood of refusals in bounded room: nothing is told twice, and nothing is left out of the sums."""

from hypothesis import given
from hypothesis import strategies as st

from app.audit.refusal_sums import OPERATIONS_MAX, RefusalKind, RefusalSums, everybody_else

INTERVAL_MS = 1_000
KIND = RefusalKind("shop", "stored", "id", "10.0.0.1", "FORBIDDEN")


def kind_of(number: int) -> RefusalKind:
    return KIND._replace(address=f"10.0.0.{number}")


def sums(*, in_full_max: int = 2, kinds_max: int = 3) -> RefusalSums:
    return RefusalSums(interval_ms=INTERVAL_MS, in_full_max=in_full_max, kinds_max=kinds_max)


def test_the_first_are_told_and_the_rest_is_a_sum() -> None:
    found = sums()
    assert [found.note(KIND, f"op{number % 2}", 10 + number) for number in range(5)] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert found.next_end_ms() == 10 + INTERVAL_MS
    assert found.ended(9 + INTERVAL_MS) == []
    [told] = found.ended(10 + INTERVAL_MS)
    assert (told.kind, told.count, told.first_ms, told.last_ms) == (KIND, 3, 12, 14)
    assert sorted(told.operations) == ["op0", "op1"]
    assert (len(found), found.next_end_ms()) == (0, None)
    assert found.note(KIND, "op", 2_000), "another interval begins with one that is told"


def test_where_all_were_told_there_is_no_sum() -> None:
    found = sums()
    assert found.note(KIND, "op", 0)
    assert found.ended(INTERVAL_MS) == []


def test_kinds_beyond_the_limit_are_one_sum() -> None:
    found = sums(kinds_max=3)
    assert all(found.note(kind_of(number), "op", number) for number in range(3))
    assert not any(found.note(kind_of(number), "op", number) for number in range(3, 1_000))
    assert len(found) == 4
    [told] = found.all()
    assert (told.kind, told.count) == (everybody_else(KIND), 997)
    assert told.kind.principal is None


def test_a_sum_names_so_many_operations_and_no_more() -> None:
    found = sums(in_full_max=0)
    for number in range(OPERATIONS_MAX + 1):
        assert not found.note(KIND, f"op{number}", 0)
    [told] = found.all()
    assert (len(told.operations), told.count) == (OPERATIONS_MAX, OPERATIONS_MAX + 1)


@given(
    events=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 400)), max_size=200),
    in_full_max=st.integers(0, 3),
    kinds_max=st.integers(1, 4),
)
def test_told_and_summed_up_are_all(events: list[tuple[int, int]], in_full_max: int, kinds_max: int) -> None:
    """Whoever holds it asks at each end, or later."""
    found = RefusalSums(interval_ms=INTERVAL_MS, in_full_max=in_full_max, kinds_max=kinds_max)
    now_ms, told, summed = 0, 0, 0
    told_of: dict[RefusalKind, int] = {}
    for number, later_ms in events:
        now_ms += later_ms
        for each in found.ended(now_ms):
            summed += each.count
            assert each.count > 0
            assert each.first_ms <= each.last_ms < now_ms or each.last_ms <= now_ms
            told_of.pop(each.kind, None)
        is_told = found.note(kind_of(number), "op", now_ms)
        told += is_told
        assert len(found) <= kinds_max + 1  # one more: everybody else of this code
    summed += sum(each.count for each in found.all())
    assert told + summed == len(events)
    assert len(found) == 0
