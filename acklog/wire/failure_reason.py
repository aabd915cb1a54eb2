"""Why an attempt at a message failed, as its consumer said when it gave it back."""

from typing import NamedTuple


class FailureReason(NamedTuple):
    """`attempt` counts from 1, `at_ms` is wall-clock time. Positional on disk and on the wire."""

    attempt: int
    at_ms: int
    reason: str
