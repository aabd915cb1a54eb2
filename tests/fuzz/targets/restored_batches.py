"""Batches of a backup, as a restore sends them."""

from cluster.errors import ServerError
from storage.log.stamped_run import StampedRun
from storage.restore.restored_batches import PLACEHOLDER_RECORDS_MAX, PLACEHOLDERS_MAX, LogTail, restored_batches
from tests.fuzz.batch_bytes import batches, mended
from tests.fuzz.fuzz_target import FuzzTarget

_TAIL = LogTail(0, -1, 9)


def _seeds() -> list[bytes]:
    found = batches()
    return [*found, found[0] + found[1], found[0] + found[6]]


def _read(data: bytes) -> None:
    for content in (mended(data), data):
        made = b"".join(restored_batches(content, _TAIL))
        if made:
            run = StampedRun(made)
            assert (run.base_offset, run.epochs) == (0, [(9, 0)])
            if run.end_offset < PLACEHOLDER_RECORDS_MAX * PLACEHOLDERS_MAX:
                assert restored_batches(content, LogTail(run.end_offset, run.last_append_ms, 9)) == []


TARGET = FuzzTarget(_read, (ServerError,), _seeds)
