"""By what a write is known again, however late it is repeated.

A task cuts its rows into requests, in the same way each time if the query is deterministic; each request goes to one
partition, which stores it whole or not at all. Request number s of task t in epoch e of a query q has the name
`q/e/t/s`. It is the request's idempotency key, and its first message carries it in the header HEADER, so that the log
itself tells what was stored. Everything here is pure.
"""

import re
from dataclasses import dataclass

HEADER = "acklog-spark-write"
_NAME = re.compile(r"(?P<write>[A-Za-z0-9._-]{1,64})/(?P<epoch>[0-9]{1,19})/(?P<task>[0-9]{1,10})")


@dataclass(frozen=True, slots=True)
class TaskIdentity:
    """One task of one epoch of a query: what is retried as a whole. A batch write has the epoch 0."""

    write_id: str
    epoch: int
    task: int

    def __str__(self) -> str:
        return f"{self.write_id}/{self.epoch}/{self.task}"

    def request(self, sequence: int) -> str:
        """The name of a request."""
        return f"{self}/{sequence}"

    def sequence_of(self, name: str) -> int | None:
        """Which of this task's requests has the name; None for any other."""
        stem, slash, sequence = name.rpartition("/")
        return int(sequence) if slash and stem == str(self) and re.fullmatch(r"[0-9]{1,10}", sequence) else None


def parse_identity(name: str) -> TaskIdentity | None:
    """The identity that was written as text; None for what is none."""
    match = _NAME.fullmatch(name)
    return None if match is None else TaskIdentity(match["write"], int(match["epoch"]), int(match["task"]))
