"""What an SDK reads of a stream: server-sent events, however their bytes are cut, and what Acklog says by them."""

from acklog.errors import UnexpectedAnswer
from acklog.streams.event_parser import EventParser
from acklog.streams.events_reading import EventsReading
from acklog.streams.stream_reading import StreamQuestion
from acklog.streams.tail_reading import TailReading
from tests.fuzz.fuzz_target import FuzzTarget
from tests.support.naive_events import naive_events

_QUESTION = StreamQuestion("/")
_READINGS = (EventsReading(_QUESTION), TailReading("orders", _QUESTION, lambda gap: None))
_SEEDS = (
    b'event: message\nid: kq1ianNt\ndata: {"messageId":"m-1-0-1-0","queue":"orders","partition":0,"offset":0,'
    b'"body":{"a":1},"timestamp":1,"appendTime":1}\n\n:\n\n',
    b'event: gap\nid: a\ndata: {"reason":"removed","partition":0,"fromOffset":1,"nextOffset":2}\n\n',
    b'event: snapshot\r\nid: a-1\r\ndata: {"time":1,"first":true,"last":true,"nodes":[{"node":1}]}\r\n\r\n',
    b'event: changes\rid: a-2\rdata: {"time":1,"last":true,"removed":{"groups":[["g","t"]]}}\r\r',
    b"\xef\xbb\xbfdata: 1\ndata\nid: \0\nid\nretry: 5\n\nevent: end\ndata: {}\n\n",
)


def _read(data: bytes) -> None:
    whole = EventParser()
    found = whole.feed(data)
    assert (found, whole.last_id) == naive_events(data)
    for step in (1, 2, 7):
        cut = EventParser()
        pieces = [data[begin : begin + step] for begin in range(0, len(data), step)]
        assert [event for piece in pieces for event in cut.feed(piece)] == found, f"cut into {step} bytes each"
    for reading in _READINGS:
        for event in found:
            item = reading.decode(event)
            if item is not None:
                reading.hand_out(item)


TARGET = FuzzTarget(_read, (UnexpectedAnswer,), lambda: _SEEDS)
