"""Whether a broker syncs before it answers: its system calls are counted while one connection sends."""

import asyncio
import re
import signal
from pathlib import Path

from loadtests.load import LoadFailedError
from loadtests.peers.process_tree import processes_of

_CALLS = "fsync,fdatasync,sync_file_range"
_ATTACHED_S = 1.0
_TOTAL = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d*\s+(\d+)\s+(?:\d+\s+)?(?:fsync|fdatasync)$", re.MULTILINE)


class SyncCount:
    """strace, attached to all of a broker's processes."""

    def __init__(self, pid: int, report: Path) -> None:
        self._pid = pid
        self._report = report
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Raises LoadFailedError where nobody may look."""
        pids = [option for pid in processes_of(self._pid) for option in ("-p", str(pid))]
        command = ["strace", "-f", "-c", "-e", f"trace={_CALLS}", "-o", str(self._report), *pids]
        self._process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
        await asyncio.sleep(_ATTACHED_S)
        if self._process.returncode is not None:
            raise LoadFailedError("strace could not attach: ptrace is not allowed here")

    async def stop(self) -> int:
        """How many syncs there were."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        await self._process.wait()
        return syncs_of(self._report.read_text())


def syncs_of(report: str) -> int:
    """The calls that strace's table counts; what of them failed is counted as well."""
    return sum(int(count) for count in _TOTAL.findall(report))
