"""Filters as requests name them."""

from collections.abc import Iterable

from acklog.filters.filter_error import FilterError
from acklog.filters.message_filter import MessageFilter, both, filter_by_tags, parse_filter
from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError


def read_filter(text: str, *, field: str) -> MessageFilter:
    """Raises ServerError INVALID_FILTER, which says where and what could stand there."""
    try:
        return parse_filter(text)
    except FilterError as error:
        raise ServerError(
            ProblemCode.INVALID_FILTER,
            f"{error}",
            field=field,
            extra={"position": error.position, "expected": error.expected},
        ) from error


def filter_of(text: str | None, tags: str | None) -> str:
    """The canonical text of what `filter` and `tags=a,b` of a request say together; "" where they say nothing. Raises
    ServerError INVALID_FILTER, INVALID_FIELD."""
    named = None if text is None else read_filter(text, field="filter")
    if tags is None:
        return "" if named is None else named.text
    tagged = filter_by_tags(_tags_of(tags))
    wanted = tagged if named is None else both(tagged, named)
    try:
        return parse_filter(wanted.text).text
    except FilterError as error:  # where it says so is in no text that was sent
        detail = f"the filter that they make is refused: {error.expected}"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="tags") from error


def _tags_of(text: str) -> Iterable[str]:
    tags = text.split(",")
    if not all(tags):
        raise ServerError(ProblemCode.INVALID_FIELD, "must be tags with commas between them", field="tags")
    if len(set(tags)) > limits.FILTER_VALUES_MAX:
        raise ServerError(ProblemCode.INVALID_FIELD, f"has more than {limits.FILTER_VALUES_MAX} tags", field="tags")
    if any(len(tag.encode()) > limits.TAG_BYTES_MAX for tag in tags):
        detail = f"no tag is longer than {limits.TAG_BYTES_MAX} bytes"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="tags")
    return tags
