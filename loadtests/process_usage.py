"""What a process has used so far, from /proc."""

import os
from pathlib import Path
from typing import NamedTuple

MIB = 1024 * 1024
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_USER_TICKS, _SYSTEM_TICKS, _RESIDENT_PAGES = 11, 12, 21  # fields of /proc/<pid>/stat after the command's name
_PEAK = "VmHWM:"  # of /proc/<pid>/status, in kB


class ProcessUsage(NamedTuple):
    """Seconds of CPU over all threads, resident memory now, and the most that was ever resident."""

    cpu_s: float
    resident_bytes: int
    peak_bytes: int


def usage_of(pid: int) -> ProcessUsage:
    """Raises ProcessLookupError for a process that does not exist."""
    directory = Path(f"/proc/{pid}")
    try:
        text = (directory / "stat").read_text()
        status = (directory / "status").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(f"there is no process {pid}") from None
    fields = text.rpartition(")")[2].split()
    ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    resident = int(fields[_RESIDENT_PAGES]) * _PAGE_BYTES
    peaks = [int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(_PEAK)]
    return ProcessUsage(ticks / _TICKS_PER_SECOND, resident, max([resident, *peaks]))
