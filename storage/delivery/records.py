"""The records of a partition's delivery log: every change of delivery state that must survive.

They are positional on disk, so fields are only ever added at the end, and a tag is never given to another kind.
A record says what was decided, never what to decide: applying it needs no settings, so a replay years later, under
other settings, gives the state that the leader had. Replaying a record twice in a row changes nothing.

`generation` is that of the group when the decision was made. A seek begins another one, and so does another owner: a
record that either overtook is void.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

import msgspec

from acklog.wire.decode_errors import with_decode_errors
from storage.delivery.group_snapshot import GroupSnapshot

Buffer = bytes | bytearray | memoryview

DEAD_LETTER = -1
"""In place of a delay: the attempts are used up, the message goes to the dead-letter topic."""
BLOCKED = -2
"""In place of a delay: the attempts are used up, the message waits until a person decides."""
OUTLIVED = -3
"""In place of a delay: its time to live is over, the message goes to the dead-letter topic."""


class DeliveryFormatError(ValueError):
    """The bytes are not delivery records, or a newer version wrote them."""


class Cause(IntEnum):
    """Why a message is given back: its lease ended without success, or (RELEASED) a person let it go on, and its
    attempts begin anew, or (OUTLIVED) its time to live was over when it was its turn, and nobody was given it."""

    NACKED = 0
    EXPIRED = 1
    RELEASED = 2
    OUTLIVED = 3


class SkipCause(IntEnum):
    """Why something is passed over."""

    UNSAID = 0
    """There is no message for anybody, or a person skipped it; and in records of earlier versions."""
    FILTERED = 1
    """The group's filter of that time did not match."""
    EXPIRED = 2
    """Its time to live was over when it was its turn."""
    REMOVED = 3
    """Compaction has removed it, and nobody had it."""


class _Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    pass


class Started(_Record, frozen=True, tag=1):
    """The group's first contact with the partition: it reads from `offset` on."""

    group_id: str
    offset: int


class Acked(_Record, frozen=True, tag=2):
    """Done. `runs` holds offsets as `pack_offsets` writes them; every offset below `delivered_below` had been
    delivered at least once."""

    group_id: str
    generation: int
    runs: list[int]
    delivered_below: int


