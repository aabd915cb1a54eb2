"""Server-sent events as bytes."""

COMMENT = b":\n\n"


def event(name: str, data: bytes, event_id: str = "") -> bytes:
    """`data` is one line."""
    identity = f"id: {event_id}\n" if event_id else ""
    return b"event: %b\n%bdata: %b\n\n" % (name.encode(), identity.encode(), data)
