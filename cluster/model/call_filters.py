"""Which groups take receives that bring a filter of their own."""

from cluster.model.values import Group, GroupMode


def why_no_filter(group: Group) -> str:
    """Why receives of this group may not bring filters of their own; "" if they may."""
    if group.mode is not GroupMode.SHARED:
        return f"the group is {group.mode.value!r}: what does not match would be in front of what does"
    if group.settings.has_shares:
        whose = (
            "key" if group.settings.fair_by_header is None else f"value of the header {group.settings.fair_by_header!r}"
        )
        return f"the group gives each {whose} its share: what does not match has a turn, too"
    return ""
