"""The cluster's events, read."""

import msgspec

from acklog.client.call import Bodies, target
from acklog.errors import AcklogError
from acklog.events import ClusterEvent
from acklog.streams.event_parser import ServerSentEvent
from acklog.streams.stream_reading import Names, StreamQuestion, checked_cursor, decoded, listed

RIGHTS_HAVE_CHANGED = frozenset({"rights", "token"})
"""What may be seen now is another part of the cluster: changes would not say all of it."""
_events = msgspec.json.Decoder(ClusterEvent)


class EventsReading:
    def __init__(self, question: StreamQuestion) -> None:
        self.question = question

    def decode(self, event: ServerSentEvent) -> ClusterEvent | None:
        if event.name not in {"snapshot", "changes"}:
            return None
        found = decoded(_events, event)
        found.cursor = event.event_id
        return found

    def bodies(self, found: object) -> Bodies:
        return []

    def hand_out(self, found: object) -> ClusterEvent | None:
        return found if isinstance(found, ClusterEvent) else None

    def failure(self, reason: str) -> AcklogError | None:
        return None


def events_question(
    *, kinds: Names | None, topics: Names | None, groups: Names | None, cursor: str | None
) -> StreamQuestion:
    """Raises InvalidArgument."""
    query = [("kinds", listed(kinds)), ("topics", listed(topics)), ("groups", listed(groups))]
    return StreamQuestion(target("/events", query), checked_cursor(cursor), RIGHTS_HAVE_CHANGED)
