from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key, partition_for_key
from app.gateway.partition_choice import partition_of_key, places_of_keys
from cluster.model.values import Topic


def topic(partitions: int, *decommissioned: int) -> Topic:
    return Topic("t" * 13, "orders", partitions, 1, 0, decommissioned=decommissioned)


@given(keys=st.lists(st.one_of(st.none(), st.text(max_size=8))), gone=st.sets(st.integers(0, 6), max_size=6))
def test_a_batch_goes_where_each_of_its_keys_goes(keys: list[str | None], gone: set[int]) -> None:
    chosen = topic(7, *sorted(gone))
    places = places_of_keys(keys, chosen)
    assert sorted(place for own in places for place in own) == list(range(len(keys)))
    assert [keys[place] for place in places.pop()] == [None] * keys.count(None)
    assert not any(places[number] for number in gone)
    for number, own in enumerate(places):
        assert own == sorted(own)
        for key in (keys[place] for place in own):
            assert key is not None
            assert number == partition_of_key(key, chosen)
            home = partition_for_key(key.encode(), 7)
            assert home in gone or number == home, "only keys of partitions that are gone move"
            assert number == partition_of_hash(hash_of_key(key), partitions=7, decommissioned=gone)
