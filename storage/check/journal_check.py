"""The journal of a directory that lies still: are the frames that a start needs all there, and is the newest torn?"""

from storage.check.figures import JournalFigures
from storage.check.findings import FindingKind, Findings
from storage.disk.port import Disk
from storage.log.journal import JOURNAL_DIRECTORY, journal_number, journal_path
from storage.log.journal_frame import BLOCK_BYTES, FRAME_HEADER_BYTES, decode_header, read_body
from storage.log.journal_scan import FramePlace, JournalCorruptError, scan_journal

_FILES_MIN = 2  # a start makes as many before it takes the first message


def check_journal(
    disk: Disk, *, journal_key: int, covered_sequence: int, was_used: bool, findings: Findings, figures: JournalFigures
) -> list[FramePlace]:
    """The frames that a start would replay, in order; none if it would refuse to.

    `was_used`: there are partitions, so that the journal's files must have existed.
    """
    try:
        names = disk.list_directory(JOURNAL_DIRECTORY)
    except OSError as error:
        findings.add(FindingKind.JOURNAL_MISSING, JOURNAL_DIRECTORY, str(error))
        return []
    numbers = [number for name in names if (number := journal_number(name)) is not None]
    figures.files = len(numbers)
    for name in names:
        if journal_number(name) is None:
            findings.add(FindingKind.FILE_UNKNOWN, f"{JOURNAL_DIRECTORY}/{name}", "the journal has no such file")
    if was_used and len(numbers) < _FILES_MIN:
        detail = f"{len(numbers)} files are there, a server that ran has at least {_FILES_MIN}"
        findings.add(FindingKind.JOURNAL_MISSING, JOURNAL_DIRECTORY, detail)
    _compare_sizes(disk, numbers, findings)
    try:
        scan = scan_journal(disk, journal_key=journal_key, covered_sequence=covered_sequence)
    except JournalCorruptError as error:
        findings.add(FindingKind.JOURNAL_DAMAGED, JOURNAL_DIRECTORY, str(error))
        return []
    except OSError as error:
        findings.add(FindingKind.FILE_UNREADABLE, JOURNAL_DIRECTORY, str(error))
        return []
    figures.frames = len(scan.frames)
    for number in numbers:
        _find_torn_frame(disk, number, journal_key=journal_key, sequence=scan.last_sequence + 1, findings=findings)
    return scan.frames


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
            findings.add(FindingKind.JOURNAL_SHORT, journal_path(number), f"{size} bytes, another one has {longest}")


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
