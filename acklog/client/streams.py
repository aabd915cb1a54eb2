"""The streams of the client without `await`: a part of `Client`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acklog.client.async_streams import AsyncStreams
from acklog.client.background import Background
from acklog.wire.limits import MESSAGE_BODY_BYTES_MAX

if TYPE_CHECKING:
    from typing import Unpack

    from acklog.events import ClusterEvent
    from acklog.streams.stream import SyncStream
    from acklog.streams.stream_reading import Names
    from acklog.streams.stream_settings import StreamOptions
    from acklog.streams.tail_reading import OnGap
    from acklog.tails import TailMessage


class Streams(ABC):
    _background: Background

    @property
    @abstractmethod
    def _async(self) -> AsyncStreams: ...

    def events(
        self,
        *,
        kinds: "Names | None" = None,
        topics: "Names | None" = None,
        groups: "Names | None" = None,
        cursor: str | None = None,
        **settings: "Unpack[StreamOptions]",
    ) -> "SyncStream[ClusterEvent]":
        """How the cluster is, and what changes, as it does; `acklog.cluster_picture` puts it together. Goes on by
        itself after a break.

        `kinds` are some of totals, topics, groups, nodes and partitions; `topics` and `groups` name those that are of
        interest. With the `cursor` of an event it goes on behind that one, or begins anew where the server does not
        know it any more. `settings` are those of `StreamSettings`. Raises InvalidArgument; iterating raises Forbidden,
        TooManyWatchers and their like.
        """
        from acklog.streams.events_reading import EventsReading, events_question
        from acklog.streams.stream import SyncStream
        from acklog.streams.stream_settings import StreamSettings

        question = events_question(kinds=kinds, topics=topics, groups=groups, cursor=cursor)
        reading = EventsReading(question)
        return SyncStream(self._background, lambda: self._async.caller, reading, StreamSettings(**settings))

    def tail(
        self,
        topic: str,
        *,
        from_: str | None = None,
        time_ms: int | None = None,
        offsets: Mapping[int, int] | None = None,
        partitions: Sequence[int] | None = None,
        cursor: str | None = None,
        tags: "Names | None" = None,
        message_filter: str | None = None,
        max_body_bytes: int = MESSAGE_BODY_BYTES_MAX,
        max_per_second: int | None = None,
        on_gap: "OnGap | None" = None,
        **settings: "Unpack[StreamOptions]",
    ) -> "SyncStream[TailMessage]":
        """The topic's messages as they come: no group, no lease, nothing to acknowledge. Goes on by itself after a
        break, exactly where it was.

        It begins with what comes from now on; else `from_` "earliest", with what was appended at `time_ms`, at
        `offsets` by partition, or behind the `cursor` of a message. `partitions` are all of them, unless they are
        named. Only messages with one of the `tags`, or that match `message_filter`, are given; of a body no more than
        `max_body_bytes`; and a second no more than `max_per_second` (None: 1,000). `on_gap` is told of messages that
        are not there any more, in turn; without one they are logged. `settings` are those of `StreamSettings`.

        Raises InvalidArgument; iterating raises TopicNotFound, TopicRemoved, TooManyPartitions, Forbidden,
        InvalidFilter, TooManyWatchers and their like.
        """
        from acklog.streams.stream import SyncStream
        from acklog.streams.stream_settings import StreamSettings
        from acklog.streams.tail_reading import TailReading, tail_question

        question = tail_question(
            topic,
            from_=from_,
            time_ms=time_ms,
            offsets=offsets,
            partitions=partitions,
            cursor=cursor,
            tags=tags,
            message_filter=message_filter,
            max_body_bytes=max_body_bytes,
            max_per_second=max_per_second,
        )
        reading = TailReading(topic, question, on_gap)
        return SyncStream(self._background, lambda: self._async.caller, reading, StreamSettings(**settings))
