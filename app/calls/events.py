"""What a watcher of the cluster asks for."""

from dataclasses import dataclass

from app.events.thing import ThingKind

NAMES_WATCHED_MAX = 100
EVENT_ID_LENGTH_MAX = 100


@dataclass(frozen=True, slots=True)
class EventsCommand:
    """`topics` and `groups` empty: all. `event_id` is that of the event behind which to go on, "" to begin."""

    kinds: frozenset[ThingKind]
    topics: frozenset[str]
    groups: frozenset[str]
    event_id: str
