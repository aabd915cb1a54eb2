"""The headers by which dead letters, and messages that were sent back, say what they were before."""

ATTEMPTS_DIGITS_MAX = 9
PREFIX = "acklog-dead-letter-"
MESSAGE_ID = f"{PREFIX}message-id"
"""Of the message that died."""
SOURCE = f"{PREFIX}topic"
"""The name of its topic."""
ATTEMPTS = f"{PREFIX}attempts"
"""How many there were until it died."""
ATTEMPTS_BEFORE = f"{PREFIX}attempts-before"
"""How many there were of it as the letters that it was before: of one that has died more than once."""
FIRST_ID = "acklog-first-id"
"""The messageId or scheduleId of the message that it was first of all, where no other header says so: it was to be seen
later, has died before, or was sent back. Unlike the others it goes with the message wherever that is sent."""


def first_id_of(headers: dict[str, str] | None) -> str:
    """ "" where the message has always been this one, as far as it says."""
    if headers is None:
        return ""
    return headers.get(FIRST_ID) or headers.get(MESSAGE_ID, "")


def attempts_of(headers: dict[str, str] | None) -> int:
    """All of a letter until it came to be this one; 0 of what is none. What is no number counts nothing."""
    if headers is None:
        return 0
    return sum(_number(headers.get(name, "")) for name in (ATTEMPTS, ATTEMPTS_BEFORE))


def _number(text: str) -> int:
    """Whoever sends may send such headers, too."""
    is_one = text.isascii() and text.isdecimal() and len(text) <= ATTEMPTS_DIGITS_MAX
    return int(text) if is_one else 0
