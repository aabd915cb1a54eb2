"""A topic's tail, read: its messages, and the gaps between them."""

import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from acklog.client.call import Bodies, segment, target
from acklog.errors import AcklogError, DecryptionFailed, InvalidArgument, TooManyPartitions, TopicRemoved
from acklog.stored_body import keep_unreadable
from acklog.streams.event_parser import ServerSentEvent
from acklog.streams.stream_reading import Names, StreamQuestion, checked_cursor, decoded, listed
from acklog.tails import TailGap, TailMessage

OnGap = Callable[[TailGap], None]
_logger = logging.getLogger("acklog.streams")
_messages = msgspec.json.Decoder(TailMessage)
_gaps = msgspec.json.Decoder(TailGap)


class TailReading:
    """`on_gap` is told of gaps, each behind all messages that came before it. Without one they are logged."""

    def __init__(self, topic: str, question: StreamQuestion, on_gap: OnGap | None) -> None:
        self.question = question
        self._topic = topic
        self._on_gap = on_gap

    def decode(self, event: ServerSentEvent) -> TailMessage | TailGap | None:
        if event.name == "message":
            message = decoded(_messages, event)
            message.__dict__["cursor"] = event.event_id
            return message
        return decoded(_gaps, event) if event.name == "gap" else None

    def bodies(self, found: object) -> Bodies:
        from acklog.body_encryption.envelope import ENCRYPTED_TYPE

        if not isinstance(found, TailMessage):
            return []
        if found.is_truncated and found.content_type == ENCRYPTED_TYPE:
            detail = f"only the beginning of an encrypted body of {found.whole_body_bytes} bytes was asked for"
            keep_unreadable(found, DecryptionFailed(detail))
            return []
        return [(found.topic, found)]

    def hand_out(self, found: object) -> TailMessage | None:
        if isinstance(found, TailMessage):
            return found
        if isinstance(found, TailGap):
            if self._on_gap is None:
                _logger.warning("the tail of %s has a gap: %s", self._topic, found)
            else:
                self._on_gap(found)
        return None

    def failure(self, reason: str) -> AcklogError | None:
        if reason == "topicRemoved":
            return TopicRemoved(f"the topic {self._topic!r} was deleted")
        if reason == "partitions":
            detail = f"the topic {self._topic!r} has grown beyond what one stream reads: name partitions"
            return TooManyPartitions(detail)
        return None


def tail_question(
    topic: str,
    *,
    from_: str | None,
    time_ms: int | None,
    offsets: Mapping[int, int] | None,
    partitions: Sequence[int] | None,
    cursor: str | None,
    tags: Names | None,
    message_filter: str | None,
    max_body_bytes: int | None,
    max_per_second: int | None,
) -> StreamQuestion:
    """Raises InvalidArgument."""
    if cursor and (from_ is not None or time_ms is not None or offsets):
        raise InvalidArgument("says where to begin, as from_, time_ms and offsets do: give one", field="cursor")
    query: list[tuple[str, object | None]] = [
        ("from", from_),
        ("time", time_ms),
        *(("offset", f"{partition}:{offset}") for partition, offset in (offsets or {}).items()),
        *(("partition", partition) for partition in partitions or ()),
        ("tags", listed(tags)),
        ("filter", message_filter),
        ("maxBodyBytes", max_body_bytes),
        ("maxPerSecond", max_per_second),
    ]
    return StreamQuestion(target(f"/topics/{segment(topic)}/tail", query), checked_cursor(cursor))
