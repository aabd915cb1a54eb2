"""The records of the topic `__groups`: every change of a group's members and of who owns what.

They are positional on disk, so fields are only ever added at the end, and a tag is never given to another kind. Each is
a message, with its group's id as the key. A record says what was decided, never what to decide: a replay needs neither
settings nor topics. A log may begin in the middle of a group's records; a `GroupWritten` stands behind that, and what
came before it counts no more.
"""

import msgspec

from acklog.wire.decode_errors import with_decode_errors
from storage.rpc.membership_messages import UNSAID

NOBODY = ""
"""In place of a member's name: the partition is no member's any more."""


class GroupsFormatError(ValueError):
    """The bytes are no record of a group, or a newer version wrote them."""


class _Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    pass


class MemberWritten(_Record, frozen=True, tag=1):
    """A member joined, begins a new life (`joined_epoch`), or subscribes to something else. What it owns stays."""

    group_id: str
    epoch: int
    member: str
    joined_epoch: int
    member_epoch: int
    topic_ids: tuple[str, ...]
    patterns: tuple[str, ...]
    rack: str
    session_timeout_ms: int
    is_static: bool
    instance_id: str


class MemberGone(_Record, frozen=True, tag=2):
    """It left (`has_left`), or its session is over. What it owned is nobody's. Earlier versions did not tell the one
    from the other."""

    group_id: str
    epoch: int
    member: str
    has_left: bool = False


class Owned(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Partitions of one topic that one member owns (NOBODY: no one any more) since the epoch `ownership`. Every owner
    from `gone_since` on and before this one is gone, every one from `left_since` on by leaving; earlier versions did
    not say (UNSAID), only whether the last one is gone (`is_forced`)."""

    topic_id: str
    member: str
    ownership: int
    is_forced: bool
    partitions: tuple[int, ...]
    gone_since: int = UNSAID
    left_since: int = UNSAID


class Assigned(_Record, frozen=True, tag=3):
    """Partitions that have another owner from `epoch` on. Who gains or loses by it has that for its `member_epoch`."""

    group_id: str
    epoch: int
    owned: tuple[Owned, ...]


class GroupGone(_Record, frozen=True, tag=4):
    """The group was deleted."""

    group_id: str


class GroupWritten(_Record, frozen=True, tag=5):
    """All that there is of a group, in place of whatever was known of it."""

    group_id: str
    epoch: int
    members: tuple[MemberWritten, ...]
    owned: tuple[Owned, ...]


GroupRecord = MemberWritten | MemberGone | Assigned | GroupGone | GroupWritten

_encoder = msgspec.msgpack.Encoder()
_decode = with_decode_errors(msgspec.msgpack.Decoder(GroupRecord).decode)


def encode_record(record: GroupRecord) -> bytes:
    return _encoder.encode(record)


def decode_record(data: bytes) -> GroupRecord:
    """Raises GroupsFormatError for a kind of record that this version does not know, and for damaged bytes."""
    try:
        return _decode(data)  # type: ignore[no-any-return]
    except msgspec.DecodeError as error:
        detail = f"__groups holds something that this version cannot read; a newer one may have written it: {error}"
        raise GroupsFormatError(detail) from error
