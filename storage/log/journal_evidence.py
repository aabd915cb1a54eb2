"""What a journal is held to after a process that did not stop in order: files that are gone, short or end too early.

A journal whose end is zeros looks like one that never got any further. What tells the two apart is what was noted
elsewhere: the files that there were (`journal_files`), the last frame that was durable (`journal_reach`), and the same
as of the last recovery points. A journal that does not come up to these has lost what was acknowledged, and going on
would give its offsets out again (rule R34).

An older copy of the whole journal is at one with itself. It is told by the recovery points, which lie elsewhere: they
name the start that made the reach, and a frame that is there even if nothing needs it any more.
"""

from enum import Enum
from typing import NamedTuple

from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.journal_files import JOURNAL_FILES_PATH, found_files, read_recorded_files
from storage.log.journal_names import JOURNAL_DIRECTORY, journal_path
from storage.log.journal_reach import REACH_PATH, ReachDamagedError, read_life, read_reach
from storage.log.journal_scan import JournalScan
from storage.log.recovery_points import RecoveryPoints


class LossKind(Enum):
    MISSING = "missing"
    SHORT = "short"
    ENDS_EARLY = "ends early"
    OLDER = "older"  # at one with itself, and of before the recovery points
    RECORD_DAMAGED = "record damaged"  # of what the journal consists of, or how far it got


class JournalLoss(NamedTuple):
    """`text` says what is wrong with the file at `path`."""

    kind: LossKind
    path: str
    text: str


def find_losses(disk: Disk, *, journal_key: int, points: RecoveryPoints, scan: JournalScan) -> list[JournalLoss]:
    """What the journal, in which `scan` was found, lacks; empty for one that can be trusted.

    After an orderly stop everything is in the segments, and nothing of the journal is needed. Where an earlier version
    wrote the recovery points, nothing more is known of the journal than what is in it.
    """
    if points.is_clean:
        return []
    if not disk.exists(JOURNAL_DIRECTORY):
        return [JournalLoss(LossKind.MISSING, JOURNAL_DIRECTORY, "the directory is missing")]
    if not points.has_evidence:
        return []
    losses = _file_losses(disk)
    noted = 0
    try:
        noted = read_reach(disk, journal_key=journal_key) or 0
    except ReachDamagedError as error:
        losses.append(JournalLoss(LossKind.RECORD_DAMAGED, REACH_PATH, str(error)))
    reached = max(points.reached_sequence, noted)
    if scan.last_sequence < reached:
        text = f"its last whole frame is {scan.last_sequence}, but frame {reached} was durable"
        losses.append(JournalLoss(LossKind.ENDS_EARLY, JOURNAL_DIRECTORY, text))
    life = read_life(disk, journal_key=journal_key)
    if life is not None and life < points.journal_life:
        text = f"it is of start {life} of the directory, the last one was {points.journal_life}"
        losses.append(JournalLoss(LossKind.OLDER, JOURNAL_DIRECTORY, text))
    elif max(scan.present_sequence, noted) < points.present_sequence:
        # A reach that has got that far would say that covered frames have rotten, which nobody misses.
        text = f"its newest frame is {scan.present_sequence}, but frame {points.present_sequence} was there"
        losses.append(JournalLoss(LossKind.OLDER, JOURNAL_DIRECTORY, text))
    return losses


def _file_losses(disk: Disk) -> list[JournalLoss]:
    try:
        recorded = read_recorded_files(disk)
    except CheckpointDamagedError as error:
        return [JournalLoss(LossKind.RECORD_DAMAGED, JOURNAL_FILES_PATH, str(error))]
    losses = []
    found = found_files(disk)
    for number, size in sorted(recorded.items()):
        path = journal_path(number)
        if number not in found:
            losses.append(JournalLoss(LossKind.MISSING, path, "the file is missing"))
        elif found[number] != size:
            text = f"it has {found[number]} bytes, not the {size} that it was made with"
            losses.append(JournalLoss(LossKind.SHORT, path, text))
    return losses
