"""What a backup takes and a restore brings: how it is asked for, and how it is shown."""

from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits
from app.calls.records import OFFSET_MAX
from app.calls.topics import TopicConfigFields

RESTORE_ID_LENGTH_MAX = 64
RESTORE_ID_PATTERN = r"^[A-Za-z0-9._-]+$"
GROUPS_MAX = 10_000
"""That one call restores in a partition."""
STATE_BYTES_MAX = 8 * 1024 * 1024
"""Of the groups' state in a partition, before it is written as text."""

RestoreId = Annotated[str, Meta(min_length=1, max_length=RESTORE_ID_LENGTH_MAX, pattern=RESTORE_ID_PATTERN)]
_Partition = Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)]
_Offset = Annotated[int, Meta(ge=0, le=OFFSET_MAX)]


class RestoreFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT /topics/{topic}/restore`: the topic that the restore is to fill, as it was."""

    restore_id: RestoreId
    partitions: Annotated[int, Meta(ge=1, le=limits.PARTITIONS_MAX)]
    replication_factor: Annotated[
        Annotated[int, Meta(ge=1, le=limits.REPLICAS_MAX)] | None,
        Meta(description="nodes that hold each partition, as far as there are so many; default: as of any new topic"),
    ] = None
    config: TopicConfigFields | None = None


class RestoreGroupsFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /topics/{topic}/restore/partitions/{partition}/groups`: `state` as it was read, and the names
    that groups have here, by their ids there. Groups without a name are left out."""

    restore_id: RestoreId
    groups: Annotated[dict[str, str], Meta(max_length=GROUPS_MAX)]
    state: Annotated[bytes, Meta(max_length=STATE_BYTES_MAX, description="base64")]


class RestoredPartition(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """It has to end at `end`, and readers begin at `log_start`."""

    partition: _Partition
    log_start: _Offset
    end: _Offset


class FinishFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /topics/{topic}/restore/finish`: each partition, and those that take no new messages."""

    restore_id: RestoreId
    partitions: Annotated[list[RestoredPartition], Meta(min_length=1, max_length=limits.PARTITIONS_MAX)]
    decommissioned: Annotated[list[_Partition], Meta(max_length=limits.PARTITIONS_MAX)] = []


class RestoreProgress(msgspec.Struct, rename="camel"):
    """How far a partition is restored: its messages, and those that are scheduled, which count from 0."""

    partition: int
    end: int
    scheduled_end: int


class RestoreView(msgspec.Struct, rename="camel"):
    """`partitions` is empty once the topic is whole."""

    topic: str
    topic_id: str
    restore_id: str
    restoring: bool
    partitions: list[RestoreProgress]


class PartitionStateView(msgspec.Struct, rename="camel"):
    """All of one moment: what is below `high_watermark` is committed, readers begin at `log_start`, and no group is
    done with more. `state` is what the `groups` have done (base64; their names by their ids), as far as the token may
    look at them: for a restore, and for nobody to read."""

    topic: str
    topic_id: str
    partition: int
    log_start: int
    high_watermark: int
    epoch: int
    groups: dict[str, str]
    state: bytes
