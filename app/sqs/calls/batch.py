"""Batches: entries with ids of their own, each of which fails for itself."""

import re
from collections.abc import Sequence

from app.sqs.shapes import FailedEntry
from app.sqs.sqs_error import SqsError, SqsErrorCode

ENTRIES_MAX = 10
_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")


def check_entry_ids(ids: Sequence[str]) -> None:
    """Raises SqsError EMPTY_BATCH_REQUEST, TOO_MANY_ENTRIES, INVALID_BATCH_ENTRY_ID, ENTRY_IDS_NOT_DISTINCT."""
    if not ids:
        raise SqsError(SqsErrorCode.EMPTY_BATCH_REQUEST, "There should be at least one entry in the request.")
    if len(ids) > ENTRIES_MAX:
        detail = f"Maximum number of entries per request are {ENTRIES_MAX}. You have sent {len(ids)}."
        raise SqsError(SqsErrorCode.TOO_MANY_ENTRIES, detail)
    if not all(map(_ID.fullmatch, ids)):
        detail = (
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
            "It can be at most 80 letters long."
        )
        raise SqsError(SqsErrorCode.INVALID_BATCH_ENTRY_ID, detail)
    seen: dict[str, None] = {}
    for each in ids:
        if each in seen:
            raise SqsError(SqsErrorCode.ENTRY_IDS_NOT_DISTINCT, f"Id {each} repeated.")
        seen[each] = None


def failed_entry(entry_id: str, error: SqsError) -> FailedEntry:
    fault = error.code.value
    return FailedEntry(id=entry_id, sender_fault=fault.is_senders, code=fault.code, message=error.message)
