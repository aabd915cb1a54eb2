"""Where in each partition a topic's mappings begin, so that order can be kept over a change of its partitions.

A key that another mapping puts elsewhere has earlier messages in one partition and later ones in another. Who wants
them in order waits, at the start of a mapping in one partition, until it is through all that was put into the others
before that mapping. Each leader says where that is in its own: it takes no message by an earlier mapping any more,
waits until those that it has taken are committed, and writes the high watermark into its partition's state. The new
mapping is in force once every partition has said so: nothing is stored by an earlier one after something was by it.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import MappingStart, PartitionLife, PartitionState, Topic

ORDERED_MAPPINGS_MAX = 16
"""Of a topic. The starts of all of them stay in its partitions' states."""


ABOVE_ALL = 1 << 62
"""Any offset: where a partition is gone, all of it was removed."""


def keeps_order(topic: Topic) -> bool:
    """Whether all of its mappings have starts. Those that were begun while some node knew nothing of starts, or beyond
    the limit, have none, and what was stored around them has no order for good."""
    return topic.ordered_mappings == topic.mapping


def order_is_lost(topic: Topic) -> ServerError:
    """For who wants the order of its keys."""
    detail = f"the partitions of {topic.name!r} were changed: no group can read it in the order of its keys"
    return ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="queue")


def too_many_changes(topic: Topic) -> ServerError:
    """For a table, whose keys' latest values are told by the order of its mappings."""
    detail = (
        f"the partitions of {topic.name!r} were changed too often, or a node is too old: after one more change nothing "
        "would say which message of a key is the latest"
    )
    return ServerError(ProblemCode.TOO_MANY_CHANGES, detail, field="partitions")


def next_ordered_mappings(topic: Topic) -> int:
    """With one more mapping that every node knows how to begin."""
    may_order = keeps_order(topic) and topic.ordered_mappings < ORDERED_MAPPINGS_MAX
    return topic.ordered_mappings + 1 if may_order else topic.ordered_mappings


def latest_mapping(state: PartitionState) -> int:
    """The last one that has begun in the partition."""
    return state.mapping_starts[-1].mapping if state.mapping_starts else 0


def started(state: PartitionState, mapping: int, offset: int) -> PartitionState | None:
    """From `offset` on the partition is filled by `mapping`. None where that has been said."""
    if latest_mapping(state) >= mapping:
        return None
    return replace(
        state,
        mapping_starts=(*state.mapping_starts, MappingStart(mapping, offset)),
        partition_epoch=state.partition_epoch + 1,
    )


def starts_of_new_partition(topic: Topic) -> tuple[MappingStart, ...]:
    """Nothing was ever put into it by an earlier mapping."""
    return (MappingStart(topic.mapping, 0),) if topic.mapping and keeps_order(topic) else ()


def end_before(state: PartitionState, mapping: int) -> int | None:
    """Up to where the partition may hold what was put there before `mapping`; None while nobody has said so."""
    if state.life is PartitionLife.GONE:
        return 0
    return next((each.offset for each in state.mapping_starts if each.mapping >= mapping), None)


def mapping_at(state: PartitionState, offset: int) -> int:
    """By which mapping, or a later one, what is at `offset` was put into the partition, as far as is known."""
    return max((each.mapping for each in state.mapping_starts if each.offset <= offset), default=0)


def mappings_below(state: PartitionState, offset: int) -> tuple[int, ...]:
    """Those by which something was put into the partition that is below `offset`."""
    begins = (MappingStart(0, 0), *state.mapping_starts)
    ends = (*(each.offset for each in state.mapping_starts), offset)
    return tuple(begin.mapping for begin, end in zip(begins, ends, strict=True) if begin.offset < min(end, offset))


def is_in_force(mapping: int, states: Iterable[PartitionState]) -> bool:
    """Whether no partition takes anything by an earlier mapping any more. One that is not there yet never did."""
    return all(state.life is PartitionLife.GONE or latest_mapping(state) >= mapping for state in states)
