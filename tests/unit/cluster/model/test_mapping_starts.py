"""Where a topic's mappings begin in its partitions."""

from msgspec.structs import replace

from cluster.model.mapping_starts import (
    ORDERED_MAPPINGS_MAX,
    end_before,
    is_in_force,
    keeps_order,
    mappings_below,
    next_ordered_mappings,
    started,
    starts_of_new_partition,
)
from cluster.model.values import MappingStart, PartitionLife, PartitionState, Topic

TOPIC = Topic("t", "orders", 2, 1, 0)
STATE = PartitionState("t", 0, (1,), (1,), 1, 1, 1)


def test_a_mapping_begins_once_and_where_it_was_first_said() -> None:
    first = started(STATE, 1, 10)
    assert first is not None
    assert first.partition_epoch == STATE.partition_epoch + 1
    assert started(first, 1, 12) is None
    assert started(first, 0, 12) is None
    second = started(first, 3, 20)
    assert second is not None
    assert second.mapping_starts == (MappingStart(1, 10), MappingStart(3, 20))


def test_what_was_passed_by_began_with_the_next() -> None:
    state = replace(STATE, mapping_starts=(MappingStart(1, 10), MappingStart(3, 20)))
    assert [end_before(state, mapping) for mapping in (1, 2, 3, 4)] == [10, 20, 20, None]


def test_what_is_removed_of_a_partition_is_of_the_mappings_that_filled_it() -> None:
    state = replace(STATE, mapping_starts=(MappingStart(1, 10), MappingStart(2, 20), MappingStart(3, 20)))
    assert [mappings_below(state, offset) for offset in (0, 1, 10, 11, 20, 21)] == [
        (),
        (0,),
        (0,),
        (0, 1),
        (0, 1),
        (0, 1, 3),
    ]
    made = replace(STATE, mapping_starts=(MappingStart(2, 0),))
    assert [mappings_below(made, offset) for offset in (0, 1)] == [(), (2,)]


def test_a_mapping_is_in_force_where_no_partition_goes_by_an_earlier_one() -> None:
    through = replace(STATE, mapping_starts=(MappingStart(2, 10),))
    gone = replace(STATE, life=PartitionLife.GONE)
    assert is_in_force(2, [through, gone])
    assert not is_in_force(2, [through, STATE])
    assert not is_in_force(3, [through])
    assert end_before(gone, 5) == 0


def test_a_partition_that_is_made_by_a_mapping_begins_with_it() -> None:
    assert starts_of_new_partition(TOPIC) == ()
    grown = replace(TOPIC, mapping=2, ordered_mappings=2)
    assert starts_of_new_partition(grown) == (MappingStart(2, 0),)
    assert starts_of_new_partition(replace(grown, ordered_mappings=1)) == (), "nobody waits for what has no order"


def test_order_that_was_lost_once_is_lost_for_good() -> None:
    assert keeps_order(TOPIC)
    assert next_ordered_mappings(TOPIC) == 1
    lost = replace(TOPIC, mapping=1)
    assert not keeps_order(lost)
    assert next_ordered_mappings(lost) == 0
    last = replace(TOPIC, mapping=ORDERED_MAPPINGS_MAX, ordered_mappings=ORDERED_MAPPINGS_MAX)
    assert keeps_order(last)
    assert next_ordered_mappings(last) == ORDERED_MAPPINGS_MAX
