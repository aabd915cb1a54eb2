"""Deleting a topic's oldest messages: what is asked for, and what came of it."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from app.calls.problem_item import ProblemItem
from app.calls.records import OFFSET_MAX

_Partition = Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)]


class PurgeFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /topics/{topic}/purge`: all that the topic holds now, or these partitions of it."""

    partitions: Annotated[list[_Partition], Meta(min_length=1, max_length=limits.PARTITIONS_MAX)] | None = None
    dry_run: bool = False


class PlaceFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The first message of the partition that is kept."""

    partition: _Partition
    offset: Annotated[int, Meta(ge=0, le=OFFSET_MAX)]


class DeleteBeforeFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /topics/{topic}/delete-before`: `offsets` of partitions, or a `time` for all of them, by when
    messages were appended."""

    offsets: Annotated[list[PlaceFields], Meta(min_length=1, max_length=limits.PARTITIONS_MAX)] | None = None
    time: Annotated[int, Meta(ge=0, le=limits.TIMESTAMP_MS_MAX)] | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class DeleteCommand:
    """`to` and a value, as in `storage.rpc.deletion_messages.DeleteRequest`: of named partitions, or one for all."""

    to: str
    values: dict[int, int] | int
    is_dry_run: bool


class UndoneView(msgspec.Struct):
    """Messages that a group had not done; they are `lost` to it."""

    group: str
    lost: int


class DeletionItem(msgspec.Struct, rename="camel", omit_defaults=True):
    """The partition begins at `log_start` now, `previous` is where it began: between the two are `deleted` offsets."""

    partition: int
    log_start: int | UnsetType = UNSET
    previous: int | UnsetType = UNSET
    deleted: int | UnsetType = UNSET
    groups: list[UndoneView] | UnsetType = UNSET
    problem: ProblemItem | UnsetType = UNSET


class DeletionView(msgspec.Struct, rename="camel"):
    """`deleted` are all that are known of, and `failed` counts partitions of which it is not known."""

    topic: str
    dry_run: bool
    deleted: int
    partitions: list[DeletionItem]
    failed: int
