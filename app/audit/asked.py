"""What a request says of what is to be done: members of its body and its query whose names are known to hold settings
and places. Anything else stays out, so that no secret and nothing of a message gets into the log."""

import msgspec

from app.audit.plain_value import plain

NAMES = frozenset(
    {"allowDataLoss", "config", "directoryId", "discard", "dryRun", "expiresAt", "from", "graceSeconds", "group"}
    | {"groups", "incarnation", "messageId", "mode", "name", "node", "offset", "offsets", "partition", "partitions"}
    | {"replicas", "replicationFactor", "revision", "rights", "roles", "settings", "time", "to", "topic", "topics"}
    | {"requestsPerSecond", "messagesPerSecond", "bytesPerSecond"}
)
"""A message's `key` is not among them: it is a part of the message."""

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def asked_in_body(body: bytes) -> dict[str, object]:
    """Nothing of a body that cannot be read: its request fails."""
    try:
        members = _MEMBERS.decode(body) if body else {}
        return {name: plain(msgspec.json.decode(value)) for name, value in members.items() if name in NAMES}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def asked_in_query(pairs: list[tuple[str, str]]) -> dict[str, object]:
    return {name: plain(value) for name, value in pairs if name in NAMES}
