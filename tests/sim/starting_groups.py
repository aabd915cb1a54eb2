"""The groups that a simulated world begins with."""

import msgspec

from cluster.model.values import Exhausted, GroupMode, GroupSettings
from tests.sim.cluster.passing_topic import GROUP as PASSING_GROUP
from tests.sim.options import Options


def starting_groups(options: Options) -> dict[str, tuple[GroupMode, GroupSettings]]:
    """By their names."""
    settings = GroupSettings(
        visibility_ms=options.server.group_visibility_ms,
        max_attempts=options.server.max_attempts,
        retry_backoff_min_ms=100,
        retry_backoff_max_ms=2_000,
    )
    shared = [*options.shared_groups, PASSING_GROUP] if options.deletions else options.shared_groups
    groups = dict.fromkeys(shared, (GroupMode.SHARED, settings))
    groups |= {group.name: (group.mode, group.settings(settings)) for group in options.ordered_groups}
    for name in options.endless_groups:
        mode, its_own = groups[name]
        groups[name] = mode, msgspec.structs.replace(its_own, on_exhausted=Exhausted.RETRY)
    for name, text in options.filters.items():
        mode, its_own = groups[name]
        groups[name] = mode, msgspec.structs.replace(its_own, filter=text or None)
    return groups
