"""What may be written on a queue."""

import unicodedata
from collections.abc import Iterable, Mapping

from app.sqs.sqs_error import SqsError, SqsErrorCode

TAGS_OF_QUEUE_MAX = 50
TAG_KEY_LENGTH_MAX = 128
TAG_VALUE_LENGTH_MAX = 256
_RESERVED = "aws:"
_SIGNS = frozenset("_.:/=+-@")


def with_tags(before: Mapping[str, str], given: Mapping[str, str], queue_name: str) -> dict[str, str]:
    """Raises SqsError INVALID_PARAMETER_VALUE, MISSING_PARAMETER."""
    if not given:
        raise SqsError(SqsErrorCode.MISSING_PARAMETER, "The request must contain the parameter Tags.")
    checked_tags(given, queue_name)
    return checked_tags({**before, **given}, queue_name)


def without_tags(before: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Those that are not there are no fault. Raises SqsError MISSING_PARAMETER."""
    taken = set(keys)
    if not taken:
        raise SqsError(SqsErrorCode.MISSING_PARAMETER, "The request must contain the parameter TagKeys.")
    return {key: value for key, value in before.items() if key not in taken}


def checked_tags(tags: Mapping[str, str], queue_name: str) -> dict[str, str]:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    if len(tags) > TAGS_OF_QUEUE_MAX:
        raise _invalid(f"Too many tags added for queue {queue_name}: at most {TAGS_OF_QUEUE_MAX}.")
    for key, value in tags.items():
        if not 1 <= len(key) <= TAG_KEY_LENGTH_MAX or not _is_plain(key):
            raise _invalid(f"Tag keys must be between 1 and {TAG_KEY_LENGTH_MAX} letters, digits, spaces or _.:/=+-@.")
        if key.lower().startswith(_RESERVED):
            raise _invalid("Tag keys must not begin with aws:.")
        if len(value) > TAG_VALUE_LENGTH_MAX or not _is_plain(value):
            raise _invalid(f"Tag values must be at most {TAG_VALUE_LENGTH_MAX} letters, digits, spaces or _.:/=+-@.")
    return dict(tags)


def _is_plain(text: str) -> bool:
    return all(each in _SIGNS or unicodedata.category(each)[0] in "LNZ" for each in text)


def _invalid(detail: str) -> SqsError:
    return SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
