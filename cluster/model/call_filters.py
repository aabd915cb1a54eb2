"""Which groups take receives that bring a filter of their own."""

from cluster.model.values import FairBy, Group, GroupMode


def why_no_filter(group: Group) -> str:
    """Why receives of this group may not bring filters of their own; "" if they may."""
    if group.mode is not GroupMode.SHARED:
        return f"the group is {group.mode.value!r}: what does not match would be in front of what does"
    if group.settings.fair_by is not FairBy.NONE or group.settings.max_in_flight_per_key is not None:
        return "the group gives each key its share: what does not match has a turn, too"
    return ""
