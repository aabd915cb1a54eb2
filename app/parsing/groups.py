"""What `PUT` and `PATCH /groups/{group}` and `/groups/{group}/offsets` take."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.parsing import query
from app.parsing.json_text import check_utf8, decode
from app.parsing.names import check_name
from app.parsing.records import OFFSET_MAX
from app.parsing.setting_changes import applied
from cluster.errors import AcklogError
from cluster.model import GroupMode, GroupSettings, StartPosition

_Backoff = Annotated[int, Meta(ge=0, le=limits.NACK_DELAY_SECONDS_MAX * 1000)]


class GroupSettingsFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Settings of a group; what is left out keeps its value, or gets the default in a new group. What is null goes back
    to its default with `PATCH`, and is as left out with `PUT`."""

    start_position: Annotated[
        StartPosition | UnsetType | None,
        Meta(description="where the group begins in a partition that it reads for the first time"),
    ] = UNSET
    visibility_ms: Annotated[
        Annotated[int, Meta(ge=0, le=limits.VISIBILITY_SECONDS_MAX * 1000)] | UnsetType | None,
        Meta(description="how long a message is leased where the receive does not say"),
    ] = UNSET
    max_attempts: Annotated[
        Annotated[int, Meta(ge=1, le=limits.MAX_ATTEMPTS_MAX)] | UnsetType | None,
        Meta(description="attempts after which a message goes to the dead-letter topic"),
    ] = UNSET
    retry_backoff_min_ms: Annotated[
        _Backoff | UnsetType | None,
        Meta(description="delay after the first nack that names none; it doubles with each further one"),
    ] = UNSET
    retry_backoff_max_ms: Annotated[_Backoff | UnsetType | None, Meta(description="the longest such delay")] = UNSET
    dead_letter_topic: Annotated[
        str | UnsetType | None,
        Meta(description="where dead letters go (default: <topic>.<group>.dlq, created when needed)"),
    ] = UNSET
    max_in_flight: Annotated[
        Annotated[int, Meta(ge=1, le=limits.IN_FLIGHT_MAX)] | UnsetType | None,
        Meta(description="messages of a partition that may be leased at a time"),
    ] = UNSET

    def applied_to(self, settings: GroupSettings) -> GroupSettings:
        """Raises AcklogError INVALID_FIELD, INVALID_NAME."""
        changed = applied(self, settings, defaults=GroupSettings())
        if changed.retry_backoff_min_ms > changed.retry_backoff_max_ms:
            detail = "must not be below retryBackoffMinMs"
            raise AcklogError(ProblemCode.INVALID_FIELD, detail, field="settings.retryBackoffMaxMs")
        if isinstance(self.dead_letter_topic, str):
            check_name(self.dead_letter_topic, field="settings.deadLetterTopic")
        return changed


class GroupFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT` and of `PATCH /groups/{group}`. Null is as left out."""

    mode: GroupMode | None = None
    settings: GroupSettingsFields | None = None


class SeekTarget(msgspec.Struct, forbid_unknown_fields=True):
    """One of the two."""

    offset: Annotated[int, Meta(ge=0, le=OFFSET_MAX)] | None = None
    time: Annotated[int, Meta(ge=0, le=limits.TIMESTAMP_MS_MAX)] | None = None


class SeekFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT /groups/{group}/offsets`."""

    topic: str
    to: str | SeekTarget
    partition: Annotated[int, Meta(ge=0, lt=limits.PARTITIONS_MAX)] | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class SeekCommand:
    """`partition` None: all of them. `to` and `value` as in `storage.rpc.messages.SeekRequest`."""

    topic: str
    partition: int | None
    to: str
    value: int
    is_dry_run: bool


OFFSETS_QUERY = query.QueryTable(
    (
        query.name("topic", "only this topic; may repeat (default: all)", values_max=limits.RECEIVE_TOPICS_MAX),
        query.name("queue", "another word for topic", values_max=limits.RECEIVE_TOPICS_MAX),
    )
)

_group_decoder = msgspec.json.Decoder(GroupFields)
_seek_decoder = msgspec.json.Decoder(SeekFields)


def parse_group(body: bytes) -> GroupFields:
    """An empty body means a group with every default. Raises AcklogError."""
    if not body:
        return GroupFields()
    check_utf8(body)
    fields = decode(_group_decoder, body)
    if fields.mode not in {None, GroupMode.SHARED}:
        raise AcklogError(ProblemCode.UNSUPPORTED, "only the mode 'shared' is supported yet", field="mode")
    return fields


def parse_offsets(query_string: bytes) -> list[str]:
    """The topics' names; empty for all. Raises AcklogError."""
    arguments = OFFSETS_QUERY.parse(query_string)
    return list(dict.fromkeys(arguments.texts("topic") + arguments.texts("queue")))


def parse_seek(body: bytes) -> SeekCommand:
    """Raises AcklogError."""
    check_utf8(body)
    fields = decode(_seek_decoder, body)
    target = fields.to
    if isinstance(target, str):
        if target not in {"earliest", "latest"}:
            detail = 'must be "earliest", "latest", {"offset": number} or {"time": milliseconds}'
            raise AcklogError(ProblemCode.INVALID_FIELD, detail, field="to")
        return SeekCommand(fields.topic, fields.partition, target, -1, fields.dry_run)
    if (target.offset is None) == (target.time is None):
        raise AcklogError(ProblemCode.INVALID_FIELD, "must hold either offset or time", field="to")
    if target.time is not None:
        return SeekCommand(fields.topic, fields.partition, "time", target.time, fields.dry_run)
    assert target.offset is not None
    if fields.partition is None:
        detail = "an offset is one partition's: name the partition"
        raise AcklogError(ProblemCode.MISSING_FIELD, detail, field="partition")
    return SeekCommand(fields.topic, fields.partition, "offset", target.offset, fields.dry_run)
