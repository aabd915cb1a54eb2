"""The judge of order by key notices what it is there for."""

import pytest

from loadtests.key_ledger import KeyLedger


def ledger() -> KeyLedger:
    return KeyLedger({"a": 4, "b": 2})


def test_several_in_a_row_and_what_comes_again_are_in_order() -> None:
    judge = ledger()
    judge.delivered([("a", 0), ("b", 0), ("a", 1)])
    judge.settled("a", 0)
    judge.delivered([("a", 1), ("a", 2)])
    judge.settled("a", 1)
    judge.settled("a", 2)
    judge.delivered([("a", 2), ("a", 3)])
    assert (judge.violations, judge.again, judge.deliveries, judge.done_count) == ([], 1, 7, 3)


@pytest.mark.parametrize("answer", [[("a", 1)], [("a", 0), ("a", 2)], [("b", 0), ("a", 3)]])
def test_what_comes_before_an_earlier_one_is_settled_is_a_violation(answer: list[tuple[str, int]]) -> None:
    judge = ledger()
    judge.delivered(answer)
    assert len(judge.violations) == 1


def test_what_was_settled_in_another_answer_may_be_passed_over() -> None:
    judge = ledger()
    judge.settled("a", 1)
    judge.delivered([("a", 0), ("a", 2)])
    assert judge.violations == []


def test_it_is_done_when_everything_is_settled() -> None:
    judge = ledger()
    for key, number in (("a", 0), ("a", 2), ("a", 1), ("a", 3), ("b", 0)):
        judge.settled(key, number)
        judge.settled(key, number)
    assert not judge.is_done
    judge.settled("b", 1)
    assert judge.is_done
