"""What replication sees of a log. It changes a log by effects only, and looks at it here."""

from collections.abc import Sequence
from typing import Protocol

from storage.log.leader_epochs import LeaderEpochs


class ReplicaLog(Protocol):
    """A partition has several (messages, delivery records), numbered by `storage.log.log_table`.

    `written_end` is behind what a reader of the log can see, `durable_end` behind what survives a loss of power; both
    are exclusive, and `durable_end` is not above the other. `epochs` covers what is written, `epochs.log_end` included.
    """

    @property
    def log_start(self) -> int: ...

    @property
    def written_end(self) -> int: ...

    @property
    def durable_end(self) -> int: ...

    @property
    def epochs(self) -> LeaderEpochs: ...


def known_high_watermarks(logs: Sequence[ReplicaLog], checkpointed: Sequence[int]) -> list[int]:
    """What a replica knows to be committed when it takes a role. A checkpoint may be behind what was removed since:
    only what is committed is ever removed."""
    return [
        max(log.log_start, min(high_watermark, log.durable_end))
        for log, high_watermark in zip(logs, checkpointed, strict=True)
    ]
