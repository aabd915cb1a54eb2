"""What replication sees of a log. It changes a log by effects only, and looks at it here."""

from typing import Protocol

from storage.log.leader_epochs import LeaderEpochs


class ReplicaLog(Protocol):
    """A partition has several (messages, delivery records), numbered by `storage.log.keys.LogKind`.

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
