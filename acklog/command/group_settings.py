"""A group's settings: as options of `acklog groups create` and `update`, and as they are shown."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from acklog.command.failures import UsageError
from acklog.command.group_members import members_text
from acklog.command.group_pauses import paused_text
from acklog.command.group_retries import backoff_text
from acklog.command.group_sharing import fair_by_text, in_flight_text
from acklog.command.quantities import count_text, parse_duration_ms
from acklog.command.quotas import group_quota_rows
from acklog.command.times import ago_text, duration_text
from acklog.command.views import Cell, Fields
from acklog.wire.limits import IN_FLIGHT_MAX, MAX_ATTEMPTS_MAX

if TYPE_CHECKING:
    from acklog.catalog import Group, GroupChanges, GroupSettings
    from acklog.consumer.source import Mode

MODES = ("shared", "keyOrdered", "exclusive")
ASSIGNORS = ("sticky", "range", "roundRobin", "lag")
START_POSITIONS = ("earliest", "latest")
ON_EXHAUSTED = ("deadLetter", "retry", "block")
_INSTEAD_OF_LETTERS = {"block": "none: it blocks", "retry": "none: it tries again for ever"}
ON_EXPIRED = ("skip", "deadLetter")
ON_MISSING_POSITION = ("start", "refuse")

StartOption = Annotated[
    str | None,
    typer.Option("--start", metavar="WHERE", help="Where it begins in a topic: earliest or latest."),
]
OnMissingPositionOption = Annotated[
    str | None,
    typer.Option(
        "--on-missing-position",
        metavar="WHAT",
        help="Where it has no position, or retention overtook it: start, or refuse until somebody says where.",
    ),
]
VisibilityOption = Annotated[
    str | None, typer.Option("--visibility", metavar="DURATION", help="How long a message is leased: 30s, 5m.")
]
AttemptsOption = Annotated[
    int | None,
    typer.Option(
        "--max-attempts", metavar="COUNT", min=1, max=MAX_ATTEMPTS_MAX, help="Attempts before a message is dead."
    ),
]
OnExhaustedOption = Annotated[
    str | None,
    typer.Option("--on-exhausted", metavar="WHAT", help="Then: deadLetter, retry, or (in groups with an order) block."),
]
OnExpiredOption = Annotated[
    str | None,
    typer.Option("--on-expired", metavar="WHAT", help="When a message's time to live is over: skip or deadLetter."),
]
DeadLettersOption = Annotated[
    str | None,
    typer.Option("--dead-letters", metavar="TOPIC", help="Where dead letters go; '': the default [TOPIC.GROUP.dlq]."),
]
InFlightOption = Annotated[
    int | None,
    typer.Option(
        "--max-in-flight", metavar="COUNT", min=1, max=IN_FLIGHT_MAX, help="Messages leased at a time per partition."
    ),
]
FilterOption = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="FILTER",
        help='Which messages it wants: \'tag in ("a", "b") and header.x = "y"\'; \'\': all.',
    ),
]
CallFilterOption = Annotated[
    str | None,
    typer.Option("--filter", metavar="FILTER", help='Only what matches: \'tag = "a" and key like "user-%"\'.'),
]
ModeOption = Annotated[
    str | None,
    typer.Option("--mode", metavar="MODE", help="How it shares a topic: shared, keyOrdered, exclusive. Never changes."),
]
SessionTimeoutOption = Annotated[
    str | None,
    typer.Option("--session-timeout", metavar="DURATION", help="How long a member may be silent (exclusive groups)."),
]
RebalanceTimeoutOption = Annotated[
    str | None,
    typer.Option(
        "--rebalance-timeout", metavar="DURATION", help="How long a partition's next owner waits (exclusive groups)."
    ),
]
AssignorOption = Annotated[
    str | None,
    typer.Option("--assignor", metavar="NAME", help="sticky, range, roundRobin or lag (exclusive groups)."),
]


def delivery_changes(
    start: str | None,
    visibility: str | None,
    max_attempts: int | None,
    dead_letters: str | None,
    max_in_flight: int | None,
    on_exhausted: str | None,
) -> "GroupChanges":
    """What the options name. Raises UsageError."""
    changes: GroupChanges = {}
    if start is not None:
        if start not in START_POSITIONS:
            hint = f"It may be {' or '.join(START_POSITIONS)}."
            raise UsageError(f"{start!r} is no place to begin at", field="--start", hint=hint)
        changes["start_position"] = start
    if visibility is not None:
        changes["visibility_ms"] = parse_duration_ms(visibility, field="--visibility")
    if max_attempts is not None:
        changes["max_attempts"] = max_attempts
    if dead_letters is not None:
        changes["dead_letter_topic"] = dead_letters or None
    if max_in_flight is not None:
        changes["max_in_flight"] = max_in_flight
    if on_exhausted is not None:
        changes["on_exhausted"] = one_of(ON_EXHAUSTED, on_exhausted, field="--on-exhausted")
    return changes


def position_changes(on_missing_position: str | None) -> "GroupChanges":
    """What the option names. Raises UsageError."""
    if on_missing_position is None:
        return {}
    return {"on_missing_position": one_of(ON_MISSING_POSITION, on_missing_position, field="--on-missing-position")}


def filter_changes(text: str | None) -> "GroupChanges":
    """What the option names."""
    return {} if text is None else {"filter": text or None}


def expiry_changes(on_expired: str | None) -> "GroupChanges":
    """What the option names. Raises UsageError."""
    return {} if on_expired is None else {"on_expired": one_of(ON_EXPIRED, on_expired, field="--on-expired")}


def member_changes(session_timeout: str | None, rebalance_timeout: str | None, assignor: str | None) -> "GroupChanges":
    """What the options name of an exclusive group's members. Raises UsageError."""
    changes: GroupChanges = {}
    if session_timeout is not None:
        changes["session_timeout_ms"] = parse_duration_ms(session_timeout, field="--session-timeout")
    if rebalance_timeout is not None:
        changes["rebalance_timeout_ms"] = parse_duration_ms(rebalance_timeout, field="--rebalance-timeout")
    if assignor is not None:
        changes["assignor"] = one_of(ASSIGNORS, assignor, field="--assignor")
    return changes


