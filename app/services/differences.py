"""What a call that creates something finds different in what is there (rule R43)."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import CleanupPolicy, RetentionMode, TopicConfig


class Difference(NamedTuple):
    """`field` is the setting's path as a client writes it."""

    field: str
    existing: object
    asked: object


def differences(existing: msgspec.Struct, asked: msgspec.Struct | None, *, path: str = "") -> list[Difference]:
    """Where `asked` names another value than `existing` has. What it leaves out, or null, is not asked for."""
    found: list[Difference] = []
    for field in () if asked is None else msgspec.structs.fields(asked):
        value = getattr(asked, field.name)
        if value is not None and value is not msgspec.UNSET and value != (present := getattr(existing, field.name)):
            found.append(Difference(path + field.encode_name, present, value))
    return found


def refuse_differences(code: ProblemCode, target: str, found: Sequence[Difference]) -> None:
    """Raises ServerError with that code where there are differences. `target` is the path that changes it."""
    if found:
        listed = ", ".join(f"{each.field} is {_text(each.existing)}, not {_text(each.asked)}" for each in found)
        raise ServerError(
            code,
            f"it exists with other settings: {listed}; to change them: PATCH {target}",
            field=found[0].field,
            extra={"differing": [each.field for each in found]},
        )


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


_EFFECTS = {
    CleanupPolicy.DELETE: "lets retention remove messages",
    CleanupPolicy.COMPACT: "removes messages of which there is a later one with their key",
    CleanupPolicy.COMPACT_AND_DELETE: "removes old messages, and those of which there is a later one with their key",
}


def refuse_data_loss(before: TopicConfig, after: TopicConfig) -> None:
    """Raises ServerError DATA_LOSS_NOT_ALLOWED where messages that would be kept, or delivered, before may not be
    after."""
    is_until_acked = RetentionMode.UNTIL_ACKED
    if after.retention is is_until_acked is not before.retention:
        raise _data_loss("retention", "removes what every group has done")
    if _is_lower(before.retention_ms, after.retention_ms):
        raise _data_loss("retentionMs", "removes messages earlier than now")
    if _is_lower(before.retention_bytes, after.retention_bytes):
        raise _data_loss("retentionBytes", "keeps fewer bytes than now")
    if after.cleanup_policy is not before.cleanup_policy:
        raise _data_loss("cleanupPolicy", _EFFECTS[after.cleanup_policy])
    if after.ttl_ms is not None and (before.ttl_ms is None or after.ttl_ms < before.ttl_ms):
        detail = "groups pass over what they would get now; if that may go undelivered, say so: allowDataLoss=true"
        raise ServerError(ProblemCode.DATA_LOSS_NOT_ALLOWED, detail, field="config.ttlMs")
    is_unlimited = after.retention is not is_until_acked and after.retention_ms < 0 and after.retention_bytes < 0
    if after.segment_bytes < before.segment_bytes and not is_unlimited:
        raise _data_loss("segmentBytes", "lets retention, which goes by whole files, remove messages earlier than now")


def _is_lower(before: int, after: int) -> bool:
    """-1 is no limit."""
    return after >= 0 and (before < 0 or after < before)


def _data_loss(setting: str, effect: str) -> ServerError:
    detail = f"{effect}, which deletes messages for good; if they may go, say so: allowDataLoss=true"
    return ServerError(ProblemCode.DATA_LOSS_NOT_ALLOWED, detail, field=f"config.{setting}")
