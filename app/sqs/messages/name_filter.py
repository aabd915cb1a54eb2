"""Which attributes a receive asks for, by their names."""

from collections.abc import Callable, Sequence

from app.sqs.messages.attribute_checks import TRACE_HEADER
from app.sqs.messages.invalid import shown
from app.sqs.sqs_error import SqsError, SqsErrorCode

ALL = "All"
_EVERY = frozenset({ALL, ".*"})
_BEHIND_PREFIX = ".*"
SYSTEM_NAMES = frozenset(
    {
        "SenderId",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "SequenceNumber",
        "MessageDeduplicationId",
        "MessageGroupId",
        TRACE_HEADER,
        "DeadLetterQueueSourceArn",
    }
)


def attribute_filter(names: Sequence[str]) -> Callable[[str], bool]:
    """A name is meant by itself, by `All` or `.*`, and by a prefix with `.*` behind it."""
    if not _EVERY.isdisjoint(names):
        return lambda _: True
    exact = frozenset(names)
    prefixes = tuple(name.removesuffix(_BEHIND_PREFIX) for name in names if name.endswith(_BEHIND_PREFIX))
    return lambda name: name in exact or name.startswith(prefixes)


def wanted_system_attributes(names: Sequence[str]) -> frozenset[str]:
    """Raises SqsError INVALID_ATTRIBUTE_NAME."""
    for name in names:
        if name != ALL and name not in SYSTEM_NAMES:
            raise SqsError(SqsErrorCode.INVALID_ATTRIBUTE_NAME, f"Unknown Attribute {shown(name)}.")
    return SYSTEM_NAMES if ALL in names else frozenset(names)
