"""Where messages of a queue go that were received too often, and who may send such to a queue: as the texts in JSON
that SQS keeps."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from acklog.wire.limits import MAX_ATTEMPTS_MAX

POLICY_LENGTH_MAX = 8_192
"""Bytes of any policy."""

SOURCES_MAX = 10
"""Queues that a dead-letter queue names of those that may use it."""


class RedrivePermission(Enum):
    """Which queues may send their dead letters to a queue."""

    ALLOW_ALL = "allowAll"
    DENY_ALL = "denyAll"
    BY_QUEUE = "byQueue"


@dataclass(frozen=True, slots=True)
class RedrivePolicy:
    """Where messages go that were received so often, by the ARN of a queue."""

    target_arn: str
    receives_max: int

    def text(self) -> str:
        return json.dumps(
            {"deadLetterTargetArn": self.target_arn, "maxReceiveCount": self.receives_max}, separators=(",", ":")
        )


@dataclass(frozen=True, slots=True)
class RedriveAllowPolicy:
    """Which queues may name this one in their redrive policies; `source_arns` with byQueue."""

    permission: RedrivePermission = RedrivePermission.ALLOW_ALL
    source_arns: tuple[str, ...] = ()

    def allows(self, source_arn: str) -> bool:
        if self.permission is RedrivePermission.BY_QUEUE:
            return source_arn in self.source_arns
        return self.permission is RedrivePermission.ALLOW_ALL


def redrive_policy_of(text: str) -> RedrivePolicy:
    """Raises ValueError: why it is none."""
    members = json_object_of(text, {"deadLetterTargetArn", "maxReceiveCount"})
    target = members.get("deadLetterTargetArn")
    if not isinstance(target, str) or not target:
        raise ValueError("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
    if "maxReceiveCount" not in members:
        raise ValueError("Redrive policy does not contain mandatory attribute: maxReceiveCount.")
    count = members["maxReceiveCount"]
    if isinstance(count, str) and count.isascii() and count.isdigit() and len(count) <= len(str(MAX_ATTEMPTS_MAX)):
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_ATTEMPTS_MAX:
        raise ValueError(
            f"Invalid value for maxReceiveCount: {str(count)[:32]}, "
            f"valid values are from 1 to {MAX_ATTEMPTS_MAX} both inclusive."
        )
    return RedrivePolicy(target, count)


def redrive_allow_policy_of(text: str) -> RedriveAllowPolicy:
    """Raises ValueError: why it is none."""
    members = json_object_of(text, {"redrivePermission", "sourceQueueArns"})
    try:
        permission = RedrivePermission(members.get("redrivePermission"))
    except ValueError:
        choices = ", ".join(each.value for each in RedrivePermission)
        raise ValueError(f"redrivePermission is one of {choices}.") from None
    if permission is not RedrivePermission.BY_QUEUE:
        if "sourceQueueArns" in members:
            raise ValueError("sourceQueueArns are for the redrivePermission byQueue only.")
        return RedriveAllowPolicy(permission)
    sources = members.get("sourceQueueArns")
    if not isinstance(sources, list) or not 1 <= len(sources) <= SOURCES_MAX:
        raise ValueError(f"byQueue takes 1 to {SOURCES_MAX} sourceQueueArns.")
    if not all(isinstance(each, str) for each in sources):
        raise ValueError("sourceQueueArns are ARNs of queues.")
    return RedriveAllowPolicy(permission, tuple(sources))


def json_object_of(text: str, known: set[str] | None = None) -> dict[str, Any]:
    """An object with no other members than the known ones. Raises ValueError."""
    if len(text.encode("utf-8", "surrogatepass")) > POLICY_LENGTH_MAX:
        raise ValueError(f"it has more than {POLICY_LENGTH_MAX} bytes.")
    try:
        found = json.loads(text)
        json.dumps(found, ensure_ascii=False).encode()  # half a pair of surrogates is no text
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON.") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object.")
    unknown = sorted(set(found) - known) if known is not None else []
    if unknown:
        raise ValueError(f"it has an unknown member: {unknown[0][:64]}.")
    return found
