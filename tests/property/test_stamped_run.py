"""A run of stamped batches is treated as one; the outcome is that of taking each batch for itself."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.wire.batch import BatchCorruptError, BatchHeader, verify
from storage.log.index import SegmentIndex
from storage.log.keys import LogKey
from storage.log.log_queue import LogQueue, Pending
from storage.log.log_settings import LogSettings
from storage.log.log_state import LogState
from storage.log.log_table import LogKind
from storage.log.recovery_points import RecoveryPoint
from storage.log.round import StampedPart
from storage.log.segment import Segment
from storage.log.stamped_run import StampedRun
from tests.support.log_harness import keyed_batch, opaque_batch, stamped

KEY = LogKey("alpha", 0, LogKind.MESSAGES)
BATCHES = st.lists(
    st.tuples(st.sampled_from([9, 16, 200, 700, 3000]), st.sampled_from([0, 0, 1, 5]), st.sampled_from([0, 0, 7])),
    min_size=1,
    max_size=25,
)


def make(batches: list[tuple[int, int, int]], *, base_offset: int = 0) -> list[bytes]:
    """Batches of (size, epochs that have passed, ms that have passed)."""
    made = []
    offset, epoch, time_ms = base_offset, 0, 0
    for serial, (size, epochs, passed_ms) in enumerate(batches):
        records = 1 if size == 9 else 1 + serial % 3
        batch = keyed_batch(serial) if size == 9 else opaque_batch(serial, records=records, size=size)
        epoch, time_ms = epoch + epochs, time_ms + passed_ms
        made.append(stamped(batch, base_offset=offset, leader_epoch=epoch, append_ms=time_ms))
        offset += records
    return made


def state_of(segment_bytes: int, interval_bytes: int) -> LogState:
    settings = LogSettings(segment_bytes=segment_bytes, index_interval_bytes=interval_bytes)
    state = LogState(KEY, settings, RecoveryPoint())
    state.add_segment(Segment(KEY.directory, 0))
    return state


def note_one_by_one(state: LogState, headers: list[BatchHeader]) -> None:
    for header in headers:
        size = state.active.size_bytes
        if size and size + header.length > state.settings.segment_bytes:
            state.add_segment(Segment(KEY.directory, header.base_offset))
        state.note_batch(
            base_offset=header.base_offset,
            next_offset=header.next_offset,
            epoch=header.leader_epoch,
            append_ms=header.append_time_ms,
            length=header.length,
            is_keyed=header.is_keyed,
        )


def rows(index: SegmentIndex | None) -> list[tuple[int, int, int]]:
    assert index is not None
    return list(zip(index.offsets, index.positions, index.times_ms, strict=True))


def figures(state: LogState) -> list[object]:
    return [
        (
            segment.path,
            segment.end_offset,
            segment.size_bytes,
            segment.first_append_ms,
            segment.last_append_ms,
            segment.last_keyed_ms,
            rows(segment.index),
        )
        for segment in state.segments
    ] + [state.last_append_ms, state.epochs.entries(), state.epochs.log_end]


class NobodyWaits:
    def done(self) -> bool:
        return True

    def set_result(self, result: object, /) -> None: ...

    def set_exception(self, exception: BaseException, /) -> None: ...


@given(
    batches=BATCHES,
    cuts=st.lists(st.integers(0, 25), max_size=4),
    rounds=st.booleans(),
    segment_bytes=st.sampled_from([1, 300, 1000, 4000, 1 << 20]),
    interval_bytes=st.sampled_from([1, 200, 1000, 4096]),
)
@settings(max_examples=150, deadline=None)
def test_segments_indexes_and_epochs_are_those_of_single_batches(
    batches: list[tuple[int, int, int]], cuts: list[int], rounds: bool, segment_bytes: int, interval_bytes: int
) -> None:
    made = make(batches)
    expected = state_of(segment_bytes, interval_bytes)
    note_one_by_one(expected, [verify(batch) for batch in made])

    state = state_of(segment_bytes, interval_bytes)
    queue = LogQueue(state)
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < len(made)}), len(made)]
    part = StampedPart(queue)
    written = b""
    for first, end in itertools.pairwise(bounds):
        run = StampedRun(b"".join(made[first:end]))
        part.add(Pending(queue, run.data, run.end_offset - run.base_offset, 0, 0, NobodyWaits(), run))
        if rounds or end == len(made):
            written += b"".join(bytes(buffer) for write in part.writes for buffer in write.buffers)
            part.publish()
            part = StampedPart(queue)
    assert written == b"".join(made)
    assert figures(state) == figures(expected)


@given(batches=BATCHES, base_offset=st.integers(0, 1 << 40))
@settings(max_examples=50, deadline=None)
def test_what_is_read_is_what_the_headers_say(batches: list[tuple[int, int, int]], base_offset: int) -> None:
    made = make(batches, base_offset=base_offset)
    headers = [verify(batch) for batch in made]
    run = StampedRun(b"".join(made))
    assert len(run) == len(made)
    assert [run.offset_of(n) for n in range(len(run) + 1)] == [*(h.base_offset for h in headers), run.end_offset]
    assert [run.append_ms_of(n) for n in range(len(run))] == [h.append_time_ms for h in headers]
    assert (run.base_offset, run.end_offset) == (headers[0].base_offset, headers[-1].next_offset)
    assert (run.first_epoch, run.last_epoch) == (headers[0].leader_epoch, headers[-1].leader_epoch)
    assert run.last_append_ms == headers[-1].append_time_ms
    assert run.keyed == [n for n, header in enumerate(headers) if header.is_keyed]
    assert b"".join(bytes(run.part(n, n + 1)) for n in range(len(run))) == run.data


@given(batches=BATCHES, place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_one_changed_byte_anywhere_is_found(batches: list[tuple[int, int, int]], place: float, flip: int) -> None:
    run = bytearray(b"".join(make(batches)))
    run[int(place * len(run))] ^= flip
    with pytest.raises(BatchCorruptError):
        StampedRun(run)


@given(batches=BATCHES, length=st.floats(0, 1, exclude_max=True))
@settings(max_examples=50, deadline=None)
def test_a_run_that_is_cut_off_is_found_unless_whole_batches_are_left(
    batches: list[tuple[int, int, int]], length: float
) -> None:
    made = make(batches)
    run = b"".join(made)
    cut = run[: int(length * len(run))]
    ends = [sum(map(len, made[:n])) for n in range(len(made))]
    if len(cut) in ends[1:]:
        assert len(StampedRun(cut)) == ends.index(len(cut))
    else:
        with pytest.raises(ValueError, match=r"\w"):
            StampedRun(cut)
