"""What `PUT` and `PATCH /groups/{group}` and `/groups/{group}/offsets` take."""

from dataclasses import replace

import msgspec

from acklog.wire import limits
from acklog.wire.identifiers import parse_message_id
from acklog.wire.problems import ProblemCode
from app.calls.commits import CommitFields
from app.calls.demand import TARGET_LAG_MAX, TARGET_SECONDS_MAX, TARGET_SECONDS_MIN, DemandQuery
from app.calls.filters import read_filter
from app.calls.groups import GroupFields, SeekCommand, SeekFields
from app.calls.pauses import PauseCommand, PauseFields
from app.calls.position_copy import CopyFields
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError

OFFSETS_QUERY = query.QueryTable(
    (
        query.name("topic", "only this topic; may repeat (default: all)", values_max=limits.RECEIVE_TOPICS_MAX),
        query.name("queue", "another word for topic", values_max=limits.RECEIVE_TOPICS_MAX),
    )
)

DEMAND_QUERY = query.QueryTable(
    (
        *OFFSETS_QUERY.parameters,
        query.integer("targetLag", 1, TARGET_LAG_MAX, "messages that one consumer may have before it"),
        query.number(
            "targetSeconds", TARGET_SECONDS_MIN, TARGET_SECONDS_MAX, "within how long all that waits is to be done"
        ),
    )
)

NO_VALUE = -1
_TARGETS = '{"offset": number}, {"time": milliseconds}, {"relative": messages} or {"messageId": id}'
_group_decoder = msgspec.json.Decoder(GroupFields)
_commit_decoder = msgspec.json.Decoder(CommitFields)
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_pause_decoder = msgspec.json.Decoder(PauseFields)
_copy_decoder = msgspec.json.Decoder(CopyFields)
_seek_decoder = msgspec.json.Decoder(SeekFields)


def parse_group(body: bytes) -> GroupFields:
    """An empty body means a group with every default. A filter is in its canonical text. Raises ServerError."""
    if not body:
        return GroupFields()
    check_utf8(body)
    fields = decode(_group_decoder, body)
    if fields.settings is not None and isinstance(fields.settings.filter, str):
        fields.settings.filter = read_filter(fields.settings.filter, field="settings.filter").text
    return fields


def parse_offsets(query_string: bytes) -> list[str]:
    """The topics' names; empty for all. Raises ServerError."""
    arguments = OFFSETS_QUERY.parse(query_string)
    return list(dict.fromkeys(arguments.texts("topic") + arguments.texts("queue")))


def parse_demand(query_string: bytes) -> DemandQuery:
    """Raises ServerError."""
    arguments = DEMAND_QUERY.parse(query_string)
    topics = list(dict.fromkeys(arguments.texts("topic") + arguments.texts("queue")))
    return DemandQuery(topics, arguments.integer("targetLag"), arguments.number("targetSeconds"))


def parse_pause(body: bytes) -> PauseCommand:
    """An empty body names all of the group. Raises ServerError."""
    if not body:
        return PauseCommand(None, ())
    check_utf8(body)
    fields = decode(_pause_decoder, body)
    if fields.topic is None and fields.partitions is not None:
        raise ServerError(ProblemCode.MISSING_FIELD, "partitions are a topic's: name the topic", field="topic")
    return PauseCommand(fields.topic, tuple(dict.fromkeys(fields.partitions or ())))


def parse_positions(body: bytes) -> SeekCommand | CommitFields:
    """A commit has `offsets`, a seek says where `to`. Raises ServerError."""
    check_utf8(body)
    if "offsets" in decode(_members_decoder, body):
        return _commit(body)
    return _seek(body)


def _commit(body: bytes) -> CommitFields:
    fields = decode(_commit_decoder, body)
    for index, each in enumerate(fields.offsets):
        if len(each.metadata.encode()) > limits.COMMIT_METADATA_BYTES_MAX:
            detail = f"must not be longer than {limits.COMMIT_METADATA_BYTES_MAX:,} bytes"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=f"offsets[{index}].metadata")
    return fields


def _seek(body: bytes) -> SeekCommand:
    fields = decode(_seek_decoder, body)
    target = fields.to
    command = SeekCommand(fields.topic, fields.partition, "", NO_VALUE, fields.dry_run)
    if isinstance(target, str):
        if target not in {"earliest", "latest"}:
            raise ServerError(ProblemCode.INVALID_FIELD, f'must be "earliest", "latest" or {_TARGETS}', field="to")
        return replace(command, to=target)
    given = [name for name in target.__struct_fields__ if getattr(target, name) is not None]
    if len(given) != 1:
        raise ServerError(ProblemCode.INVALID_FIELD, f"must be {_TARGETS}", field="to")
    if target.message_id is not None:
        return _to_message(command, target.message_id)
    if target.offset is not None and fields.partition is None:
        detail = "an offset is one partition's: name the partition"
        raise ServerError(ProblemCode.MISSING_FIELD, detail, field="partition")
    return replace(command, to=given[0], value=getattr(target, given[0]))


def _to_message(command: SeekCommand, text: str) -> SeekCommand:
    """It names its partition itself."""
    message = parse_message_id(text)
    if message is None:
        raise ServerError(ProblemCode.INVALID_MESSAGE_ID, "is not a messageId from Acklog", field="to.messageId")
    if command.partition not in {None, message.partition}:
        detail = f"the message is in partition {message.partition}"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partition")
    return replace(command, to="offset", value=message.offset, partition=message.partition, message=message)


def parse_copy(body: bytes) -> CopyFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_copy_decoder, body)
