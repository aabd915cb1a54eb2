"""What a gateway and a node say to each other about messages that are deleted on purpose."""

import msgspec


class _Message(msgspec.Struct, array_like=True, gc=False):
    """Positional on the wire, so fields are only ever added at the end."""


class DeleteRequest(_Message):
    """Delete what the partition holds below a place, for all groups. `to`: "end" (of what is committed), "offset"
    (`value`) or "time" (`value`, ms: what was appended before it). An offset beyond the end is refused with
    OFFSET_OUT_OF_RANGE; below what is there nothing is left to do. A `dry_run` only says what it would come to."""

    topic_id: str
    partition: int
    to: str
    value: int = -1
    dry_run: bool = False


class UndoneByGroup(_Message):
    group_id: str
    undone: int


class DeleteResponse(_Message):
    """Readers begin at `log_start` from now on, before it was `previous`; the groups had `undone` so many messages of
    what is between the two."""

    log_start: int
    previous: int
    undone: list[UndoneByGroup]
