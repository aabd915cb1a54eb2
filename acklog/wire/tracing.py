"""Tracing as it travels: W3C's `traceparent`, and the names by which spans of all kinds of processes tell the same.

The names are OpenTelemetry's conventions for messaging."""

import re

TRACEPARENT = "traceparent"

SYSTEM, SYSTEM_NAME = "messaging.system", "acklog"
OPERATION_NAME, OPERATION_TYPE = "messaging.operation.name", "messaging.operation.type"
DESTINATION = "messaging.destination.name"
PARTITION = "messaging.destination.partition.id"
GROUP = "messaging.consumer.group.name"
MESSAGE_ID = "messaging.message.id"
MESSAGE_COUNT = "messaging.batch.message_count"
ATTEMPT, OFFSET = "acklog.attempt", "acklog.offset"

TRACES_MAX = 32
"""Of the messages that one call is about: spans are linked to so many."""

TRACESTATE = "tracestate"
TRACESTATE_LENGTH_MAX = 512
"""What W3C asks everybody to pass on, and no more than that."""
_TRACESTATE_MEMBERS_MAX = 32
_TRACESTATE_MEMBER = re.compile(
    r"[ \t]*(?P<key>[a-z][_0-9a-z*/-]{0,255}|[a-z0-9][_0-9a-z*/-]{0,240}@[a-z][_0-9a-z*/-]{0,13})"
    r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e][ \t]*"
)

# Of later versions more may follow the flags (W3C Trace Context, 3.2.2). The last bit of these says "sampled".
_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f](?P<flag>[0-9a-f])(?P<more>-.*)?"
)
_IS_SAMPLED = frozenset("13579bdf")


def is_traceparent(text: str | None) -> bool:
    """Whether it is one. What is not counts as if there were none."""
    return _parsed(text) is not None


def is_sampled(traceparent: str | None) -> bool:
    """Whether it is one, and whoever made it records the trace."""
    found = _parsed(traceparent)
    return found is not None and found["flag"] in _IS_SAMPLED


def is_tracestate(text: str) -> bool:
    """Whether it is one that is to be passed on: right in all of its members, and not too long."""
    if len(text) > TRACESTATE_LENGTH_MAX:
        return False
    members = [each for each in text.split(",") if each.strip(" \t")]
    keys = {found["key"] for each in members if (found := _TRACESTATE_MEMBER.fullmatch(each)) is not None}
    return 0 < len(members) == len(keys) <= _TRACESTATE_MEMBERS_MAX


def _parsed(text: str | None) -> "re.Match[str] | None":
    found = None if text is None else _TRACEPARENT.fullmatch(text)
    return found if found is None or found["more"] is None or found["version"] != "00" else None
