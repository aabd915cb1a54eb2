"""Batches whose checksums are right and that cannot be decrypted: somebody has changed them, or put them there.

No replica is asked for another copy, as what a leader encrypts is the same on all of them: a person has to look.
"""

import structlog

from storage.log.keys import LogKey

PLACES_MAX = 10_000
"""More are neither told nor counted."""

logger = structlog.get_logger(__name__)


class UndecryptableBatches:
    """Of one data directory, since its start. Each is told once, however often it is read."""

    def __init__(self) -> None:
        self._places: dict[tuple[LogKey, int], None] = {}

    @property
    def count(self) -> int:
        return len(self._places)

    def note(self, key: LogKey, offset: int, reason: str) -> None:
        """`offset` is the batch's first."""
        place = key, offset
        if place in self._places or len(self._places) >= PLACES_MAX:
            return
        self._places[place] = None
        logger.error("batch_not_decrypted", log=str(key), offset=offset, reason=reason)
