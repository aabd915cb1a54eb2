"""What `POST /topics/{topic}/purge` and `/delete-before` take."""

import msgspec

from acklog.wire.problems import ProblemCode
from app.calls.deletions import DeleteBeforeFields, DeleteCommand, PurgeFields
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError

NO_VALUE = -1
_purge_decoder = msgspec.json.Decoder(PurgeFields)
_before_decoder = msgspec.json.Decoder(DeleteBeforeFields)


def parse_purge(body: bytes) -> DeleteCommand:
    """An empty body names all of the topic. Raises ServerError."""
    if not body:
        return DeleteCommand("end", NO_VALUE, is_dry_run=False)
    check_utf8(body)
    fields = decode(_purge_decoder, body)
    if fields.partitions is None:
        return DeleteCommand("end", NO_VALUE, fields.dry_run)
    return DeleteCommand("end", dict.fromkeys(fields.partitions, NO_VALUE), fields.dry_run)


def parse_delete_before(body: bytes) -> DeleteCommand:
    """Raises ServerError."""
    check_utf8(body)
    fields = decode(_before_decoder, body)
    if fields.offsets is None and fields.time is None:
        raise ServerError(ProblemCode.MISSING_FIELD, "say before which offsets, or give a time", field="offsets")
    if fields.offsets is None:
        assert fields.time is not None
        return DeleteCommand("time", fields.time, fields.dry_run)
    if fields.time is not None:
        detail = "is for all partitions: give it, or offsets, not both"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="time")
    values: dict[int, int] = {}
    for index, place in enumerate(fields.offsets):
        if place.partition in values:
            detail = "is there twice"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=f"offsets[{index}].partition")
        values[place.partition] = place.offset
    return DeleteCommand("offset", values, fields.dry_run)
