"""What the batches of a schedule log say: messages to be kept for later, and what became of earlier ones.

A batch of messages is one as a gateway made it: each record says when it is due. What the leader itself notes stands in
control batches, as msgpack lists whose first item is the kind.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from acklog.wire.batch import (
    BatchHeader,
    Buffer,
    decode_records,
    encode_control_batch,
    opaque_payload,
)
from acklog.wire.decode_errors import with_decode_errors
from acklog.wire.record import Record, Schedule
from storage.schedule.entries import AdoptionEntry, ScheduledEntry

OVERHEAD_BYTES = 32
"""Of a record beside its body and key, about."""


class Cancelled(msgspec.Struct, array_like=True, frozen=True, tag=0):
    """It will not be delivered."""

    id: int


class Moved(msgspec.Struct, array_like=True, frozen=True, tag=1):
    """It is due at another time."""

    id: int
    due_ms: int


class Fired(msgspec.Struct, array_like=True, frozen=True, tag=2):
    """They were due and are among the partition's messages, one behind the other from `offset` on, committed, in a
    batch of `epoch`. Whatever is due and stands below the end of that batch is recorded by now."""

    ids: list[int]
    offset: int
    epoch: int


class Passed(msgspec.Struct, array_like=True, frozen=True, tag=3):
    """Below `messages_end` no message was due that is not recorded by now."""

    messages_end: int


class Kept(msgspec.Struct, array_like=True, frozen=True, tag=4):
    """A pending message as it was, written anew so that the log before it can be removed."""

    id: int
    epoch: int
    due_ms: int
    order: int
    record: Record


class Recurred(msgspec.Struct, array_like=True, frozen=True, tag=5):
    """A recurring schedule was due then, and up to then it is dealt with: `record` is pending, or (None) nothing is."""

    schedule_id: str
    due_ms: int
    record: Record | None = None


class LetGo(msgspec.Struct, array_like=True, frozen=True, tag=6):
    """A recurring schedule, dealt with up to `due_ms`, is another partition's: this one sends it no more, unless its
    home has moved more than `moves` times."""

    schedule_id: str
    due_ms: int
    moves: int


class HandingOver(msgspec.Struct, array_like=True, frozen=True, tag=7):
    """They are due, belong to `partition` by now, and go to its schedule in this order: nothing else is decided about
    them. (`epoch`, `number`) is greater than that of all hand-overs to this partition before: there it tells whether
    they came. One at a time is under way to a partition."""

    partition: int
    epoch: int
    number: int
    ids: list[int]


class HandedOver(msgspec.Struct, array_like=True, frozen=True, tag=8):
    """They are in the schedule of `partition`, one behind the other, the first as `offset` and `at_epoch` name it."""

    partition: int
    ids: list[int]
    offset: int
    at_epoch: int


class TakenBack(msgspec.Struct, array_like=True, frozen=True, tag=9):
    """What was under way to `partition` is pending here as before: that one is gone for good."""

    partition: int
    ids: list[int]


class Adopted(msgspec.Struct, array_like=True, frozen=True, tag=10):
    """A message came from the schedule of partition `origin`, by its hand-over (`epoch`, `number`), and is pending here
    under a name of its own; its `record` has the name that it was given first. None: nobody could read it. All of a
    hand-over stand one behind the other, in a batch of `at_epoch`."""

    origin: int
    epoch: int
    number: int
    at_epoch: int
    due_ms: int
    record: Record | None


class AdoptedBefore(msgspec.Struct, array_like=True, frozen=True, tag=11):
    """What `Adopted` said of the last hand-over of `origin`, written anew: its first message is named by `offset`."""

    origin: int
    epoch: int
    number: int
    at_epoch: int
    offset: int


Note = (
    Cancelled
    | Moved
    | Fired
    | Passed
    | Kept
    | Recurred
    | LetGo
    | HandingOver
    | HandedOver
    | TakenBack
    | Adopted
    | AdoptedBefore
)
"""What a leader writes itself."""


class Added(NamedTuple):
    """A message is pending; or is at another place, where it was before."""

    entry: ScheduledEntry
    record: Record


class LostNotes(NamedTuple):
    """What the log had up to `end`, exclusive, cannot be read."""

    end: int


class Change(NamedTuple):
    """What the record at `offset` says; or that nobody knows."""

    offset: int
    what: (
        Added
        | Cancelled
        | Moved
        | Fired
        | Passed
        | Recurred
        | LetGo
        | HandingOver
        | HandedOver
        | TakenBack
        | Adopted
        | AdoptedBefore
        | LostNotes
    )


def adoption_of(what: Adopted | AdoptedBefore, offset: int) -> AdoptionEntry:
    """As the record at `offset` says: of a hand-over it is the first that counts."""
    first = what.offset if isinstance(what, AdoptedBefore) else offset
    return AdoptionEntry(what.origin, what.epoch, what.number, first, what.at_epoch, offset)


def first_name(record: Record) -> str:
    """The name of a message that came from another partition's schedule; "" of all others."""
    return "" if record.schedule is None else record.schedule.id


_decode_notes = with_decode_errors(msgspec.msgpack.Decoder(list[Note]).decode)
_encode = msgspec.msgpack.Encoder().encode


def encode_notes(notes: list[Note]) -> bytearray:
    return encode_control_batch(_encode(notes), count=len(notes))


def changes_of(header: BatchHeader, data: Buffer) -> Iterator[Change]:
    """In order. Raises ValueError (of msgpack, and of text) for a batch that nobody can make out."""
    if header.is_control:
        for offset, note in enumerate(_decode_notes(opaque_payload(data, header)), header.base_offset):
            if isinstance(note, Kept):
                size_bytes = _size_of(note.record)
                entry = ScheduledEntry(note.id, note.epoch, note.due_ms, note.order, offset, size_bytes)
                yield Change(offset, Added(entry, note.record))
                continue
            yield Change(offset, note)
            if isinstance(note, Recurred | Adopted) and note.record is not None:
                size_bytes = _size_of(note.record)
                entry = ScheduledEntry(offset, header.leader_epoch, note.due_ms, offset, offset, size_bytes)
                yield Change(offset, Added(entry, note.record))
        return
    for offset, record in enumerate(decode_records(data, header), header.base_offset):
        due_ms = due_of(record.schedule, header.append_time_ms)
        entry = ScheduledEntry(offset, header.leader_epoch, due_ms, offset, offset, _size_of(record))
        yield Change(offset, Added(entry, record))


def messages_at(header: BatchHeader, data: Buffer, offsets: Iterable[int]) -> dict[int, Record]:
    """The messages at these offsets of the batch. Raises ValueError as `changes_of` does."""
    if header.is_control:
        notes = _decode_notes(opaque_payload(data, header))
        kept = ((offset, notes[offset - header.base_offset]) for offset in offsets)
        found = {offset: note.record for offset, note in kept if isinstance(note, Kept | Recurred | Adopted)}
        return {offset: record for offset, record in found.items() if record is not None}
    records = decode_records(data, header)
    return {offset: records[offset - header.base_offset] for offset in offsets}


def due_of(schedule: Schedule | None, append_time_ms: int) -> int:
    """When a message is due that was appended to the schedule log then; at once where it does not say."""
    if schedule is None:
        return append_time_ms
    return schedule.at_ms if schedule.at_ms >= 0 else append_time_ms + schedule.delay_ms


def _size_of(record: Record) -> int:
    return record.large_bytes + (len(record.key) if record.key else 0) + OVERHEAD_BYTES
