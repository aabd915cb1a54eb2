"""What is asked of pauses of a group, and how they are shown."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits


class PauseFields(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `POST /groups/{group}/pause` and `/resume`: what of the group, nothing for all of it. `partitions`
    are of the topic."""

    topic: str | None = None
    partitions: (
        Annotated[
            list[Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)]],
            Meta(min_length=1, max_length=limits.PARTITIONS_MAX),
        ]
        | None
    ) = None


@dataclass(frozen=True, slots=True)
class PauseCommand:
    """`topic` None: all of the group; `partitions` empty: all of the topic."""

    topic: str | None
    partitions: tuple[int, ...]


class PausedView(msgspec.Struct, rename="camel"):
    """Nothing is delivered from there: `topic` null is every topic, `partitions` null all of them. `since` is when the
    first of it was paused."""

    topic: str | None
    partitions: tuple[int, ...] | None
    since: int
