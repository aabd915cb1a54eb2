"""Compaction of a topic on request: what is asked for, and how it goes."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from app.calls.problem_item import ProblemItem

_Partition = Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)]

IDLE = "idle"
WAITING = "waiting"
RUNNING = "running"


class CompactFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /topics/{topic}/compact`: all of the topic, or these partitions of it."""

    partitions: Annotated[list[_Partition], Meta(min_length=1, max_length=limits.PARTITIONS_MAX)] | None = None


class ReplicaCompactionItem(msgspec.Struct, rename="camel", omit_defaults=True):
    """`state` is idle; waiting, when somebody asked and its turn is yet to come; or running. Of what may be compacted,
    passes have gone through `clean_bytes`, and `dirty_bytes` have come since."""

    node: int
    state: str | UnsetType = UNSET
    clean_bytes: int | UnsetType = UNSET
    dirty_bytes: int | UnsetType = UNSET
    problem: ProblemItem | UnsetType = UNSET


class PartitionCompactionItem(msgspec.Struct):
    partition: int
    replicas: list[ReplicaCompactionItem]


class CompactionView(msgspec.Struct):
    """Each replica is compacted for itself. `failed` counts those that could not be asked."""

    topic: str
    partitions: list[PartitionCompactionItem]
    failed: int
