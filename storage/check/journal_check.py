"""The journal of a directory that lies still: are the frames that a start needs all there, and is the newest torn?"""

from storage.check.figures import JournalFigures
from storage.check.findings import FindingKind, Findings
from storage.disk.port import Disk
from storage.log.checkpoint import TEMPORARY_SUFFIX
from storage.log.journal_evidence import LossKind, find_losses
from storage.log.journal_files import JOURNAL_FILES_PATH
from storage.log.journal_frame import BLOCK_BYTES, FRAME_HEADER_BYTES, decode_header, read_body
from storage.log.journal_names import JOURNAL_DIRECTORY, journal_number, journal_path
from storage.log.journal_reach import REACH_PATH
from storage.log.journal_scan import FramePlace, JournalCorruptError, scan_journal
from storage.log.recovery_points import RecoveryPoints

_KINDS = {
    LossKind.MISSING: FindingKind.JOURNAL_MISSING,
    LossKind.SHORT: FindingKind.JOURNAL_SHORT,
    LossKind.ENDS_EARLY: FindingKind.JOURNAL_ENDS_EARLY,
    LossKind.OLDER: FindingKind.JOURNAL_OLDER,
    LossKind.RECORD_DAMAGED: FindingKind.JOURNAL_RECORD_DAMAGED,
}
_FILES_MIN = 2  # a start makes as many before it takes the first message


def check_journal(
    disk: Disk, *, journal_key: int, points: RecoveryPoints, was_used: bool, findings: Findings, figures: JournalFigures
) -> list[FramePlace]:
    """The frames that a start would replay, in order; none if it would refuse to.

    `was_used`: there are partitions, so that the journal's files must have existed.
    """
    names = disk.list_directory(JOURNAL_DIRECTORY) if disk.exists(JOURNAL_DIRECTORY) else []
    numbers = [number for name in names if (number := journal_number(name)) is not None]
    figures.files = len(numbers)
    _look_at_names(names, findings)
    try:
        scan = scan_journal(disk, journal_key=journal_key, covered_sequence=points.covered_sequence)
        losses = find_losses(disk, journal_key=journal_key, points=points, scan=scan)
    except JournalCorruptError as error:
        findings.add(FindingKind.JOURNAL_DAMAGED, JOURNAL_DIRECTORY, str(error))
        return []
    except OSError as error:
        findings.add(FindingKind.FILE_UNREADABLE, JOURNAL_DIRECTORY, str(error))
        return []
    for loss in losses:
        findings.add(_KINDS[loss.kind], loss.path, loss.text)
    if losses:
        return []
    if was_used and len(numbers) < _FILES_MIN:
        kind = FindingKind.JOURNAL_ABSENT if points.is_clean else FindingKind.JOURNAL_MISSING
        findings.add(kind, JOURNAL_DIRECTORY, f"{len(numbers)} files are there, a server that ran has {_FILES_MIN}")
    if not points.has_evidence:
        _compare_sizes(disk, numbers, findings)
    figures.frames = len(scan.frames)
    for number in numbers:
        _find_torn_frame(disk, number, journal_key=journal_key, sequence=scan.last_sequence + 1, findings=findings)
    return scan.frames


def _look_at_names(names: list[str], findings: Findings) -> None:
    known = {path.rpartition("/")[2] for path in (JOURNAL_FILES_PATH, REACH_PATH)}
    for name in names:
        path = f"{JOURNAL_DIRECTORY}/{name}"
        if name.removesuffix(TEMPORARY_SUFFIX) in known:
            if name not in known:
                findings.add(FindingKind.FILE_TEMPORARY, path, "the next start replaces it")
        elif journal_number(name) is None:
            findings.add(FindingKind.FILE_UNKNOWN, path, "the journal has no such file")


def _compare_sizes(disk: Disk, numbers: list[int], findings: Findings) -> None:
    """They are preallocated to one size, and a start removes those of another."""
    sizes: dict[int, int] = {}
    for number in numbers:
        try:
            file = disk.open(journal_path(number))
        except OSError:
            continue  # the scan says so
        sizes[number] = file.size()
        file.close()
    longest = max(sizes.values(), default=0)
    for number, size in sizes.items():
        if size < longest:
            findings.add(FindingKind.JOURNAL_UNEQUAL, journal_path(number), f"{size} bytes, another one has {longest}")


def _find_torn_frame(disk: Disk, number: int, *, journal_key: int, sequence: int, findings: Findings) -> None:
    """The frame that would come next, begun and not whole."""
    path = journal_path(number)
    file = disk.open(path)
    try:
        for position in range(0, file.size(), BLOCK_BYTES):
            header = decode_header(file.read(position, FRAME_HEADER_BYTES), journal_key)
            if header is not None and header.sequence == sequence and read_body(file, position, header) is None:
                detail = f"frame {sequence} at byte {position}, {header.entries} logs, {header.body_bytes} bytes"
                findings.add(FindingKind.JOURNAL_TORN, path, detail)
    except OSError as error:
        findings.add(FindingKind.FILE_UNREADABLE, path, str(error))
    finally:
        file.close()
