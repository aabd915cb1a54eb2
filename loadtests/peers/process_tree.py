"""The processes of a broker, and what they have used: some of them come and go, as those of Postgres' connections."""

import asyncio
import time
from bisect import bisect_left
from pathlib import Path

from loadtests.process_usage import usage_of

SAMPLE_S = 0.05


def processes_of(pid: int) -> list[int]:
    """It and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for each in found:
        found.extend(parents.get(each, ()))
    return found


class ProcessTimes:
    """Processor seconds of a broker over time; who has ended counts with what it was last seen to have used."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seconds: dict[int, float] = {}
        self._samples: list[tuple[int, float]] = []

    async def sample(self) -> None:
        """Until cancelled."""
        while True:
            self.note(time.time_ns())
            await asyncio.sleep(SAMPLE_S)

    def note(self, at_ns: int) -> None:
        for pid in processes_of(self._pid):
            try:
                self._seconds[pid] = usage_of(pid).cpu_s
            except ProcessLookupError:
                continue
        self._samples.append((at_ns, sum(self._seconds.values())))

    def between(self, started_ns: int, finished_ns: int) -> float:
        """Seconds; as exact as the samples are close."""
        return self._at(finished_ns) - self._at(started_ns)

    def _at(self, at_ns: int) -> float:
        index = bisect_left(self._samples, (at_ns, 0.0))
        return self._samples[min(index, len(self._samples) - 1)][1]
