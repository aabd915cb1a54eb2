"""What a request says of what is to be done: members of its body and its query whose names are known to hold settings
and places, and of these what the call takes. Anything else stays out, so that no secret and nothing of a message gets
into the log."""

import msgspec

from app.audit.fitting import fitting, shape_of
from app.audit.plain_value import plain

NAMES = frozenset(
    {"allowDataLoss", "config", "directoryId", "discard", "dryRun", "expiresAt", "from", "graceSeconds", "group"}
    | {"groups", "incarnation", "messageId", "mode", "name", "node", "offset", "offsets", "partition", "partitions"}
    | {"replicas", "replicationFactor", "revision", "rights", "roles", "settings", "time", "to", "topic", "topics"}
    | {"requestsPerSecond", "messagesPerSecond", "bytesPerSecond"}
)
"""A message's `key` is not among them: it is a part of the message."""

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def asked_in_body(body: bytes, fields: type[msgspec.Struct] | None) -> dict[str, object]:
    """`fields` is what the call takes; None: nothing. Nothing of a body that cannot be read: its request fails."""
    if fields is None or not body:
        return {}
    try:
        members = {name: msgspec.json.decode(raw) for name, raw in _MEMBERS.decode(body).items() if name in NAMES}
        found = fitting(members, shape_of(fields))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {name: plain(value) for name, value in found.items()} if isinstance(found, dict) else {}


def asked_in_query(pairs: list[tuple[str, str]]) -> dict[str, object]:
    return {name: plain(value) for name, value in pairs if name in NAMES}
