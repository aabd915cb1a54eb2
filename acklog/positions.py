"""Where readers and groups are, as they say and are told: commits of a reader's own positions, copies of a group's."""

import msgspec


class ProblemItem(msgspec.Struct, omit_defaults=True):
    """Why one of many could not be done."""

    code: str
    detail: str
    retriable: bool
    field: str | None = None


class CommittedPosition(msgspec.Struct, rename="camel"):
    """What a reader that keeps its own position said last, since the last seek."""

    offset: int
    leader_epoch: int | None = None
    metadata: str = ""


class Position(msgspec.Struct, rename="camel", omit_defaults=True):
    """Everything below `offset` is done. `leader_epoch` is that of the page that was read up to there, `metadata` the
    reader's own (4,096 bytes at most). With `expected` it holds only if the group is there now, and may go back."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
    expected: int | None = None


class PartitionCommit(msgspec.Struct):
    """Where the group is in the partition, and where it was; or the `problem` that kept it there."""

    topic: str
    partition: int
    progress: int | None = None
    previous: int | None = None
    problem: ProblemItem | None = None


class CommitResult(msgspec.Struct):
    """In the order of the positions; `failed` counts those that changed nothing."""

    group: str
    offsets: list[PartitionCommit]
    failed: int


class PartitionCopy(msgspec.Struct, rename="camel"):
    """Where the group goes on in the partition, and where it was; or the `problem` that kept it there. `done_above`
    messages behind the offset are done for the other group, and come to this one."""

    topic: str
    partition: int
    offset: int | None = None
    previous: int | None = None
    done_above: int | None = None
    problem: ProblemItem | None = None


class CopyResult(msgspec.Struct, rename="camel"):
    """Only partitions from which the other group has read; `failed` counts those that did not move. `left_out`
    are topics in which the token may not seek, where none were named."""

    group: str
    from_group: str = msgspec.field(name="from")
    dry_run: bool
    offsets: list[PartitionCopy]
    failed: int
    left_out: list[str] = msgspec.field(default_factory=list)
