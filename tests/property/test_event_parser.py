"""Server-sent events are the same however their bytes are cut, and what a reader of the standard, letter by letter,
makes of them."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acklog.errors import UnexpectedAnswer
from acklog.streams.event_parser import EventParser, ServerSentEvent
from tests.support.naive_events import naive_events

PIECES = st.sampled_from(
    [
        b"data",
        b"event",
        b"id",
        b"retry",
        b":",
        b": ",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b"x",
        b"\x00",
        b"data: {}\n\n",
        b"id: 7\n",
        b":\n\n",
        b"\xef\xbb\xbf",
        "é\u2028".encode(),
        b"\xff",
        b"event: end\n",
    ]
)
STREAMS = st.lists(PIECES, max_size=40).map(b"".join)


def cut(content: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(content) + 1) for place in places), len(content)]
    return [content[begin:end] for begin, end in itertools.pairwise(bounds)]


def feed_all(parser: EventParser, pieces: list[bytes]) -> list[ServerSentEvent]:
    return [event for piece in pieces for event in parser.feed(piece)]


@given(content=STREAMS, places=st.lists(st.integers(0, 1_000), max_size=8))
@example(content=b"data: 1\r\n\r\n", places=[8, 10])
@example(content=b"\xef\xbb\xbfdata: 1\n\n", places=[1, 2])
@example(content=b"data: 1\r\rdata: 2\r\r", places=[8, 9])
def test_any_cut_gives_what_the_standard_says(content: bytes, places: list[int]) -> None:
    parser = EventParser()
    found = feed_all(parser, cut(content, places))
    assert (found, parser.last_id) == naive_events(content)


@given(content=STREAMS)
def test_byte_by_byte(content: bytes) -> None:
    parser = EventParser()
    found = [event for number in range(len(content)) for event in parser.feed(content[number : number + 1])]
    assert (found, parser.last_id) == naive_events(content)


def test_an_id_holds_for_the_events_behind_it_also_that_of_the_connection_before() -> None:
    parser = EventParser("5")
    events = parser.feed(b"data: a\n\nid: 6\ndata: b\n\ndata: c\n\nid\ndata: d\n\n")
    assert [event.event_id for event in events] == ["5", "6", "6", ""]


@pytest.mark.parametrize("kind", [b"data: %b\n", b": %b\n", b"%b", b"id: %b\n"])
def test_an_event_has_a_limit_and_what_stands_at_it_is_read(kind: bytes) -> None:
    fits = kind % (b"x" * (100 - len((kind % b"").rstrip(b"\n"))))
    assert len(fits.rstrip(b"\n")) == 100
    EventParser(event_bytes_max=100).feed(fits)
    for pieces in ([fits, b"x"], [fits[:50], fits[50:] + b"x"], [fits.replace(b"x", b"xx", 1)]):
        parser = EventParser(event_bytes_max=100)
        with pytest.raises(UnexpectedAnswer, match="more than 100 bytes"):
            feed_all(parser, pieces)


def test_the_limit_is_of_each_event_and_not_of_all() -> None:
    parser = EventParser(event_bytes_max=100)
    events = parser.feed((b"data: %b\n\n" % (b"x" * 90)) * 50 + b": %b\n\n" % (b"x" * 90))
    assert len(events) == 50
