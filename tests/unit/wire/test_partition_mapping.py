from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import partition_for_key

HASHES = st.integers(0, 0x7FFFFFFF)


@given(HASHES, st.integers(1, 1024))
def test_nothing_decommissioned_is_kafkas_mapping(key_hash: int, partitions: int) -> None:
    assert partition_of_hash(key_hash, partitions=partitions) == key_hash % partitions


def test_it_takes_the_hash_of_the_default_partitioner() -> None:
    key_hash = partition_for_key(b"customer-7", 0x80000000)
    assert partition_of_hash(key_hash, partitions=8) == partition_for_key(b"customer-7", 8)


@given(HASHES, st.integers(2, 200), st.data())
def test_only_the_keys_of_what_is_decommissioned_move(key_hash: int, partitions: int, data: st.DataObject) -> None:
    numbers = st.sets(st.integers(0, partitions - 1), max_size=partitions - 2)
    before = data.draw(numbers)
    further = data.draw(st.integers(0, partitions - 1))
    mapped = partition_of_hash(key_hash, partitions=partitions, decommissioned=before)
    assert mapped not in before
    after = partition_of_hash(key_hash, partitions=partitions, decommissioned=before | {further})
    assert after == mapped or mapped == further
    assert after not in before | {further}


def test_the_keys_of_one_partition_spread_over_all_others() -> None:
    moved = Counter(partition_of_hash(3 + 8 * number, partitions=8, decommissioned=(3,)) for number in range(7_000))
    assert sorted(moved) == [0, 1, 2, 4, 5, 6, 7]
    assert max(moved.values()) < 1.5 * min(moved.values())


def test_the_mapping_never_changes() -> None:
    """It decides about order: other numbers here would mix up the messages of a key."""
    found = [partition_of_hash(number * 7919, partitions=12, decommissioned=(0, 5, 7)) for number in range(24)]
    assert found == [10, 11, 10, 9, 8, 4, 6, 9, 4, 3, 2, 1, 1, 11, 10, 9, 8, 1, 6, 1, 4, 3, 2, 1]


def test_one_is_left() -> None:
    for partitions in range(2, 40):
        others = tuple(range(1, partitions))
        assert partition_of_hash(12_345, partitions=partitions, decommissioned=others) == 0
    with pytest.raises(ValueError):
        partition_of_hash(12_345, partitions=2, decommissioned=(0, 1))
