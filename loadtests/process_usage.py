"""What a process has used so far, from /proc."""

import os
from pathlib import Path
from typing import NamedTuple

MIB = 1024 * 1024
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_USER_TICKS, _SYSTEM_TICKS, _RESIDENT_PAGES = 11, 12, 21  # fields of /proc/<pid>/stat after the command's name


class ProcessUsage(NamedTuple):
    """Seconds of CPU over all threads, and resident memory now."""

    cpu_s: float
    resident_bytes: int


def usage_of(pid: int) -> ProcessUsage:
    """Raises ProcessLookupError for a process that does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(f"there is no process {pid}") from None
    fields = text.rpartition(")")[2].split()
    ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
    return ProcessUsage(ticks / _TICKS_PER_SECOND, int(fields[_RESIDENT_PAGES]) * _PAGE_BYTES)
