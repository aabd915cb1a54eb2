"""What was sent, as commands show it."""

from typing import TYPE_CHECKING

from acklog.command.output import Output
from acklog.command.times import clock_text
from acklog.command.views import Cell, Fields, Sentence, View

if TYPE_CHECKING:
    from acklog.messages import Sent


def name_of(sent: "Sent") -> str:
    """By which the message is found: one that is to be seen later has no message id yet. Empty with acks 0."""
    return sent.message_id or sent.schedule_id or ""


def document_of(sent: "Sent") -> dict[str, object]:
    """As the API says it."""
    place: dict[str, object] = {"messageId": sent.message_id, "partition": sent.partition, "offset": sent.offset}
    return (
        place if sent.schedule_id is None else place | {"scheduleId": sent.schedule_id, "deliverAt": sent.deliver_at_ms}
    )


def sent_views(output: Output, topic: str, sent: "Sent") -> list[View]:
    """To a person; to a pipe, what it goes by."""
    name = name_of(sent)
    if not output.is_terminal:
        return [Sentence(name)]
    if sent.schedule_id is not None:
        due = "" if sent.deliver_at_ms is None else clock_text(sent.deliver_at_ms)
        return [Fields([("scheduled", Cell(name, "good")), ("due", due), ("topic", topic)])]
    place = Cell(f"{topic} {sent.partition}:{sent.offset}", "name")
    return [Fields([("stored", Cell(name, "good")), ("place", place)])]
