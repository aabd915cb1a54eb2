"""Batches of keyed messages, segments of them, and what a naive model says is left."""

from collections.abc import Iterable, Sequence

from acklog.wire.batch import BatchHeader, encode_batch, read_header, stamp
from acklog.wire.compacted_batch import NEVER_MS, decode_remaining, stored_records
from acklog.wire.compression import Codec
from acklog.wire.record import Record
from storage.compaction.latest_offsets import LatestOffsets
from storage.compaction.segment_compaction import CompactionTerms, SegmentCompaction

ALL_KEYS_BYTES = 1_000_000
NO_TOMBSTONES_GO = NEVER_MS
TERMS = CompactionTerms(now_ms=1000, tombstones_met_before_ms=NO_TOMBSTONES_GO, identities_kept_after_ms=-1)


def value(key: str | None, text: str) -> Record:
    return Record(text.encode(), key)


def tombstone(key: str) -> Record:
    return Record(b"", key)


def batch_at(
    offset: int,
    records: Sequence[Record],
    *,
    epoch: int = 0,
    append_ms: int = 0,
    codec: Codec = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytes:
    producer_id, producer_epoch, sequence = producer
    batch = encode_batch(
        list(records), codec=codec, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=sequence
    )
    stamp(batch, base_offset=offset, leader_epoch=epoch, append_time_ms=append_ms)
    return bytes(batch)


def segment_of(*batches: Sequence[Record], first: int = 0) -> list[bytes]:
    made = []
    for records in batches:
        made.append(batch_at(first, records))
        first += len(records)
    return made


def latest_in(segments: Iterable[Sequence[bytes]], *, begin: int = 0, bytes_max: int = ALL_KEYS_BYTES) -> LatestOffsets:
    latest = LatestOffsets(begin, bytes_max=bytes_max)
    for segment in segments:
        for data in segment:
            header = read_header(data)
            if header.base_offset >= begin and not latest.add(header, stored_records(data, header)[1]):
                return latest
    return latest


def compacted(
    segment: Sequence[bytes], latest: LatestOffsets, terms: CompactionTerms = TERMS
) -> tuple[list[bytes], SegmentCompaction]:
    compaction = SegmentCompaction(latest, terms)
    written: list[bytes] = []
    for data in segment:
        written += map(bytes, compaction.take(read_header(data), data))
    written += map(bytes, compaction.end())
    return written, compaction


def remaining(batches: Iterable[bytes]) -> dict[int, Record]:
    """By offset; fails where the batches do not follow one another."""
    found: dict[int, Record] = {}
    expected, last_ms, last_epoch = -1, -1, -1
    for data in batches:
        header = read_header(data)
        assert expected in (-1, header.base_offset)
        assert header.append_time_ms >= last_ms
        assert header.leader_epoch >= last_epoch
        expected, last_ms, last_epoch = header.next_offset, header.append_time_ms, header.leader_epoch
        records = enumerate(decode_remaining(data, header), header.base_offset)
        found.update((offset, record) for offset, record in records if record is not None)
    return found


def epochs_by_offset(batches: Iterable[bytes]) -> dict[int, int]:
    found: dict[int, int] = {}
    for data in batches:
        header: BatchHeader = read_header(data)
        found.update(dict.fromkeys(range(header.base_offset, header.next_offset), header.leader_epoch))
    return found


def table(records: dict[int, Record]) -> dict[str, bytes]:
    """The latest value of each key, as whoever reads all of the log makes it."""
    values: dict[str, bytes] = {}
    for _, record in sorted(records.items()):
        if record.key is None:
            continue
        if record.is_tombstone:
            values.pop(record.key, None)
        else:
            values[record.key] = record.body
    return values