class ReturnedItem(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`attempts`: how many deliveries count by now; `leader_epoch`: of the last of them. `delay_ms`: DEAD_LETTER,
    BLOCKED, OUTLIVED, or from the record's `wall_ms` on. `consumer` had it, and said the `reason`; "" where none is
    known."""

    offset: int
    attempts: int
    delay_ms: int
    cause: int
    leader_epoch: int
    consumer: str = ""
    reason: str = ""


class Returned(_Record, frozen=True, tag=3):
    """Given back, by the consumer, by expiry or by a person. Delays are kept as (wall time, duration), so that no clock
    jump can hold a message for longer than its own delay."""

    group_id: str
    generation: int
    wall_ms: int
    items: list[ReturnedItem]


class DeadLettered(_Record, frozen=True, tag=4):
    """Done for the group, because the dead-letter topic has them durably (rule R29)."""

    group_id: str
    generation: int
    runs: list[int]


class Sought(_Record, frozen=True, tag=5):
    """The group reads from `offset` on; every receipt of an earlier generation is stale."""

    group_id: str
    generation: int
    offset: int


class Jumped(_Record, frozen=True, tag=6):
    """Everything below `to_offset` was removed, by retention or (`is_deleted`) on purpose; `lost` messages of it were
    not done when that was noticed."""

    group_id: str
    to_offset: int
    lost: int
    is_deleted: bool = False


class GroupRemoved(_Record, frozen=True, tag=7):
    group_id: str


class Skipped(_Record, frozen=True, tag=8):
    """Passed over for good: done, and was never delivered (rule R41), or was blocked and a person skipped it. Neither
    acknowledged nor lost.

    Versions before this kind cannot read it. They know groups that take every message, and those never write one.
    """

    group_id: str
    generation: int
    runs: list[int]
    cause: int = SkipCause.UNSAID

    @property
    def was_decided_by_offset(self) -> bool:
        """Of messages that were pending until then, and not of all that somebody who looked onwards passed over."""
        return self.cause in (SkipCause.EXPIRED, SkipCause.REMOVED)

    @property
    def offsets(self) -> Sequence[int]:
        return offsets_of(self.runs)


class Claimed(_Record, frozen=True, tag=9):
    """From here on the partition is `member`'s, by the `ownership` that the group's coordinator gave it. What the owner
    before had in hand and has not settled is nobody's, and its receipts are of an earlier generation.

    Exclusive groups write it; versions before this kind cannot read it.
    """

    group_id: str
    generation: int
    ownership: int
    member: str


class PositionCommitted(_Record, frozen=True, tag=10):
    """Everything below `offset` is done, as a reader said that keeps its own position. It had read up to there from a
    leader of `leader_epoch` (-1: it does not say), and `metadata` is its own.

    Versions before this kind cannot read it. It is not written while they are among the nodes.
    """

    group_id: str
    generation: int
    offset: int
    leader_epoch: int
    metadata: str


class StateRestored(_Record, frozen=True, tag=11):
    """The group's state is this from here on, as a backup had it. It is written while its topic is being restored, and
    nothing of the topic has been delivered.

    Versions before this kind cannot read it. It is not written while they are among the nodes.
    """

    group_id: str
    state: GroupSnapshot


GroupRecord = Acked | Returned | DeadLettered | Sought | Jumped | Skipped | Claimed | PositionCommitted
DeliveryRecord = (
    Started
    | Acked
    | Returned
    | DeadLettered
    | Sought
    | Jumped
    | GroupRemoved
    | Skipped
    | Claimed
    | PositionCommitted
    | StateRestored
)

_encoder = msgspec.msgpack.Encoder()
_decode = with_decode_errors(msgspec.msgpack.Decoder(list[DeliveryRecord]).decode)


def encode_records(records: list[DeliveryRecord]) -> bytes:
    return _encoder.encode(records)


def decode_records(data: Buffer) -> list[DeliveryRecord]:
    """Raises DeliveryFormatError for a kind of record that this version does not know, and for damaged bytes."""
    try:
        records = _decode(data)
    except msgspec.DecodeError as error:
        raise DeliveryFormatError(
            f"the delivery log holds something that this version cannot read; a newer one may have written it: {error}"
        ) from error
    for record in records:
        if isinstance(record, Acked | DeadLettered | Skipped):
            _check_runs(record.runs)
    return records


def pack_offsets(offsets: Iterable[int]) -> list[int]:
    """Offsets, in any order, as runs: gap from the end of the run before, length, gap, length, …"""
    ordered = sorted(set(offsets))
    if not ordered:
        return []
    first, last = ordered[0], ordered[-1]
    if last - first + 1 == len(ordered):
        return [first, len(ordered)]
    runs: list[int] = []
    end = 0
    start = following = first
    for offset in ordered:
        if offset != following:
            runs += (start - end, following - start)
            end, start = following, offset
        following = offset + 1
    runs += (start - end, following - start)
    return runs


def pack_ranges(ranges: Iterable[tuple[int, int]]) -> list[int]:
    """Ascending ranges, as `pack_offsets` writes them."""
    runs: list[int] = []
    previous_end = 0
    for start, end in ranges:
        runs += (start - previous_end, end - start)
        previous_end = end
    return runs


def unpack_ranges(runs: list[int]) -> Iterator[tuple[int, int]]:
    """The half-open ranges of `pack_offsets`, ascending."""
    end = 0
    pairs = iter(runs)
    for gap, length in zip(pairs, pairs, strict=True):
        start = end + gap
        end = start + length
        yield start, end


def offsets_of(runs: list[int]) -> Sequence[int]:
    """What `pack_offsets` was given, ascending. The sum of the runs is the end of it."""
    if len(runs) == 2:
        return range(runs[0], runs[0] + runs[1])
    return [offset for start, end in unpack_ranges(runs) for offset in range(start, end)]


def _check_runs(runs: list[int]) -> None:
    if len(runs) % 2 or any(gap < 0 for gap in runs[::2]) or any(length < 1 for length in runs[1::2]):
        raise DeliveryFormatError("the delivery log holds a damaged list of offsets")
