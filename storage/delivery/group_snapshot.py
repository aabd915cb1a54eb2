"""What is durable of one group in one partition, as a snapshot and a record have it."""

from typing import NamedTuple

import msgspec

from acklog.wire.failure_reason import FailureReason


class CommittedPosition(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a reader that keeps its own position said last: everything below `offset` is done, and was read from a
    leader of `leader_epoch` (-1: it does not say). `metadata` is its own."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class PartitionOwner(NamedTuple):
    """Of a partition, in an exclusive group: by which ownership of the group's coordinator, and who."""

    ownership: int
    member: str


NOBODY = PartitionOwner(0, "")


class GroupSnapshot(msgspec.Struct, array_like=True, gc=False):
    """The committed state of a group. Positional on disk: fields are only ever added at the end.

    `done` and `dead_lettered` are half-open ranges, `retries` (offset, attempts, leader epoch, wall ms, delay ms).
    `owner` is (ownership, member) of an exclusive group. `filtered` are ranges that its filter passed over.
    `failures` is (offset, first ms, consumer) of the retries that failed twice or whose consumer is known, `reasons`
    what was said of them, in the order of their last failure. `expired` are ranges that were passed over for their age,
    `expired_count` counts all that were, and those that became dead letters for that. `overtaken_count` is what
    retention removed before it was done since somebody said the position, by a seek or a commit. `deleted_count` is
    what of `lost_count` was deleted on purpose, as far as the version knew that wrote it.
    """

    group_id: str
    generation: int
    progress: int
    done: list[tuple[int, int]]
    retries: list[tuple[int, int, int, int, int]]
    delivered_below: int
    dead_lettered: list[tuple[int, int]]
    dead_lettered_count: int
    lost_count: int
    committed: CommittedPosition | None = None
    owner: tuple[int, str] = NOBODY
    claimed_generations: int = 0
    filtered: list[tuple[int, int]] = []
    failures: list[tuple[int, int, str]] = []
    reasons: list[tuple[int, tuple[FailureReason, ...]]] = []
    expired: list[tuple[int, int]] = []
    expired_count: int = 0
    overtaken_count: int = 0
    deleted_count: int = 0
