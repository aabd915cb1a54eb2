"""What a filter leaves of a page of the log."""

from collections.abc import Iterator

from acklog.filters.message_filter import MessageFilter
from acklog.wire.log_page import Run
from acklog.wire.record import Record


def matching_runs(run: Run, message_filter: MessageFilter) -> Iterator[Run]:
    """What of it matches, in rows of neighbours."""
    header, first, records = run
    row: list[Record] = []
    for at, record in enumerate(records):
        if message_filter.matches(record):
            row.append(record)
        elif row:
            yield header, first + at - len(row), row
            row = []
    if row:
        yield header, first + len(records) - len(row), row
