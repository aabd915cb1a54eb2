"""Hashes of keys are remembered up to a limit, and are the same remembered or not."""

from acklog.wire import partitioner
from acklog.wire.partitioner import KEY_HASHES_REMEMBERED_MAX, hash_of_key, partition_for_key, places_for_keys


def test_many_keys_go_where_each_goes_alone() -> None:
    keys = ["", "a", "Zürich", "a", "customer-00042"]

    places = places_for_keys(keys, 7)

    assert len(places) == 8
    assert places[-1] == []
    assert {key: number for number, own in enumerate(places) for key in map(keys.__getitem__, own)} == {
        key: partition_for_key(key.encode(), 7) for key in keys
    }
    assert sorted(place for own in places for place in own) == list(range(len(keys)))
    assert places_for_keys([None, "a", None], 7)[-1] == [0, 2]


def test_no_more_keys_are_remembered_than_the_limit() -> None:
    first, most = hash_of_key("first"), 0
    for number in range(KEY_HASHES_REMEMBERED_MAX + 1):
        hash_of_key(f"key {number}")
        most = max(most, len(partitioner._key_hashes))

    assert most == KEY_HASHES_REMEMBERED_MAX
    assert len(partitioner._key_hashes) < KEY_HASHES_REMEMBERED_MAX
    assert hash_of_key("first") == first
