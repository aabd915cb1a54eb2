from collections import Counter

from app.gateway.keyless_partitions import KeylessPartitions
from cluster.model.values import Topic


def topic(partitions: int = 4, number: int = 1) -> Topic:
    return Topic(f"{number:013d}", f"t{number}", partitions, 1, 0)


def keyless(leaderless: set[int] | None = None, *, topics_max: int = 10) -> KeylessPartitions:
    without = leaderless or set()
    return KeylessPartitions(lambda _topic, partition: partition not in without, topics_max=topics_max)


def test_every_partition_gets_the_same_share_whatever_the_sizes() -> None:
    partitions = keyless()
    loads: Counter[int] = Counter()
    for number in range(4000):
        size = 1 + (number * 7919) % 900 + (3000 if number % 5 == 0 else 0)
        loads[partitions.choose(topic(), size)] += size
    assert max(loads.values()) - min(loads.values()) < 10_000


def test_empty_messages_are_spread_as_well() -> None:
    partitions = keyless()
    assert Counter(partitions.choose(topic(), 0) for _ in range(8)) == dict.fromkeys(range(4), 2)


def test_partitions_without_a_leader_are_passed_over_while_others_have_one() -> None:
    partitions = keyless({0, 2})
    assert Counter(partitions.choose(topic(), 2000) for _ in range(8)) == {1: 4, 3: 4}
    none_has_one = keyless(set(range(4)))
    assert Counter(none_has_one.choose(topic(), 2000) for _ in range(8)) == dict.fromkeys(range(4), 2)


def test_a_partition_that_is_back_gets_its_share_and_not_what_it_missed() -> None:
    leaderless = {2}
    partitions = keyless(leaderless)
    for _ in range(300):
        partitions.choose(topic(), 1000)
    leaderless.clear()
    assert Counter(partitions.choose(topic(), 1000) for _ in range(40))[2] in range(9, 12)


def test_busy_partitions_are_passed_over_while_others_are_not() -> None:
    partitions = keyless({0})
    chosen = Counter(partitions.choose(topic(), 2000, lambda number: number == 1) for _ in range(8))
    assert chosen == {2: 4, 3: 4}
    all_are = keyless({0})
    chosen = Counter(all_are.choose(topic(), 2000, lambda _number: True) for _ in range(9))
    assert chosen == {1: 3, 2: 3, 3: 3}, "rather a busy one than one without a leader"


def test_a_topic_in_use_is_not_forgotten_for_others() -> None:
    partitions = keyless(topics_max=2)
    chosen = []
    for number in range(2, 10):
        chosen.append(partitions.choose(topic(4, 1), 1))
        partitions.choose(topic(4, number), 1)
    assert chosen == [0, 1, 2, 3] * 2


def test_new_partitions_are_used() -> None:
    partitions = keyless()
    partitions.choose(topic(1), 5)
    assert {partitions.choose(topic(3), 2000) for _ in range(3)} == {0, 1, 2}


def test_no_more_topics_are_remembered_than_allowed() -> None:
    partitions = keyless(topics_max=3)
    for number in range(10):
        partitions.choose(topic(4, number), 1)
    assert len(partitions) == 3


def test_decommissioned_partitions_get_nothing_from_the_moment_that_the_topic_says_so() -> None:
    partitions = keyless({1})
    partitions.choose(topic(3), 5)
    going = Topic(f"{1:013d}", "t1", 3, 1, 0, decommissioned=(0,))
    assert [partitions.choose(going, 2000) for _ in range(4)] == [2] * 4
    nowhere_else = Topic(f"{1:013d}", "t1", 3, 1, 0, decommissioned=(0, 2))
    assert partitions.choose(nowhere_else, 5) == 1, "rather one without a leader than one that refuses"
