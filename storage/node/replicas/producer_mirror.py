"""Keeps a replica's window of producers as its log is, whatever the replica's role (rules R19, R21)."""

import structlog

from acklog.wire.batch_run import producers_of
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.disk.port import Buffer
from storage.log.log_walk import LogWalk, Unreadable
from storage.log.partition_log import PartitionLog
from storage.log.stored_log import StoredLog
from storage.produce.producer_window import ProducerWindow, ProducerWindowSettings

logger = structlog.get_logger(__name__)

_READ_BYTES = 1024 * 1024


class ProducerMirror:
    """`window` is asked and fed by the leader; what comes by replication or recovery is told here.

    How old a batch is goes by nobody's clock but that of the log: a node whose clock is minutes ahead of the former
    leader's would take batches of this moment for old, forget them, and append them again. To remember too much only
    takes memory, which is bounded.
    """

    def __init__(self, settings: ProducerWindowSettings, clock: Clock) -> None:
        self.window = ProducerWindow(settings)
        self._settings = settings
        self._clock = clock

    async def rebuild(self, log: PartitionLog, *, bytes_max: int) -> None:
        """Read the batches of the window before the log's last one, `bytes_max` at most. Where there are more, retries
        of unknown batches are refused for the length of the window; where some are damaged, for as long as one of them
        is in it."""
        try:
            is_complete = await self._read(log, bytes_max)
        except ServerError as error:
            logger.warning("producers_not_read", log=str(log.key), reason=str(error))
            is_complete = False
        if not is_complete:
            self.forget()

    async def _read(self, log: PartitionLog, left_bytes: int) -> bool:
        """Whether all of the window was read, but for damage, which the window is told of."""
        if log.log_end == log.log_start:
            return True
        if left_bytes <= 0:
            return False
        last_ms = min(log.last_append_ms, self._clock.now_ms())
        first = await log.offset_at_time(last_ms - self._settings.window_ms)
        walk = LogWalk(StoredLog(log), first, log.log_end)
        is_damaged = False
        while (found := await walk.next(min(_READ_BYTES, left_bytes))) is not None:
            if isinstance(found, Unreadable):
                logger.warning("producers_unreadable", log=str(log.key), offset=found.offset)
                is_damaged = True
                continue
            if is_damaged:  # it is not younger than what is behind it
                self._note_unreadable(last_ms - found[0].header.append_time_ms)
                is_damaged = False
            for stored in found:
                self._note(stored.data, last_ms)
                left_bytes -= stored.header.length
            if left_bytes <= 0:
                return found[-1].header.next_offset >= log.log_end
        if is_damaged:
            self._note_unreadable(0)
        return True

    def _note_unreadable(self, age_ms: int) -> None:
        self.window.note_unreadable(age_ms=age_ms, now_ms=self._clock.monotonic_ms())

    def note(self, batches: Buffer) -> None:
        """These have come into the log just now."""
        self._note(batches, None)

    def _note(self, batches: Buffer, last_ms: int | None) -> None:
        now_ms = self._clock.monotonic_ms()
        for producer_id, sequence, base_offset, leader_epoch, append_ms in producers_of(batches):
            self.window.note(
                producer_id,
                sequence,
                base_offset=base_offset,
                leader_epoch=leader_epoch,
                append_time_ms=append_ms,
                age_ms=0 if last_ms is None else last_ms - append_ms,
                now_ms=now_ms,
            )

    def truncated(self, log_end: int) -> None:
        self.window.truncate_to(log_end)

    def forget(self) -> None:
        """The log was replaced, or was not read to the end."""
        self.window.forget_all(now_ms=self._clock.monotonic_ms())
