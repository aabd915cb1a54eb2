"""What `/topics/{topic}/restore` and what is below it take."""

import re
from dataclasses import dataclass

import msgspec

from acklog.wire.problems import ProblemCode
from app.calls.copies import (
    GROUPS_MAX,
    RESTORE_ID_LENGTH_MAX,
    RESTORE_ID_PATTERN,
    STATE_BYTES_MAX,
    FinishFields,
    RestoreFields,
    RestoreGroupsFields,
)
from app.calls.records import OFFSET_MAX
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError
from storage.rpc.copy_messages import MESSAGES, SCHEDULE

NOWHERE = -1
RESTORE_GROUPS_BYTES_MAX = STATE_BYTES_MAX // 3 * 4 + GROUPS_MAX * 300 + 1024
"""Base64, and for each group an id and a name."""

_begin_decoder = msgspec.json.Decoder(RestoreFields)
_groups_decoder = msgspec.json.Decoder(RestoreGroupsFields)
_finish_decoder = msgspec.json.Decoder(FinishFields)


def _restore_id(text: str) -> str:
    if len(text) > RESTORE_ID_LENGTH_MAX or not re.fullmatch(RESTORE_ID_PATTERN, text):
        raise ValueError(f"must have 1 to {RESTORE_ID_LENGTH_MAX} letters, digits, dots, dashes and underscores")
    return text


RESTORE_QUERY = query.QueryTable(
    (
        query.Parameter(
            "restoreId",
            _restore_id,
            {"type": "string", "pattern": RESTORE_ID_PATTERN, "maxLength": RESTORE_ID_LENGTH_MAX},
            "the restore that fills the topic",
            example="20261127T000000Z-1",
            is_required=True,
        ),
        query.choice("log", (MESSAGES, SCHEDULE), "what the batches hold: messages (default), or delayed ones"),
        query.integer("fillTo", 0, OFFSET_MAX, "fill up to this offset with places of which nothing is left"),
    )
)


@dataclass(frozen=True, slots=True)
class AppendArguments:
    """`fill_to` NOWHERE: no further than the batches go."""

    restore_id: str
    log: str
    fill_to: int


def parse_append(query_string: bytes) -> AppendArguments:
    """Raises ServerError."""
    arguments = RESTORE_QUERY.parse(query_string)
    fill_to = arguments.integer("fillTo")
    return AppendArguments(
        arguments.text("restoreId") or "", arguments.text("log") or MESSAGES, NOWHERE if fill_to is None else fill_to
    )


def parse_begin(body: bytes) -> RestoreFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_begin_decoder, body)


def parse_restore_groups(body: bytes) -> RestoreGroupsFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_groups_decoder, body)


def parse_finish(body: bytes) -> FinishFields:
    """Raises ServerError."""
    check_utf8(body)
    fields = decode(_finish_decoder, body)
    if len(set(fields.decommissioned)) != len(fields.decommissioned):
        raise ServerError(ProblemCode.INVALID_FIELD, "names a partition twice", field="decommissioned")
    return fields
