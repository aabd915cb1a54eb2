"""The judge of the compacted topic complains of what it should."""

from acklog.wire.record import Record
from tests.sim.cluster.table_topic import Written, judge_table
from tests.sim.history import Outcome


def written(serial: int, key: str, value: str | None, offset: int, outcome: Outcome = Outcome.OK) -> Written:
    return Written(serial, key, value, outcome, offset if outcome is Outcome.OK else -1)


def record(serial: int, key: str, value: str | None) -> Record:
    return Record(b"" if value is None else b'"%s"' % value.encode(), key, tags=[str(serial)])


FIRST, SECOND = written(1, "a", "x", 0), written(2, "a", "y", 1)
GONE = written(3, "a", None, 2)
MAYBE = written(4, "a", "z", -1, Outcome.UNKNOWN)


def test_the_last_that_was_acknowledged_has_to_be_there() -> None:
    assert not judge_table([FIRST, SECOND], {1: record(2, "a", "y")})
    assert not judge_table([FIRST, SECOND], {0: record(1, "a", "x"), 1: record(2, "a", "y")})
    assert judge_table([FIRST, SECOND], {0: record(1, "a", "x")})
    assert judge_table([FIRST, SECOND], {})


def test_what_was_removed_does_not_come_back() -> None:
    everything = [FIRST, SECOND, GONE]
    assert not judge_table(everything, {})
    assert not judge_table(everything, {2: record(3, "a", None)})
    assert judge_table(everything, {1: record(2, "a", "y")})


def test_offsets_stay() -> None:
    assert judge_table([FIRST, SECOND], {2: record(2, "a", "y")})
    assert judge_table([FIRST], {0: record(9, "a", "x")})


def test_what_is_unknown_may_be_there_or_not() -> None:
    assert not judge_table([FIRST, MAYBE], {0: record(1, "a", "x")})
    assert not judge_table([FIRST, MAYBE], {5: record(4, "a", "z")})
    maybe_gone = written(5, "a", None, -1, Outcome.UNKNOWN)
    assert not judge_table([FIRST, maybe_gone], {})
    assert judge_table([FIRST, MAYBE], {})
