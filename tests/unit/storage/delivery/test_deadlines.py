import random

from storage.delivery.deadlines import Deadlines


def test_the_earliest_first_and_keys_in_order_where_deadlines_are_equal() -> None:
    deadlines = Deadlines()
    for key, deadline_ms in ((3, 10), (1, 20), (2, 10)):
        deadlines.set(key, deadline_ms)
    assert deadlines.next() == 10
    assert deadlines.pop_due(9) is None
    assert [deadlines.pop_due(20) for _ in range(4)] == [(10, 2), (10, 3), (20, 1), None]


def test_the_last_deadline_set_holds() -> None:
    deadlines = Deadlines()
    deadlines.set(1, 10)
    deadlines.set(1, 30)
    deadlines.set(1, 20)
    assert deadlines.first_due(19) is None
    assert deadlines.pop_due(100) == (20, 1)
    assert deadlines.pop_due(100) is None
    assert len(deadlines) == 0


def test_discarded_keys_never_come_due() -> None:
    deadlines = Deadlines()
    deadlines.set(1, 10)
    deadlines.discard(1)
    deadlines.discard(2)
    assert deadlines.next() is None
    deadlines.set(1, 10)
    assert deadlines.pop_due(10) == (10, 1)


def test_garbage_is_bounded() -> None:
    deadlines = Deadlines()
    random_source = random.Random(1)
    for _ in range(10_000):
        deadlines.set(random_source.randrange(50), random_source.randrange(10**9))
        if random_source.random() < 0.3:
            deadlines.discard(random_source.randrange(50))
        assert len(deadlines._heap) <= 2 * len(deadlines) + 64
