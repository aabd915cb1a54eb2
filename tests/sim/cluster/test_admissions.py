"""The judge of quotas complains of what it should."""

from tests.sim.cluster.admissions import Admission, undisturbed, worst_excess


def admissions(*moments: tuple[float, int]) -> list[Admission]:
    """Each unit by itself."""
    return [Admission(at_ms, at_ms + 5, 1, "gateway-0.1") for at_ms, units in moments for _ in range(units)]


def test_the_rate_and_one_burst_are_no_excess() -> None:
    evenly = admissions((0, 10), *((100.0 * number, 1) for number in range(1, 40)))
    assert worst_excess(evenly, per_second=10, burst=11) is None


def test_a_second_burst_is_one() -> None:
    found = worst_excess(admissions((0, 10), (500, 10), (9_000, 1)), per_second=10, burst=11)
    assert found is not None
    assert (found.began_ms, found.ended_ms, found.units) == (0, 505, 20)


def test_twice_the_rate_shows_in_time() -> None:
    twice = admissions(*((100.0 * number, 2) for number in range(30)))
    assert worst_excess(twice, per_second=10, burst=11) is not None
    assert worst_excess(twice[:10], per_second=10, burst=11) is None


def test_what_was_taken_too_much_is_paid_back_first() -> None:
    first, second = Admission(0, 5, 40, "gateway-0.1"), Admission(2_000, 2_005, 1, "gateway-0.1")
    assert worst_excess([first], per_second=10, burst=10) is None
    assert worst_excess([first, second], per_second=10, burst=10) is not None
    assert worst_excess([first, second._replace(ended_ms=3_100)], per_second=10, burst=10) is None
    assert worst_excess([first, second._replace(gateway="gateway-1.1")], per_second=10, burst=10) is None


def test_what_may_have_happened_before_the_window_does_not_count() -> None:
    slow = [Admission(0, 5_000, 10, "gateway-0.1"), *admissions((4_999, 10))]
    assert worst_excess(slow, per_second=5, burst=10) is None


def test_parts_end_where_something_happened() -> None:
    parts = undisturbed(admissions((0, 1), (90, 1), (120, 1), (300, 1)), [100], settling_ms=50)
    assert [[each.began_ms for each in part] for part in parts] == [[0, 90], [300]]
