"""Saying what recovery did, where operators look first."""

import structlog

from storage.log.store import LogStore

logger = structlog.get_logger(__name__)


def log_recovery(logs: LogStore) -> None:
    """Say what recovery did. A cut tail held nothing acknowledged; a corrupt place did."""
    report = logs.report
    logger.info(
        "logs_recovered",
        was_clean=report.was_clean,
        logs=report.logs,
        batches_verified=report.batches_verified,
        batches_replayed=report.batches_replayed,
        cut_bytes=report.cut_bytes,
        duration_ms=report.duration_ms,
    )
    for tail in report.torn_tails:
        logger.warning(
            "torn_tail_cut", log=str(tail.key), offset=tail.offset, size_bytes=tail.size_bytes, reason=tail.reason
        )
    for place in report.corrupt_places:
        logger.error(
            "records_corrupt",
            log=str(place.key),
            offset=place.offset,
            next_offset=place.next_offset,
            reason=place.reason,
        )
    for key, reason in report.refused.items():
        logger.error("log_refused", log=str(key), reason=reason)
    if logs.failure is not None:
        logger.critical("storage_failed", reason=logs.failure)
