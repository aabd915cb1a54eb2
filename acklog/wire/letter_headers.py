"""The headers by which dead letters, and messages that were sent back, say what they were before."""

PREFIX = "acklog-dead-letter-"
MESSAGE_ID = f"{PREFIX}message-id"
"""Of the message that died."""
SOURCE = f"{PREFIX}topic"
"""The name of its topic."""
FIRST_ID = "acklog-first-id"
"""The messageId or scheduleId of the message that it was first of all, where no other header says so: it was to be seen
later, has died before, or was sent back. Unlike the others it goes with the message wherever that is sent."""


def first_id_of(headers: dict[str, str] | None) -> str:
    """ "" where the message has always been this one, as far as it says."""
    if headers is None:
        return ""
    return headers.get(FIRST_ID) or headers.get(MESSAGE_ID, "")
