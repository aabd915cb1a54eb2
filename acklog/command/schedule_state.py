"""What became of a message that was sent for later: in words, and what one can do about it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from acklog.command.explanation import Explanation
from acklog.command.printable import printable
from acklog.command.times import ago_text, clock_text, duration_text
from acklog.command.views import Cell, Fields, Style

if TYPE_CHECKING:
    from acklog.scheduled import ScheduledMessage

NAME_HEADER = "acklog-schedule"
TIME_HEADER = "acklog-schedule-time"
_STYLES: dict[str, Style] = {"scheduled": "warning", "delivered": "good", "cancelled": "muted"}


def explain_schedule(message: "ScheduledMessage", now_ms: int) -> Explanation:
    """What the state of a message for later means."""
    named = f"{message.topic} {message.schedule_id}"
    if message.state == "scheduled":
        return _pending(message, named, now_ms)
    if message.state == "delivered":
        return Explanation(
            f"Delivered: it was due, and is the message {message.message_id} now.",
            "What groups do with it goes by that message.",
            f"See what each group has done: acklog why {message.message_id}",
        )
    if message.state == "cancelled":
        return Explanation(
            "Cancelled before it was due.",
            "Nobody gets it.",
            "If it is wanted after all, send it again: a cancelled one does not come back.",
        )
    return Explanation(f"In the state {message.state}.", "", "This command is older than the server: update it.")


def recurring_rows(headers: Mapping[str, str], topic: str) -> list[tuple[str, Cell | str]]:
    """Of which recurring schedule a message is, and for which time; nothing where it is of none."""
    name = headers.get(NAME_HEADER)
    if name is None:
        return []
    for_time = f", for {headers[TIME_HEADER]}" if TIME_HEADER in headers else ""
    return [("recurring", f"of the schedule {name}{for_time}: acklog schedule show {topic} {name}")]


def schedule_fields(message: "ScheduledMessage", explanation: Explanation, now_ms: int) -> Fields:
    """`message` as it was asked for by its id."""
    rows: list[tuple[str, Cell | str]] = [
        ("place", Cell(f"{message.topic} {message.partition}", "name")),
        ("state", Cell(message.state, _STYLES.get(message.state, ""))),
        ("what", explanation.what),
    ]
    if explanation.then:
        rows.append(("then", explanation.then))
    rows += recurring_rows(message.headers, message.topic)
    if message.key is not None:
        rows.append(("key", message.key))
    if message.ttl_seconds is not None:
        rows.append(("delivered for", duration_text(round(message.ttl_seconds * 1000))))
    if message.body is not None:
        rows.append(("body", Cell(printable(str(message.body)), "strong")))
    rows.append(("to do", explanation.do))
    return Fields(rows, title=message.schedule_id)


def _pending(message: "ScheduledMessage", named: str, now_ms: int) -> Explanation:
    at_ms = message.deliver_at_ms or 0
    if at_ms > now_ms:
        return Explanation(
            f"Pending until {clock_text(at_ms)} (in {duration_text(at_ms - now_ms)}).",
            "Then it is stored as a message, and groups get it; until then it has no message id and no offset.",
            f"Change when: acklog schedule move {named} --delay SECONDS. Or drop it: acklog schedule cancel {named}",
        )
    return Explanation(
        f"Due since {clock_text(at_ms)} ({ago_text(at_ms, now_ms)}), and not seen as delivered yet.",
        "Its partition's leader stores it as a message as soon as it can.",
        "It takes moments. If it stays so: acklog doctor",
    )
