"""Messages as commands show them. With --json they are what the API answers; here is what people see."""

from typing import TYPE_CHECKING

import msgspec

from acklog.command.printable import one_line
from acklog.command.times import ago_text, clock_text, duration_text
from acklog.command.views import Cell, Fields

if TYPE_CHECKING:
    from acklog.messages import Message, StoredMessage

BODY_SHOWN_CHARACTERS = 200


def body_line(message: "StoredMessage") -> str:
    """The body on one line: JSON with its line breaks as spaces, text as it is, other bytes as base64:..."""
    content = message.body_bytes
    if message.content_type is None:
        return content.decode(errors="replace").replace("\n", " ").replace("\r", " ")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return f"base64:{message.base64_body}"
    return text if one_line(text) == text else f"base64:{message.base64_body}"


def body_cell(message: "StoredMessage", *, characters_max: int = BODY_SHOWN_CHARACTERS) -> str:
    """The beginning of the body, for a table."""
    line = body_line(message)
    return line if len(line) <= characters_max else line[: characters_max - 1] + "…"


def place_text(message: "StoredMessage") -> str:
    """Where a message lies: `orders 3:17` is offset 17 of partition 3."""
    return f"{message.topic} {message.partition}:{message.offset}"


def stored_rows(message: "StoredMessage", now_ms: int) -> list[tuple[str, Cell | str]]:
    """What is known of a message, without its body."""
    rows: list[tuple[str, Cell | str]] = [("place", Cell(place_text(message), "name"))]
    if message.key is not None:
        rows.append(("key", message.key))
    rows.append(("stored", f"{clock_text(message.append_time_ms)} ({ago_text(message.append_time_ms, now_ms)})"))
    if message.expires_at_ms is not None:
        left_ms = message.expires_at_ms - now_ms
        left = f"in {duration_text(left_ms)}" if left_ms > 0 else ago_text(message.expires_at_ms, now_ms)
        rows.append(("expires", f"{clock_text(message.expires_at_ms)} ({left})"))
    if message.timestamp_ms != message.append_time_ms:
        rows.append(("timestamp", clock_text(message.timestamp_ms)))
    rows += [(f"header {name}", value) for name, value in message.headers.items()]
    if message.tags:
        rows.append(("tags", ", ".join(message.tags)))
    if message.content_type is not None:
        rows.append(("content type", message.content_type))
    return rows


def leased_document(message: "Message") -> dict[str, object]:
    """A message that was received, as the API has it: with its attempt, also the first."""
    return {**stored_document(message), "attempt": message.attempt}


def stored_document(message: "StoredMessage") -> dict[str, object]:
    """A message as the API has it, to add fields to. The body stays as it is, byte for byte."""
    return api_document(message)


def api_document(shown: msgspec.Struct) -> dict[str, object]:
    """What the API has answered, to add fields to: what it left out as it is the default is left out."""
    document: dict[str, object] = msgspec.json.decode(msgspec.json.encode(shown), type=dict[str, msgspec.Raw])
    return document


def leased_fields(message: "Message", now_ms: int) -> Fields:
    """A message that was received, with what is needed to settle it."""
    rows = stored_rows(message, now_ms)
    attempt = Cell(str(message.attempt), "warning" if message.attempt > 1 else "")
    rows += [("attempt", attempt), ("body", Cell(body_line(message), "strong"))]
    if message.receipt:
        rows.append(("receipt", Cell(message.receipt, "muted")))
    return Fields(rows, title=message.message_id)
