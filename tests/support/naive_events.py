"""Server-sent events as a reader of the standard takes them, who has all of a stream at once."""

from acklog.streams.event_parser import ServerSentEvent


def naive_events(content: bytes) -> tuple[list[ServerSentEvent], str]:
    """Line by line, of the whole. What stands behind the last end of a line has not come yet."""
    lines = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]
    found, last_id, said_id = [], "", ""
    name, data = "", None
    for line in lines:
        if not line:
            last_id = said_id
            if data is not None:
                found.append(ServerSentEvent(name or "message", data, last_id))
            name, data = "", None
            continue
        field, _colon, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"data":
            data = value if data is None else data + b"\n" + value
        if field == b"event":
            name = value.decode(errors="replace")
        if field == b"id" and b"\0" not in value:
            said_id = value.decode(errors="replace")
    return found, last_id
