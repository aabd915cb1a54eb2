"""What may be asked of a group because of its mode."""

from collections.abc import Iterable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.call_filters import why_no_filter
from cluster.model.mapping_starts import keeps_order, order_is_lost
from cluster.model.values import Group, GroupMode, Topic


def check_mode(group: Group, mode: GroupMode | None) -> None:
    """None: any. Raises ServerError WRONG_GROUP_MODE."""
    if mode not in {None, group.mode}:
        detail = f"the group {group.name!r} is {group.mode.value!r}; a group's mode never changes"
        raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="mode")


def check_acked_by_message_id(group: Group) -> None:
    """Where there is an order, who had a message is not told by its id. Raises ServerError WRONG_GROUP_MODE."""
    if group.mode is not GroupMode.SHARED:
        detail = f"the group {group.name!r} is {group.mode.value!r}: its messages are acknowledged by receipt"
        raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail)


def check_keys_in_order(group: Group, topics: Iterable[Topic]) -> None:
    """Keys of a topic whose partitions were changed are in two partitions; where nothing says when the first one is
    through, there is no order to read them in. Raises ServerError WRONG_GROUP_MODE."""
    if group.mode is not GroupMode.KEY_ORDERED:
        return
    for topic in topics:
        if not keeps_order(topic):
            raise order_is_lost(topic)


def check_takes_filters(group: Group) -> None:
    """A receive may bring a filter of its own where a message's place says nothing. Raises ServerError
    WRONG_GROUP_MODE."""
    detail = why_no_filter(group)
    if detail:
        raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="filter")
