"""Sending dead letters back: what is asked for, and how far it is."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from acklog.wire.identifiers import MessageId

_Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_LENGTH_MAX)]


class RedriveFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /groups/{group}/redrive`. `topic` is the one with the dead letters, which may be left out where
    the group has one such; `to` where they go, if not to where each came from. `filter`, or `messageIds`, says which of
    them: all, where nothing does."""

    topic: _Name | None = None
    to: _Name | None = None
    filter: Annotated[str, Meta(min_length=1)] | None = None
    message_ids: Annotated[list[str], Meta(min_length=1, max_length=limits.REDRIVE_IDS_MAX)] | None = None
    rate_per_second: Annotated[int, Meta(ge=1, le=limits.REDRIVE_RATE_MAX)] | None = None


@dataclass(frozen=True, slots=True)
class RedriveCommand:
    """`filter` is in its canonical text."""

    topic: str | None = None
    to: str | None = None
    filter: str | None = None
    letters: tuple[MessageId, ...] | None = None
    rate_per_second: int | None = None


class RedrivePartView(msgspec.Struct, rename="camel"):
    """Letters of the partition between `start` and `end` are the job's; those below `position` are behind it."""

    partition: int
    start: int
    end: int
    position: int
    moved: int
    failed: int


class RedriveView(msgspec.Struct, rename="camel", omit_defaults=True):
    """`state` is "running", "done", "cancelled" or "gone" (its topic of dead letters was deleted). `total` letters had
    not been handled when the job was made. `to` is where they go, null where that topic was deleted; it is left out
    where each goes to where it came from. `moved` are stored there and handled; `failed` stay where they are. Times are
    in milliseconds."""

    job_id: str
    group: str
    topic: str | None
    state: str
    created_at: int
    total: int
    moved: int
    failed: int
    to: str | UnsetType | None = UNSET
    filter: str | None = None
    rate_per_second: int | None = None
    cancelled_at: int | None = None
    finished_at: int | None = None
    partitions: list[RedrivePartView] = []


class RedriveListing(msgspec.Struct):
    """The newest first."""

    jobs: list[RedriveView]
