"""Letting one group go on where another one is."""

from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits
from app.calls.problem_item import ProblemItem


class CopyFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /groups/{group}/offsets/copy`. Null topics: all that the other group reads."""

    from_group: str = msgspec.field(name="from")
    topics: Annotated[list[str], Meta(min_length=1, max_length=limits.RECEIVE_TOPICS_MAX)] | None = None
    dry_run: bool = False


class CopiedItem(msgspec.Struct, rename="camel", omit_defaults=True):
    """`offset` is where the group goes on, `previous` where it was. `done_above`: so many behind the offset are done
    for the other group, and come to this one all the same."""

    topic: str
    partition: int
    offset: int | msgspec.UnsetType = msgspec.UNSET
    previous: int | msgspec.UnsetType = msgspec.UNSET
    done_above: int | msgspec.UnsetType = msgspec.UNSET
    problem: ProblemItem | msgspec.UnsetType = msgspec.UNSET


class CopyView(msgspec.Struct, rename="camel"):
    """Only partitions from which the other group has read. `left_out`: topics that it reads and the token may look at
    and not seek in, where there are such and no topics were named."""

    group: str
    from_group: str = msgspec.field(name="from")
    dry_run: bool
    offsets: list[CopiedItem]
    failed: int
    left_out: list[str] | msgspec.UnsetType = msgspec.UNSET
