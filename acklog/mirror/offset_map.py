"""Which offset of the source is which offset of the target. Without I/O.

Where nobody else sends to the target and nothing is removed by compaction, all of a partition is one run.
"""

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

RUNS_MAX = 128


class OffsetRun(msgspec.Struct, array_like=True, frozen=True):
    """`count` messages that follow each other without a hole, in the source and in the target."""

    source: int
    target: int
    count: int


class OffsetMap:
    """Of one partition. It keeps the last RUNS_MAX runs; `is_whole` is False where earlier ones were forgotten."""

    def __init__(self, runs: Sequence[OffsetRun] = (), *, is_whole: bool = True) -> None:
        self._runs = list(runs)
        self.is_whole = is_whole

    @property
    def runs(self) -> list[OffsetRun]:
        return list(self._runs)

    def add(self, source: int, target: int) -> None:
        """The message at `source` is at `target`, which is behind everything that was added before."""
        self._forget_from(source)
        if self._runs:
            last = self._runs[-1]
            if (last.source + last.count, last.target + last.count) == (source, target):
                self._runs[-1] = OffsetRun(last.source, last.target, last.count + 1)
                return
        self._runs.append(OffsetRun(source, target, 1))
        if len(self._runs) > RUNS_MAX:
            del self._runs[0]
            self.is_whole = False

    def target_of(self, position: int) -> int | None:
        """Where a reader of the target goes on that has done everything of the source below `position`: behind the
        last copy of what it has done. So never ahead of what was copied. None where that is not known any more, or
        nothing is copied."""
        at = bisect_left(self._runs, position, key=lambda run: run.source)
        if at > 0:
            run = self._runs[at - 1]
            return run.target + min(position - run.source, run.count)
        return self._runs[0].target if self._runs and self.is_whole else None

    def _forget_from(self, source: int) -> None:
        """The source's log was cut there, and the offsets are of other messages now."""
        while self._runs and self._runs[-1].source >= source:
            self._runs.pop()
        if self._runs and self._runs[-1].source + self._runs[-1].count > source:
            last = self._runs[-1]
            self._runs[-1] = OffsetRun(last.source, last.target, source - last.source)
