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

# Of later versions more may follow the flags (W3C Trace Context, 3.2.2). The last bit of these says "sampled".
_SAMPLED = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f][13579bdf](?P<more>-.*)?"
)


def is_sampled(traceparent: str | None) -> bool:
    """Whether it is one, and whoever made it records the trace."""
    found = None if traceparent is None else _SAMPLED.fullmatch(traceparent)
    return found is not None and (found["more"] is None or found["version"] != "00")
