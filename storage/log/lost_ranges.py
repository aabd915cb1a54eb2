"""What is missing altogether in a log: whole segments, and ends of segments that recovery found no batch in."""

from typing import NamedTuple

from storage.log.log_state import LogState
from storage.log.segment import NO_TIME, Segment


class LostRange(NamedTuple):
    """Nothing is known of the batches from `first` up to `end`, exclusive, but that they were appended at `latest_ms`
    at the latest."""

    first: int
    end: int
    latest_ms: int


def lost_ranges(state: LogState, *, opened_ms: int) -> list[LostRange]:
    """In order. Append times never fall, so what stands behind such a range bounds its time; where nothing does, the
    time at which the log was opened. What retention removed is before the log's start, and not lost."""
    ranges: list[LostRange] = []
    expected = state.log_start
    for number, segment in enumerate(state.segments):
        if segment.base_offset > expected:
            latest_ms = _first_append_ms(state.segments, number)
            if latest_ms == NO_TIME:
                latest_ms = max(opened_ms, state.last_append_ms)
            ranges.append(LostRange(expected, segment.base_offset, latest_ms))
        expected = segment.end_offset
    return ranges


def _first_append_ms(segments: list[Segment], number: int) -> int:
    """Of what is there from the segment `number` on."""
    return next((each.first_append_ms for each in segments[number:] if each.first_append_ms != NO_TIME), NO_TIME)
