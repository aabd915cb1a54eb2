"""The records of a partition's delivery log."""

from typing import get_args

from storage.delivery.records import (
    Acked,
    DeadLettered,
    DeliveryFormatError,
    DeliveryRecord,
    Skipped,
    decode_records,
    encode_records,
    pack_offsets,
    pack_ranges,
    unpack_ranges,
)
from tests.fuzz.built_values import built
from tests.fuzz.fuzz_target import FuzzTarget

_LISTED_MAX = 10_000
_KINDS: tuple[type, ...] = get_args(DeliveryRecord)


def _seeds() -> list[bytes]:
    runs = pack_offsets([3, 4, 5, 9, 17])
    records = [built(kind) for kind in _KINDS if kind not in {Acked, DeadLettered, Skipped}]
    listed = [Acked("g", 1, runs, 20), DeadLettered("g", 1, runs), Skipped("g", 1, runs, 1)]
    return [encode_records([*records, *listed]), *(encode_records([each]) for each in (*records, *listed))]


def _read(data: bytes) -> None:
    records = decode_records(data)
    assert encode_records(decode_records(encode_records(records))) == encode_records(records)
    for record in records:
        if isinstance(record, Acked | DeadLettered | Skipped):
            ranges = list(unpack_ranges(record.runs))
            assert pack_ranges(ranges) == record.runs
            if sum(end - start for start, end in ranges) <= _LISTED_MAX:
                listed = [offset for start, end in ranges for offset in range(start, end)]
                assert list(unpack_ranges(pack_offsets(listed))) == _joined(ranges)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbours as one."""
    found: list[tuple[int, int]] = []
    for start, end in ranges:
        if found and found[-1][1] == start:
            start = found.pop()[0]
        found.append((start, end))
    return found


TARGET = FuzzTarget(_read, (DeliveryFormatError,), _seeds)
