"""A batch: on the wire, in a segment, in a client; also with checksums that are right and nothing else."""

from acklog.wire.batch import (
    BatchCorruptError,
    check_unstamped,
    decode_keys,
    encode_again,
    encode_batch,
    opaque_payload,
    verify,
    verify_unstamped,
)
from acklog.wire.batch_run import whole_batches
from acklog.wire.batch_structure import check_structure
from acklog.wire.compacted_batch import decode_remaining, from_offset, stored_records
from acklog.wire.log_page import headers, runs
from storage.check.record_check import RecordCheck
from storage.log.batch_cipher import IN_CLEAR
from tests.fuzz.batch_bytes import RECORDS, batches, mended
from tests.fuzz.fuzz_target import FuzzTarget

_AS_IT_IS = 0


def _seeds() -> list[bytes]:
    as_they_are = [bytes([_AS_IT_IS]) + each for each in (*batches(), bytes(encode_batch(RECORDS)))]
    return as_they_are + [b"\x01" + each for each in batches()]


def _read(data: bytes) -> None:
    if not data:
        raise BatchCorruptError("there is nothing")
    batch = data[1:] if data[0] % 2 == _AS_IT_IS else mended(data[1:])
    _check_unstamped(batch)
    header = verify(batch)
    assert len(batch) >= header.length
    page = batch[: header.length]
    assert [each.length for each in headers(page + page)] == [header.length] * 2
    assert whole_batches(page + page, header.length) == header.length
    assert bytes(_again(page)) == page
    fault = RecordCheck(IN_CLEAR).fault(page, header)
    remaining = decode_remaining(page, header)
    decode_keys(page, header)
    if not header.is_control:
        _, stored = stored_records(page, header)
        assert [each.record for each in stored] == [each for each in remaining if each is not None]
    found = [(first, records) for _, first, records in runs(page, header.base_offset)]
    assert [each for _, records in found for each in records] == [each for each in remaining if each is not None]
    assert not fault or "idempotency key" in fault, fault
    assert bytes(from_offset(page, header.base_offset)) == page
    check_structure(page, header)


def _again(page: bytes) -> bytearray:
    """Encoded once more, from what was read of it."""
    header = verify(page)
    return encode_again(header, opaque_payload(page, header))


def _check_unstamped(batch: bytes) -> None:
    try:
        header = verify_unstamped(batch)
    except BatchCorruptError:
        return
    if header.count > 0:
        assert check_unstamped(batch) == (header.count, header.flags)


TARGET = FuzzTarget(_read, (ValueError,), _seeds)
