"""Compaction against a naive model: a dict of the latest values, and the list of everything that was ever sent."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.batch import read_header, verify
from acklog.wire.compacted_batch import NEVER_MS
from acklog.wire.compression import Codec
from acklog.wire.record import Record
from storage.compaction.latest_offsets import KEY_OVERHEAD_BYTES
from storage.compaction.segment_compaction import CompactionTerms
from tests.support.compaction import (
    ALL_KEYS_BYTES,
    batch_at,
    compacted,
    epochs_by_offset,
    latest_in,
    remaining,
    table,
)

KEYS = st.sampled_from(["a", "b", "c", "d", None])
RECORDS = st.builds(
    lambda key, text, is_tombstone: Record(b"" if is_tombstone and key else b'"%d"' % text, key),
    KEYS,
    st.integers(0, 99),
    st.integers(0, 3).map(lambda drawn: drawn == 0),
)


@dataclass(frozen=True)
class Sent:
    records: list[Record]
    codec: Codec
    is_of_producer: bool
    raises_epoch: bool
    begins_segment: bool


SENT = st.builds(
    Sent,
    st.lists(RECORDS, min_size=1, max_size=4),
    st.sampled_from([Codec.NONE, Codec.NONE, Codec.ZSTD, Codec.LZ4]),
    st.booleans(),
    st.integers(0, 4).map(lambda drawn: drawn == 0),
    st.integers(0, 2).map(lambda drawn: drawn == 0),
)
PASSES = st.lists(
    st.tuples(
        st.integers(1, 12),  # how many batches come before it
        st.sampled_from([2 * KEY_OVERHEAD_BYTES, ALL_KEYS_BYTES]),
        st.integers(0, 500),  # how much time has gone by
        st.booleans(),  # whether tombstones may go
        st.integers(0, 6),  # after how many segments the process ends; it began to write the others in vain
    ),
    min_size=1,
    max_size=6,
)
TOMBSTONE_MS = 300


class Log:
    """What was sent, and segments as compaction leaves them; the last one is active."""

    def __init__(self) -> None:
        self.sent: dict[int, Record] = {}
        self.epochs: dict[int, int] = {}
        self.segments: list[list[bytes]] = [[]]
        self.end = 0
        self.epoch = 0
        self.now_ms = 0
        self.clean_end = 0
        self.first_met_ms: dict[int, int] = {}

    def append(self, sent: Sent, sequence: int) -> None:
        if sent.begins_segment and self.segments[-1]:
            self.segments.append([])
        self.epoch += sent.raises_epoch
        producer = (7, 0, sequence) if sent.is_of_producer else (-1, -1, -1)
        data = batch_at(
            self.end, sent.records, epoch=self.epoch, append_ms=self.now_ms, codec=sent.codec, producer=producer
        )
        self.segments[-1].append(data)
        self.sent.update(enumerate(sent.records, self.end))
        self.epochs.update(dict.fromkeys(range(self.end, self.end + len(sent.records)), self.epoch))
        self.end += len(sent.records)

    @property
    def batches(self) -> list[bytes]:
        return [data for segment in self.segments for data in segment]

    def compact(self, bytes_max: int, tombstones_go: bool, segments_max: int) -> None:
        sealed = self.segments[:-1]
        if not sealed:
            return
        latest = latest_in(sealed, begin=self.clean_end, bytes_max=bytes_max)
        terms = CompactionTerms(
            now_ms=self.now_ms,
            tombstones_met_before_ms=self.now_ms - TOMBSTONE_MS if tombstones_go else NEVER_MS,
            identities_kept_after_ms=self.now_ms - 100,
        )
        for number, segment in enumerate(sealed):
            if number == segments_max:
                return
            self.segments[number], _ = compacted(segment, latest, terms)
            for offset in remaining(segment):
                if offset < latest.end:
                    self.first_met_ms.setdefault(offset, self.now_ms)
        self.clean_end = latest.end


@given(st.lists(SENT, min_size=1, max_size=40), PASSES)
def test_the_latest_values_are_what_a_dict_says(
    sent: list[Sent], passes: list[tuple[int, int, int, bool, int]]
) -> None:
    log = Log()
    waiting = list(enumerate(sent))
    for count, bytes_max, elapsed_ms, tombstones_go, segments_max in passes:
        for sequence, each in waiting[:count]:
            log.append(each, sequence)
        del waiting[:count]
        log.now_ms += elapsed_ms
        before = remaining(log.batches)
        log.compact(bytes_max, tombstones_go, segments_max)
        _check(log, before)


def _check(log: Log, before: dict[int, Record]) -> None:
    left = remaining(log.batches)
    assert table(left) == table(log.sent)
    assert epochs_by_offset(log.batches) == log.epochs
    for data in log.batches:
        verify(data)
    for offset, record in left.items():
        assert record == log.sent[offset]
        assert offset in before, "what was removed came back"
    for offset, record in before.items():
        if offset in left or record.key is None:
            assert offset in left
            continue
        later = any(other > offset and each.key == record.key for other, each in log.sent.items())
        is_spent = record.is_tombstone and log.now_ms - log.first_met_ms[offset] >= TOMBSTONE_MS
        assert later or is_spent, f"{record} at {offset} was removed"


@given(st.lists(SENT, min_size=1, max_size=30))
def test_one_pass_over_all_leaves_the_last_of_each_key(sent: list[Sent]) -> None:
    log = Log()
    for sequence, each in enumerate(sent):
        log.append(each, sequence)
    log.segments.append([])
    log.now_ms = 1000
    log.compact(ALL_KEYS_BYTES, False, len(log.segments))
    last = {record.key: offset for offset, record in log.sent.items() if record.key is not None}
    keyless = {offset for offset, record in log.sent.items() if record.key is None}
    assert remaining(log.batches).keys() == {*last.values(), *keyless}
    for data in log.batches:
        assert read_header(data).producer_id == -1 or remaining([data])
