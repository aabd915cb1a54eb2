"""Batches of a schedule log: messages for later, and what became of earlier ones."""

from typing import get_args

from acklog.wire.batch import encode_batch, verify
from storage.schedule.changes import Added, Note, changes_of, encode_notes, messages_at
from tests.fuzz.batch_bytes import RECORDS, mended, stamped
from tests.fuzz.built_values import built
from tests.fuzz.fuzz_target import FuzzTarget

_KINDS: tuple[type, ...] = get_args(Note)


def _seeds() -> list[bytes]:
    notes = [built(kind, variant) for kind in _KINDS for variant in range(2)]
    return [
        stamped(encode_batch(RECORDS)),
        stamped(encode_notes(notes)),
        *(stamped(encode_notes([note])) for note in notes),
    ]


def _read(data: bytes) -> None:
    batch = mended(data)
    header = verify(batch)
    changes = list(changes_of(header, batch))
    offsets = [change.offset for change in changes]
    assert offsets == sorted(offsets)
    added = {change.what.entry.position: change.what.record for change in changes if isinstance(change.what, Added)}
    assert messages_at(header, batch, added) == added


TARGET = FuzzTarget(_read, (ValueError,), _seeds)
