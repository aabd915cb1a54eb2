"""What readers that keep their own positions say, and what they are told."""

from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits
from app.calls.problem_item import ProblemItem
from app.calls.records import EPOCH_MAX, OFFSET_MAX

COMMITS_MAX = 1_000
"""Partitions of one call."""

_Offset = Annotated[int, Meta(ge=0, le=OFFSET_MAX)]


class PositionFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Everything below `offset` is done for the group. `leaderEpoch` is that of the answer that was read up to there,
    `metadata` the reader's own. With `expected` it is done only if the group is there now, and may go back; the owner
    of a partition may go back without."""

    topic: str
    partition: Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)]
    offset: _Offset
    leader_epoch: Annotated[int, Meta(ge=0, le=EPOCH_MAX)] | None = None
    metadata: Annotated[str, Meta(max_length=limits.COMMIT_METADATA_BYTES_MAX)] = ""
    expected: _Offset | None = None


class CommitFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT /groups/{group}/offsets` of a reader that keeps its own position. A member of an exclusive group
    says who it is, and the epoch that its last heartbeat was answered with."""

    offsets: Annotated[list[PositionFields], Meta(min_length=1, max_length=COMMITS_MAX)]
    member: str | None = None
    member_epoch: Annotated[int, Meta(ge=1)] | None = None


class CommittedItem(msgspec.Struct, rename="camel", omit_defaults=True):
    """`progress` is where the group is now: at the offset, or behind it where more is done."""

    topic: str
    partition: int
    progress: int | msgspec.UnsetType = msgspec.UNSET
    previous: int | msgspec.UnsetType = msgspec.UNSET
    problem: ProblemItem | msgspec.UnsetType = msgspec.UNSET


class CommitView(msgspec.Struct, rename="camel"):
    """In the order of the request."""

    group: str
    offsets: list[CommittedItem]
    failed: int


class CommittedView(msgspec.Struct, rename="camel"):
    """The last commit of a reader that keeps its own position, since the last seek. `leader_epoch` null: it did not
    say."""

    offset: int
    leader_epoch: int | None
    metadata: str
