"""What a group's mode means for its delivery: the one place where a mode is looked at."""

from collections.abc import Callable
from typing import Protocol

from cluster.model.values import GroupMode
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupInPartition, GroupTerms
from storage.delivery.selection import NewSelection, SharedSelection


class GroupFactory(Protocol):
    def __call__(
        self, group_id: str, *, leader_epoch: int, start_offset: int, bounds: DeliverySettings
    ) -> GroupInPartition: ...


_SELECTIONS: dict[GroupMode, Callable[[GroupTerms], NewSelection]] = {
    GroupMode.SHARED: lambda _terms: SharedSelection,
}
SERVED_MODES = frozenset(_SELECTIONS)
"""What a group of another mode has done (a later version made it) is kept as for any; what it asks is refused."""


def selection_for(terms: GroupTerms) -> NewSelection:
    return _SELECTIONS.get(terms.mode, _SELECTIONS[GroupMode.SHARED])(terms)


def new_group(group_id: str, *, leader_epoch: int, start_offset: int, bounds: DeliverySettings) -> GroupInPartition:
    """A group that has done everything below `start_offset`."""
    return GroupDelivery(
        group_id, leader_epoch=leader_epoch, start_offset=start_offset, bounds=bounds, selection_for=selection_for
    )
