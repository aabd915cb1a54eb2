"""What a group's mode means for its delivery: the one place where a mode is looked at."""

from collections.abc import Callable
from typing import Protocol

from cluster.model.values import GroupMode
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.every_message import NewEveryMessage
from storage.delivery.exclusive_delivery import ExclusiveDelivery
from storage.delivery.fair_share import NewFairShare
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupInPartition, GroupTerms
from storage.delivery.in_order_selection import InOrderSelection, SeeingInOrderSelection
from storage.delivery.key_order import NewKeyOrder
from storage.delivery.selection import NewSelection, SharedSelection


class GroupFactory(Protocol):
    def __call__(
        self, group_id: str, *, leader_epoch: int, start_offset: int, bounds: DeliverySettings
    ) -> GroupInPartition: ...


def _shared(terms: GroupTerms, _bounds: DeliverySettings) -> NewSelection:
    """Who does not ask for keys does not look at them, and without a filter at nothing."""
    settings = terms.settings
    if settings.fair_by_header is not None:
        return NewFairShare(settings.max_in_flight_per_header, header=settings.fair_by_header)
    if settings.has_shares:
        return NewFairShare(settings.max_in_flight_per_key)
    return SharedSelection if settings.filter is None else NewEveryMessage()


def _in_key_order(_terms: GroupTerms, bounds: DeliverySettings) -> NewSelection:
    return NewKeyOrder(bounds.postponed_ranges_max, bounds.postponed_ranges_of_key_max)


def _in_order(terms: GroupTerms, _bounds: DeliverySettings) -> NewSelection:
    return InOrderSelection if terms.settings.filter is None else SeeingInOrderSelection


_SELECTIONS: dict[GroupMode, Callable[[GroupTerms, DeliverySettings], NewSelection]] = {
    GroupMode.SHARED: _shared,
    GroupMode.KEY_ORDERED: _in_key_order,
    GroupMode.EXCLUSIVE: _in_order,
}
SERVED_MODES = frozenset(_SELECTIONS)
"""What a group of another mode has done (a later version made it) is kept as for any; what it asks is refused."""


def selection_for(terms: GroupTerms, bounds: DeliverySettings) -> NewSelection:
    return _SELECTIONS.get(terms.mode, _SELECTIONS[GroupMode.SHARED])(terms, bounds)


def in_mode(group: GroupInPartition, mode: GroupMode) -> GroupInPartition:
    """The group as its mode wants it asked. One that comes out of a log, which says nothing of modes, is asked nothing
    before, so nothing of it is out yet."""
    if mode is GroupMode.EXCLUSIVE and isinstance(group, GroupDelivery):
        return ExclusiveDelivery(group)
    return group


def has_owners(mode: GroupMode) -> bool:
    """Whether each of the group's partitions is one member's, who claims it with each receive."""
    return mode is GroupMode.EXCLUSIVE


def has_order(mode: GroupMode) -> bool:
    """Whether the messages of a key are given out one behind the other."""
    return mode in {GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE}


def new_group(group_id: str, *, leader_epoch: int, start_offset: int, bounds: DeliverySettings) -> GroupInPartition:
    """A group that has done everything below `start_offset`."""
    return GroupDelivery(
        group_id,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        bounds=bounds,
        selection_for=lambda terms: selection_for(terms, bounds),
    )
