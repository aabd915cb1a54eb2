"""What `GET /events` takes."""

from typing import cast

from acklog.wire.limits import NAME_LENGTH_MAX
from app.calls.events import EVENT_ID_LENGTH_MAX, NAMES_WATCHED_MAX, EventsCommand
from app.calls.names import check_name
from app.events.thing import ThingKind
from app.http.parsing import query

_KINDS = tuple(kind.value for kind in ThingKind)
_LIST_LENGTH_MAX = NAMES_WATCHED_MAX * (NAME_LENGTH_MAX + 1)


def _parse_kinds(text: str) -> frozenset[ThingKind]:
    try:
        return frozenset(map(ThingKind, text.split(",")))
    except ValueError:
        raise ValueError(f"must be some of {', '.join(_KINDS)}, with commas between them") from None


def _names(name: str, description: str) -> query.Parameter:
    def parse(text: str) -> frozenset[str]:
        names = frozenset(text.split(","))
        if not all(names) or len(names) > NAMES_WATCHED_MAX:
            raise ValueError(f"must be 1 to {NAMES_WATCHED_MAX} names with commas between them")
        return names

    schema: dict[str, object] = {"type": "string", "minLength": 1, "maxLength": _LIST_LENGTH_MAX}
    return query.Parameter(name, parse, schema, description)


EVENTS_QUERY = query.QueryTable(
    (
        query.Parameter(
            "kinds",
            _parse_kinds,
            {"type": "string", "minLength": 1, "example": "topics,groups"},
            f"only these, separated by commas: {', '.join(_KINDS)}",
        ),
        _names("topics", f"only what concerns these topics, up to {NAMES_WATCHED_MAX}, separated by commas"),
        _names("groups", f"only these groups, up to {NAMES_WATCHED_MAX}, separated by commas"),
        query.text("cursor", EVENT_ID_LENGTH_MAX, "go on behind the event of this id, as with Last-Event-ID"),
    )
)


def parse_events(query_string: bytes, last_event_id: str | None) -> EventsCommand:
    """`last_event_id` is the header of that name, which counts before the parameter. Raises ServerError."""
    arguments = EVENTS_QUERY.parse(query_string)
    kinds = cast("frozenset[ThingKind] | None", arguments.value("kinds"))
    topics = cast("frozenset[str] | None", arguments.value("topics")) or frozenset()
    groups = cast("frozenset[str] | None", arguments.value("groups")) or frozenset()
    for name in sorted(topics):
        check_name(name, field="topics")
    for name in sorted(groups):
        check_name(name, field="groups")
    event_id = last_event_id or arguments.text("cursor") or ""
    return EventsCommand(frozenset(ThingKind) if kinds is None else kinds, topics, groups, event_id)
