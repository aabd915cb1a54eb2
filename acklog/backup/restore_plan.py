"""What a restore is to bring, and under which names: pure."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from acklog.backup.backup_error import BackupError
from acklog.backup.manifest import Manifest, TopicEntry
from acklog.wire.limits import TIMESTAMP_MS_MAX

WHOLE_MS = TIMESTAMP_MS_MAX + 1


class TopicPlan(NamedTuple):
    """The topic of the backup becomes `name`. `whole_id` names restores of all of it."""

    copy: TopicEntry
    name: str
    whole_id: str
    until_ms: int

    @property
    def restore_id(self) -> str:
        """The same for whoever restores the same as before, so that a restore that was killed goes on."""
        return self.whole_id if self.is_whole else f"{self.whole_id}-{self.until_ms}"

    @property
    def is_whole(self) -> bool:
        return self.until_ms == WHOLE_MS


def restore_plan(
    manifest: Manifest,
    *,
    topics: Sequence[str] = ("*",),
    names: Mapping[str, str] | None = None,
    until_ms: int = WHOLE_MS,
) -> list[TopicPlan]:
    """The topics that match one of the patterns, `names` maps those that are to be called otherwise; of messages what
    was appended before `until_ms`. Raises BackupError for a pattern or a name that nothing is of, and for a name that
    two topics would have."""
    for pattern in topics:
        if pattern != "*" and not any(fnmatchcase(each.name, pattern) for each in manifest.topics):
            raise BackupError(f"the run {manifest.run_id} has no topic {pattern}")
    chosen = [each for each in manifest.topics if any(fnmatchcase(each.name, pattern) for pattern in topics)]
    mapped = dict(names or {})
    for name in mapped:
        if name not in {each.name for each in chosen}:
            raise BackupError(f"{name} is to have another name, and is not restored")
    plans = [
        TopicPlan(each, mapped.get(each.name, each.name), f"{manifest.run_id}-{each.id}", until_ms) for each in chosen
    ]
    taken: set[str] = set()
    for plan in plans:
        if plan.name in taken:
            raise BackupError(f"two topics would be called {plan.name}")
        taken.add(plan.name)
    return plans
