"""What `PUT` and `PATCH /groups/{group}` and `/groups/{group}/offsets` take."""

import msgspec

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.commits import CommitFields
from app.calls.groups import GroupFields, SeekCommand, SeekFields
from app.calls.pauses import PauseCommand, PauseFields
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError
from cluster.model.values import GroupMode

OFFSETS_QUERY = query.QueryTable(
    (
        query.name("topic", "only this topic; may repeat (default: all)", values_max=limits.RECEIVE_TOPICS_MAX),
        query.name("queue", "another word for topic", values_max=limits.RECEIVE_TOPICS_MAX),
    )
)

_group_decoder = msgspec.json.Decoder(GroupFields)
_commit_decoder = msgspec.json.Decoder(CommitFields)
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_pause_decoder = msgspec.json.Decoder(PauseFields)
_seek_decoder = msgspec.json.Decoder(SeekFields)


def parse_group(body: bytes) -> GroupFields:
    """An empty body means a group with every default. Raises ServerError."""
    if not body:
        return GroupFields()
    check_utf8(body)
    fields = decode(_group_decoder, body)
    if fields.mode not in {None, GroupMode.SHARED}:
        raise ServerError(ProblemCode.UNSUPPORTED, "only the mode 'shared' is supported yet", field="mode")
    return fields


def parse_offsets(query_string: bytes) -> list[str]:
    """The topics' names; empty for all. Raises ServerError."""
    arguments = OFFSETS_QUERY.parse(query_string)
    return list(dict.fromkeys(arguments.texts("topic") + arguments.texts("queue")))


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
    if isinstance(target, str):
        if target not in {"earliest", "latest"}:
            detail = 'must be "earliest", "latest", {"offset": number} or {"time": milliseconds}'
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="to")
        return SeekCommand(fields.topic, fields.partition, target, -1, fields.dry_run)
    if (target.offset is None) == (target.time is None):
        raise ServerError(ProblemCode.INVALID_FIELD, "must hold either offset or time", field="to")
    if target.time is not None:
        return SeekCommand(fields.topic, fields.partition, "time", target.time, fields.dry_run)
    assert target.offset is not None
    if fields.partition is None:
        detail = "an offset is one partition's: name the partition"
        raise ServerError(ProblemCode.MISSING_FIELD, detail, field="partition")
    return SeekCommand(fields.topic, fields.partition, "offset", target.offset, fields.dry_run)
