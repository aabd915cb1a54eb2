"""What was asked of a node's table views since its start, and what that cost."""

from dataclasses import dataclass


@dataclass(slots=True)
class TableFigures:
    """Questions are `found`, `without_value` (there is no message of the key, or its last one says so) or `failed`.
    `messages_taken_over` are offsets of logs that indexes were brought forward by, `indexes_failed` those that were
    wrong or could not be used, and are made anew."""

    found: int = 0
    without_value: int = 0
    failed: int = 0
    messages_taken_over: int = 0
    indexes_failed: int = 0
