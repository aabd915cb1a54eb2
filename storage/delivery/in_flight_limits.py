"""Which limit of what is in flight keeps a message of a partition from being leased now."""

from acklog.wire.record import Record
from cluster.model.values import GroupSettings
from storage.delivery.candidates import runs_of
from storage.delivery.fair_share import FairShare
from storage.delivery.group_state import PartitionGroupState


def limit_met(state: PartitionGroupState, settings: GroupSettings, record: Record) -> str:
    """As an empty answer would say it; "": none of the partition's own."""
    if len(state.leases) >= settings.max_in_flight:
        return "IN_FLIGHT_LIMIT"
    selection = state.selection
    if not isinstance(selection, FairShare):
        return ""
    [seen] = runs_of(0, [record], header=settings.fair_by_header)
    if not selection.is_at_limit(seen.key_hash):
        return ""
    return "IN_FLIGHT_LIMIT_PER_KEY" if settings.fair_by_header is None else "IN_FLIGHT_LIMIT_PER_HEADER"
