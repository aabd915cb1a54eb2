"""The window of idempotency keys, made from what a partition's log holds: what a new leader needs to answer a retry."""

import structlog

from acklog.wire.batch import decode_keys
from cluster.ports.clock import Clock
from storage.log.log_walk import LogWalk, Unreadable
from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch
from storage.produce.dedup_window import DedupWindow

logger = structlog.get_logger(__name__)

_READ_BYTES = 4 * 1024 * 1024


async def read_keys(log: PartitionLog, window: DedupWindow, clock: Clock) -> None:
    """Fill `window` with the keys of the log's batches that were appended within it (rule R19).

    What cannot be read is stepped over, and the window told of it (rule R40). Raises ServerError: STORAGE_FAILED, and
    RECORDS_CORRUPT where the whole log is not served.
    """
    reading = _Reading(log, window, clock)
    for first, end, latest_ms in await log.keyed_ranges_since(reading.since_ms):
        walk = LogWalk(log, first, end)
        while (found := await walk.next(_READ_BYTES)) is not None:
            if isinstance(found, Unreadable):
                reading.damage = found
            else:
                reading.take(found)
        reading.end_range(latest_ms)


class _Reading:
    """Of one log. Damage is judged by the batch behind it, which is not older, or by what is known of its range."""

    def __init__(self, log: PartitionLog, window: DedupWindow, clock: Clock) -> None:
        self._log = log
        self._window = window
        self._wall_now_ms = clock.now_ms()
        self._now_ms = clock.monotonic_ms()
        self.damage: Unreadable | None = None  # what was read last, if that was damage
        self.since_ms = self._wall_now_ms - window.window_ms

    def take(self, found: list[StoredBatch]) -> None:
        """The next batches of the log."""
        for header, data in found:
            self._judge_damage(header.append_time_ms)
            if not header.is_keyed or header.append_time_ms < self.since_ms:
                continue
            try:
                keys = decode_keys(data, header)
            except ValueError:  # of msgpack, and of text
                self.damage = Unreadable(header.base_offset, header.next_offset)
                self._judge_damage(header.append_time_ms)
                continue
            age_ms = self._wall_now_ms - header.append_time_ms
            self._window.rebuild(
                keys,
                header.base_offset,
                header.leader_epoch,
                age_ms=age_ms,
                now_ms=self._now_ms,
                log=self._log.key.kind,
            )

    def end_range(self, latest_ms: int) -> None:
        """Nothing follows that was appended at `latest_ms` or before."""
        self._judge_damage(latest_ms)

    def _judge_damage(self, append_ms: int) -> None:
        """What is damaged was appended at `append_ms` at the latest."""
        damage, self.damage = self.damage, None
        if damage is None or append_ms < self.since_ms:
            return
        self._window.note_unreadable(age_ms=self._wall_now_ms - append_ms, now_ms=self._now_ms)
        logger.error(
            "idempotency_keys_unreadable",
            log=str(self._log.key),
            offset=damage.offset,
            next_offset=damage.next_offset,
        )
