"""What a kind of stream asks for, and what becomes of its events: the port of those who read one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import msgspec

from acklog.client.call import Bodies, Request
from acklog.errors import AcklogError, InvalidArgument, UnexpectedAnswer
from acklog.streams.event_parser import ServerSentEvent

CURSOR_LENGTH_MAX = 4_096
EVENT_STREAM = "text/event-stream"
Names = str | Sequence[str]
Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)
_Data = TypeVar("_Data")


@dataclass(frozen=True, slots=True)
class StreamQuestion:
    """`begins_anew_after` are reasons of an end behind which what was told before does not count any more."""

    target: str
    cursor: str = ""
    begins_anew_after: frozenset[str] = field(default=frozenset())

    def request(self, last_id: str) -> Request:
        """To go on behind that event, "" for none."""
        headers = {"Accept": EVENT_STREAM, "Cache-Control": "no-store"}
        return Request("GET", self.target, headers={**headers, "Last-Event-ID": last_id} if last_id else headers)


class Reading(Protocol[Item_co]):
    """Of one stream. What comes is decoded, then its bodies are decrypted, then it is handed out, in turn."""

    @property
    def question(self) -> StreamQuestion: ...

    def decode(self, event: ServerSentEvent) -> object | None:
        """None for what says nothing but where the stream is. Raises UnexpectedAnswer."""
        ...

    def bodies(self, found: object) -> Bodies:
        """Those that have to be decrypted."""
        ...

    def hand_out(self, found: object) -> Item_co | None:
        """What the program gets of it; None where it is told by other ways."""
        ...

    def failure(self, reason: str) -> AcklogError | None:
        """What an end for this reason means; None where the stream is to be asked for again."""
        ...


def decoded(decoder: "msgspec.json.Decoder[_Data]", event: ServerSentEvent) -> _Data:
    """Raises UnexpectedAnswer."""
    try:
        return decoder.decode(event.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnexpectedAnswer(f"an event {event.name!r} of the stream is not Acklog's: {error}") from error


def checked_cursor(cursor: str | None) -> str:
    """Raises InvalidArgument for what cannot be one."""
    text = cursor or ""
    if len(text) > CURSOR_LENGTH_MAX or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidArgument("is no cursor of a stream", field="cursor")
    return text


def listed(names: Names | None) -> str | None:
    """As a query has them. A server refuses an empty list: it would mean all of them."""
    return names if names is None or isinstance(names, str) else ",".join(names)
