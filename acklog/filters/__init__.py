"""Filters: which messages somebody wants, by tags, key and headers. docs/filters.md has the grammar.

`parse_filter` reads the text, `MessageFilter` says of a message whether it matches, and of a batch's tag bits whether
any of its messages may.
"""

from acklog.filters.expression import Filterable
from acklog.filters.filter_error import FilterError
from acklog.filters.message_filter import MessageFilter, both, filter_by_tags, parse_filter

__all__ = ["FilterError", "Filterable", "MessageFilter", "both", "filter_by_tags", "parse_filter"]
