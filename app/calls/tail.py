"""What a tail of a topic asks for, and where it is: a position over all its partitions."""

import base64
import binascii
from dataclasses import dataclass, field

import msgspec

from acklog.filters.message_filter import MessageFilter
from acklog.wire.limits import PARTITIONS_MAX
from acklog.wire.problems import ProblemCode
from app.calls.records import EPOCH_MAX, OFFSET_MAX, FirstOffset
from cluster.errors import ServerError

TAIL_PARTITIONS_MAX = 100
"""Of a topic that one stream reads."""
CURSOR_LENGTH_MAX = 4_096
BODY_BYTES_DEFAULT = 64 * 1024
BODY_BYTES_MAX = 1024 * 1024
MESSAGES_PER_SECOND_DEFAULT = 1_000
MESSAGES_PER_SECOND_MAX = 10_000

GONE = -1
"""In the place of an offset: the partition is gone, and that was told."""
NO_EPOCH = -1


class TailPlace(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything below `offset` was given, by a leader of that epoch; NO_EPOCH: nothing was given yet."""

    partition: int
    offset: int
    epoch: int = NO_EPOCH


class TailCursor(msgspec.Struct, array_like=True):
    """The places of one stream, in a topic of that id. Its text is the id of an event."""

    topic_id: str
    places: list[TailPlace]

    def text(self) -> str:
        return base64.urlsafe_b64encode(_encode(self)).decode("ascii").rstrip("=")


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(TailCursor)


def read_cursor(text: str, *, field_name: str) -> TailCursor:
    """Raises ServerError INVALID_FIELD."""
    fault = ServerError(ProblemCode.INVALID_FIELD, "is not the id of an event of a tail", field=field_name)
    if len(text) > CURSOR_LENGTH_MAX:
        raise fault
    try:
        cursor = _decoder.decode(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise fault from None
    numbers = [each.partition for each in cursor.places]
    if not 1 <= len(numbers) <= TAIL_PARTITIONS_MAX or len(set(numbers)) != len(numbers):
        raise fault
    for each in cursor.places:
        is_number = 0 <= each.partition < PARTITIONS_MAX
        if not is_number or not GONE <= each.offset <= OFFSET_MAX or not NO_EPOCH <= each.epoch <= EPOCH_MAX:
            raise fault
    return cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class TailCommand:
    """`first` and `time_ms` as in reads of records; `offsets` are those of some partitions, where they begin instead.
    `partitions` empty: all, also those that are added. With a `cursor` all of these say nothing but `partitions`."""

    topic: str
    first: FirstOffset = FirstOffset.LATEST
    time_ms: int = -1
    offsets: dict[int, int] = field(default_factory=dict)
    partitions: tuple[int, ...] = ()
    cursor: TailCursor | None = None
    message_filter: MessageFilter | None = None
    body_bytes_max: int = BODY_BYTES_DEFAULT
    messages_per_second: int = MESSAGES_PER_SECOND_DEFAULT
