"""What waits to be appended to a log, and what the log will be when that is in it."""

import asyncio
from typing import NamedTuple, Protocol

from storage.disk.port import Buffer
from storage.log.log_state import LogState
from storage.log.stamped_run import StampedRun


class Appended(NamedTuple):
    """Where a batch went: its first offset, when, and the offset after its last record."""

    base_offset: int
    append_time_ms: int
    next_offset: int


class AppendWaiter(Protocol):
    """Who is told of an append: a future is one. Told on the event loop, exactly once unless it is `done`."""

    def done(self) -> bool: ...

    def set_result(self, result: Appended, /) -> None: ...

    def set_exception(self, exception: BaseException, /) -> None: ...


class Pending(NamedTuple):
    """An append that waits for a round: a batch that this log stamps, or batches that another leader has (`run`)."""

    log: "LogQueue"
    batch: Buffer
    records: int
    flags: int
    leader_epoch: int
    waiter: AppendWaiter
    run: StampedRun | None = None


class LogQueue:
    """A log as the group commit sees it. While `holds` is above zero its appends stay in the queue.

    `end`, `newest_epoch` and `newest_ms` are what the log will have when everything that is queued is in it; the last
    one does not know yet of batches that this log will stamp.
    """

    __slots__ = ("changing", "end", "holds", "journal_key", "newest_epoch", "newest_ms", "state")

    def __init__(self, state: LogState) -> None:
        self.state = state
        self.journal_key = str(state.key).encode()
        self.holds = 0
        self.changing = asyncio.Lock()  # held by who cuts the log or begins it anew, one after the other
        self.end = state.log_end
        self.newest_epoch = state.epochs.last_epoch
        self.newest_ms = state.last_append_ms

    def forget_queued(self) -> None:
        """Nothing is queued: what the log has is what it will have."""
        self.end = self.state.log_end
        self.newest_epoch = self.state.epochs.last_epoch
        self.newest_ms = self.state.last_append_ms

    def note_queued(self, item: Pending) -> None:
        """`item` is queued, too."""
        self.end += item.records
        self.newest_epoch = max(self.newest_epoch, item.leader_epoch)
        if item.run is not None:
            self.newest_ms = max(self.newest_ms, item.run.last_append_ms)

    def check_follows(self, run: StampedRun) -> None:
        """Raises ValueError unless `run` goes on where the log will end."""
        if run.base_offset != self.end:
            raise ValueError(f"the batches begin at offset {run.base_offset}, the log ends at {self.end}")
        if run.first_epoch < self.newest_epoch:
            raise ValueError(f"leader epoch {run.first_epoch} after {self.newest_epoch}")
        if run.append_ms_of(0) < self.newest_ms:
            raise ValueError(f"append time {run.append_ms_of(0)} after {self.newest_ms}")