def receive_mode(mode: str | None, consumer: str | None) -> "Mode | None":
    """As whom to receive. Raises UsageError."""
    if mode is None:
        return None
    if mode == "exclusive" and consumer is None:
        raise UsageError("a member of an exclusive group has a name", field="--consumer", hint="Give --consumer NAME.")
    one_of(MODES, mode, field="--mode")
    return cast("Mode", mode)


def one_of(values: tuple[str, ...], given: str, *, field: str) -> str:
    """Raises UsageError."""
    if given not in values:
        hint = f"It may be {', '.join(values[:-1])} or {values[-1]}."
        raise UsageError(f"{given!r} is not known", field=field, hint=hint)
    return given


def settings_fields(group: "Group", now_ms: int) -> Fields:
    """For people."""
    settings = group.settings
    return Fields(
        [
            ("group", Cell(group.name, "name")),
            ("mode", group.mode),
            ("begins at", _begins_at(settings)),
            ("lease", duration_text(settings.visibility_ms)),
            ("filter", settings.filter or "none: every message"),
            ("attempts", count_text(settings.max_attempts)),
            ("back-off", backoff_text(settings)),
            ("dead letters", _dead_letters(group)),
            ("expired", "to the dead letters" if settings.on_expired == "deadLetter" else "passed over"),
            ("in flight", in_flight_text(settings)),
            *group_quota_rows(settings),
            *_of_mode(group),
            ("paused", paused_text(group, now_ms)),
            ("created", ago_text(group.created_at_ms, now_ms)),
        ]
    )


def _begins_at(settings: "GroupSettings") -> str:
    if settings.on_missing_position == "refuse":
        return "nothing, until a seek or a commit says where; nor goes on where retention overtook it"
    return settings.start_position


def _of_mode(group: "Group") -> list[tuple[str, Cell | str]]:
    """What groups of other modes do not have."""
    settings = group.settings
    if group.mode == "shared":
        return [("fair by", fair_by_text(settings))]
    if group.mode == "exclusive":
        return [
            ("members", members_text(group)),
            ("session", f"ends after {duration_text(settings.session_timeout_ms)} of silence"),
            ("hand-over", f"waits {duration_text(settings.rebalance_timeout_ms)} for what is leased, at most"),
            ("assignor", settings.assignor),
        ]
    return []


def _dead_letters(group: "Group") -> str:
    instead = _INSTEAD_OF_LETTERS.get(group.settings.on_exhausted)
    if instead is not None and group.settings.on_expired != "deadLetter":
        return instead
    default = f"TOPIC.{group.name}.dlq"
    chosen, sources = group.settings.dead_letter_topic, group.dead_letter_sources
    if chosen is None or sources is None:
        return chosen or default
    return f"{chosen}, of topics {', '.join(sources)}; else {default}"
