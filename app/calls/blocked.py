"""Messages whose attempts are used up, in groups that block: how they are shown, and what is decided about them."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits
from acklog.wire.identifiers import MessageId
from app.calls.problem_item import ProblemItem
from app.calls.records import OFFSET_MAX


class BlockedFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /groups/{group}/keys/release` and `/skip`: one message, by its id or its place; or those of a
    key."""

    topic: str | None = None
    partition: Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)] | None = None
    offset: Annotated[int, Meta(ge=0, le=OFFSET_MAX)] | None = None
    key: str | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class BlockedPlace:
    """One message of a topic."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class BlockedKey:
    """All messages of a key, in whichever partition."""

    topic: str
    key: str


BlockedCommand = BlockedPlace | BlockedKey | MessageId


class BlockedView(msgspec.Struct, rename="camel"):
    """`message_id` and `key` are null where the message cannot be read, and `key` where it has none or the token has no
    right to receive it."""

    topic: str
    partition: int
    offset: int
    message_id: str | None
    key: str | None
    attempts: int
    since: int


class UnaskedPartition(msgspec.Struct, rename="camel"):
    """What is blocked there cannot be asked now."""

    topic: str
    partition: int
    problem: ProblemItem


class BlockedListing(msgspec.Struct, rename="camel"):
    """`count` is how many there are, also of those that are not shown."""

    group: str
    keys: list[BlockedView]
    count: int
    unknown: list[UnaskedPartition]


class BlockedDecided(msgspec.Struct, rename="camel"):
    """What was decided about, as it was before."""

    group: str
    keys: list[BlockedView]
