from tests.support.again_alone import TRIED_AGAIN_MAX, worth_another_try

REAL_TIME = "tests/integration/test_a.py::test_b"


def test_a_test_in_real_time_is_tried_again() -> None:
    assert worth_another_try([REAL_TIME, "tests/e2e/test_c.py::test_d[x]"])


def test_nothing_is_where_another_failed_too() -> None:
    assert not worth_another_try([REAL_TIME, "tests/sim/test_e.py::test_f"])


def test_many_are_no_accident() -> None:
    failed = [f"{REAL_TIME}[{number}]" for number in range(TRIED_AGAIN_MAX + 1)]
    assert worth_another_try(failed[1:])
    assert not worth_another_try(failed)


def test_a_run_that_broke_down_names_none() -> None:
    assert not worth_another_try([])
