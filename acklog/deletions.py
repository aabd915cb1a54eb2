"""What came of deleting a topic's messages."""

import msgspec

from acklog.positions import ProblemItem


class LostByGroup(msgspec.Struct):
    """Messages that the group had not done."""

    group: str
    lost: int


class PartitionDeletion(msgspec.Struct, rename="camel"):
    """The partition begins at `log_start` now, `previous` is where it began: `deleted` offsets are between the two. Or
    the `problem` of one of which it is not known."""

    partition: int
    log_start: int | None = None
    previous: int | None = None
    deleted: int = 0
    groups: list[LostByGroup] = []
    problem: ProblemItem | None = None


class DeletionResult(msgspec.Struct, rename="camel"):
    """What was deleted, or would be (`dry_run`), partition by partition; `failed` counts those with a problem."""

    topic: str
    dry_run: bool
    deleted: int
    partitions: list[PartitionDeletion]
    failed: int
