"""Filters as requests and groups name them."""

from acklog.filters.filter_error import FilterError
from acklog.filters.message_filter import MessageFilter, parse_filter
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError


def read_filter(text: str) -> MessageFilter:
    """Raises ServerError INVALID_FILTER."""
    try:
        return parse_filter(text)
    except FilterError as error:
        raise ServerError(ProblemCode.INVALID_FILTER, f"{error}.", field="filter") from error
