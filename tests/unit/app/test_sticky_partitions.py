from collections import Counter

from app.sticky_partitions import StickyPartitions
from cluster.model import Topic


def topic(partitions: int = 4, number: int = 1) -> Topic:
    return Topic(f"{number:013d}", f"t{number}", partitions, 1, 0)


def sticky(*, leaderless: frozenset[int] = frozenset(), topics_max: int = 10) -> StickyPartitions:
    return StickyPartitions(
        lambda _topic, partition: partition not in leaderless, run_bytes=1000, topics_max=topics_max
    )


def test_a_run_stays_on_one_partition_until_it_is_long_or_ended() -> None:
    partitions = sticky()
    assert [partitions.choose(topic(), 100) for _ in range(12)] == [0] * 10 + [1] * 2
    partitions.end_run(topic().id)
    assert partitions.choose(topic(), 100) == 2


def test_every_partition_gets_the_same_share_whatever_the_sizes() -> None:
    partitions = sticky()
    loads: Counter[int] = Counter()
    for number in range(4000):
        size = 1 + (number * 7919) % 900 + (3000 if number % 5 == 0 else 0)
        loads[partitions.choose(topic(), size)] += size
        if number % 3 == 0:
            partitions.end_run(topic().id)
    assert max(loads.values()) - min(loads.values()) < 10_000


def test_empty_messages_are_spread_as_well() -> None:
    partitions = sticky()
    chosen = []
    for _ in range(8):
        chosen.append(partitions.choose(topic(), 0))
        partitions.end_run(topic().id)
    assert Counter(chosen) == dict.fromkeys(range(4), 2)


def test_partitions_without_a_leader_are_passed_over_while_others_have_one() -> None:
    partitions = sticky(leaderless=frozenset({0, 2}))
    assert {partitions.choose(topic(), 2000) for _ in range(8)} == {1, 3}
    none_has_one = sticky(leaderless=frozenset(range(4)))
    assert {none_has_one.choose(topic(), 2000) for _ in range(8)} == set(range(4))


def test_new_partitions_are_used() -> None:
    partitions = sticky()
    partitions.choose(topic(1), 5)
    assert {partitions.choose(topic(3), 2000) for _ in range(3)} == {0, 1, 2}


def test_no_more_topics_are_remembered_than_allowed() -> None:
    partitions = sticky(topics_max=3)
    for number in range(10):
        partitions.choose(topic(4, number), 1)
    assert len(partitions) == 3
    partitions.end_run("unknown")


def test_decommissioned_partitions_get_nothing_from_the_moment_that_the_topic_says_so() -> None:
    partitions = sticky(leaderless=frozenset({1}))
    partitions.choose(topic(3), 5)
    going = Topic(f"{1:013d}", "t1", 3, 1, 0, decommissioned=(0,))
    assert [partitions.choose(going, 2000) for _ in range(4)] == [2] * 4
    nowhere_else = Topic(f"{1:013d}", "t1", 3, 1, 0, decommissioned=(0, 2))
    assert partitions.choose(nowhere_else, 5) == 1, "rather one without a leader than one that refuses"
