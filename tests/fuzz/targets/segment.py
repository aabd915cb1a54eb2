"""A segment's file, whatever is left of it."""

from acklog.wire.batch import HEADER_BYTES, BatchCorruptError, encode_batch, read_header, verify
from storage.log.batch_scanner import BatchScanner
from storage.log.batch_search import find_batch_behind
from storage.log.segment_reader import Damage, parse_batches
from tests.fuzz.batch_bytes import RECORDS, stamped
from tests.fuzz.fuzz_target import FuzzTarget
from tests.support.held_disk import HeldFile

_CHUNK_BYTES_MIN = HEADER_BYTES
Found = list[tuple[int, int]]


class DamagedSegmentError(ValueError):
    """The walk ends before the file does."""


def _seeds() -> list[bytes]:
    whole = b"".join(stamped(encode_batch(RECORDS), number * len(RECORDS)) for number in range(4))
    length = len(whole) // 4
    rotten = bytearray(whole)
    rotten[length + 20] ^= 1
    inner = bytearray(whole)
    inner[length + 100] ^= 1
    imitating = stamped(encode_batch([type(RECORDS[0])(whole[:length])]), 16)
    return [
        b"\x07" + whole,
        b"\x40" + bytes(rotten),
        b"\x80" + bytes(inner),
        b"\x10" + whole[: -length // 2],
        b"\xff" + whole[:length] + bytes(100) + imitating,
    ]


def _read(data: bytes) -> None:
    chunk_bytes, content = _CHUNK_BYTES_MIN + (data[0] if data else 0), data[1:]
    expected, stops_at = _naively(content)
    for size in (chunk_bytes, max(len(content), 1)):
        scanner = BatchScanner(HeldFile(content), position=0, size=len(content), chunk_bytes=size)
        assert [(position, header.base_offset) for header, position in scanner] == expected
        assert scanner.position == stops_at
        assert (scanner.problem is None) == (stops_at == len(content))
    for offset in {0, *(offset for _, offset in expected)}:
        _check_parsed(content, offset)
    if stops_at < len(content):
        _check_behind(content, stops_at)
        raise DamagedSegmentError


def _naively(content: bytes) -> tuple[Found, int]:
    """(position, base offset) of the batches from the beginning on, and where that ends."""
    found: Found = []
    at = 0
    while at < len(content):
        try:
            header = verify(content, at)
        except BatchCorruptError:
            break
        found.append((at, header.base_offset))
        at += header.length
    return found, at


def _check_parsed(content: bytes, offset: int) -> None:
    parsed = parse_batches(content, offset)
    if isinstance(parsed, int):
        assert parsed > len(content), "it asks for what it has"
    elif isinstance(parsed, Damage):
        assert parsed.offset == offset
    else:
        assert parsed[0].header.base_offset <= offset < parsed[0].header.next_offset
        assert all(verify(each.data) == each.header for each in parsed)


def _check_behind(content: bytes, position: int) -> None:
    file, size = HeldFile(content), len(content)
    found = find_batch_behind(file, position=position, size=size, above_offset=-1, chain_end=None)
    if found is not None:
        at, base_offset = found
        assert at > position
        assert read_header(content, at).base_offset == base_offset


TARGET = FuzzTarget(_read, (DamagedSegmentError,), _seeds)
