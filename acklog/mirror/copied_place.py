"""How far a partition is copied, as the target's log says it: by its last message that came from there."""

from collections.abc import Iterable
from typing import NamedTuple

from acklog.messages import StoredMessage
from acklog.mirror.mirror_path import path_of

LINK_PREFIX = "mirror-"


class CopiedPlace(NamedTuple):
    """A message of the source's partition, with the leader epoch of its batch, and where its copy is."""

    source_offset: int
    target_offset: int
    source_epoch: int


def copied_in(messages: Iterable[StoredMessage], source_topic_id: str, partition: int) -> list[CopiedPlace]:
    """Those of the target's messages that are copies from that partition, in the order of the target's log. What others
    have sent there, and what came another way, is none."""
    found: list[CopiedPlace] = []
    for message in messages:
        path = path_of(message.headers)
        if path and path[-1].topic_id == source_topic_id and path[-1].partition == partition:
            found.append(CopiedPlace(path[-1].offset, message.offset, path[-1].epoch))
    return found


def link_after(source_topic_id: str, target_offset: int | None) -> str:
    """The `dedup_id` of the copy that follows the one at `target_offset`; None: of the first one.

    Each request's first message carries the link to what is before it. So who takes over, and does not see yet what
    was appended last, sends under the same name, and it is stored once.
    """
    return f"{LINK_PREFIX}{source_topic_id}-{'begin' if target_offset is None else target_offset}"
