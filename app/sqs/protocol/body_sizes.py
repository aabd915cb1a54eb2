"""How large requests of SQS may be."""

BODY_BYTES_MAX = 4 * 1024 * 1024
"""A request's messages have 1 MiB at most. Escaped for a form it is three times as much, and there is more to say."""
SMALL_BYTES_MAX = 256 * 1024
"""Of calls that bring no messages: what is in them is gone through before anybody looks at rights."""
_WITH_MESSAGES = frozenset({"SendMessage", "SendMessageBatch"})


def body_bytes_max_of(operation: str) -> int:
    return BODY_BYTES_MAX if operation in _WITH_MESSAGES else SMALL_BYTES_MAX
