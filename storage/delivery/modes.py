"""What a group's mode means for its delivery: the one place where a mode is looked at."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from cluster.model.values import GroupMode, GroupSettings
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.selection import GroupSelection, SharedSelection

_DEFAULT_SETTINGS = GroupSettings()


class GroupTerms(NamedTuple):
    """How a group reads: its mode, which never changes, and its settings, which may."""

    mode: GroupMode = GroupMode.SHARED
    settings: GroupSettings = _DEFAULT_SETTINGS


class GroupFactory(Protocol):
    def __call__(
        self, group_id: str, terms: GroupTerms, *, leader_epoch: int, start_offset: int, bounds: DeliverySettings
    ) -> GroupInPartition: ...


_SELECTIONS: dict[GroupMode, Callable[[GroupTerms], GroupSelection]] = {
    GroupMode.SHARED: lambda _terms: SharedSelection(),
}
SERVED_MODES = frozenset(_SELECTIONS)
"""What a group of another mode has done (a later version made it) is kept as for any; what it asks is refused."""


def new_group(
    group_id: str, terms: GroupTerms, *, leader_epoch: int, start_offset: int, bounds: DeliverySettings
) -> GroupInPartition:
    """A group that has done everything below `start_offset`."""
    return GroupDelivery(
        group_id,
        leader_epoch=leader_epoch,
        settings=terms.settings,
        start_offset=start_offset,
        delivery_settings=bounds,
        selection=_SELECTIONS.get(terms.mode, _SELECTIONS[GroupMode.SHARED])(terms),
    )
