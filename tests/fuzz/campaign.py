"""Targets in turn, each for so many seconds, until one finds something."""

import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.corpus_files import CORPUS

INPUT_BYTES_MAX = 64 * 1024
INPUT_SECONDS_MAX = 20
"""On the wall, for what never ends; a slow input is told by the processor's time before that."""
MEMORY_MIB_MAX = 2048
_START_SECONDS_MAX = 120
_COUNT = re.compile(rb"stat::number_of_executed_units: *([0-9]+)")
_COVERAGE = re.compile(rb"cov: ([0-9]+)")
_SHOWN_LINES = 40


@dataclass(frozen=True, slots=True)
class Run:
    """One target's. `finding` is the file of an input that broke the promise, `output` what was said then."""

    name: str
    seconds: int
    inputs: int
    coverage: int
    finding: Path | None
    output: str
    is_whole: bool

    @property
    def line(self) -> str:
        outcome = "nothing found" if self.is_whole else "FOUND SOMETHING"
        rate = self.inputs // max(self.seconds, 1)
        return (
            f"{self.name:<20} {self.seconds:>6} s {self.inputs:>12,} inputs {rate:>9,}/s"
            f"  coverage {self.coverage:>5}  {outcome}"
        )


def run_target(name: str, module: str, *, seconds: int, directory: Path) -> Run:
    """`directory` keeps what was found, and the inputs that reached something new: the next run begins with them."""
    grown, findings = directory / "corpus" / name, directory / "findings"
    for each in (grown, findings):
        each.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    seeds = [str(CORPUS / name)] if (CORPUS / name).is_dir() else []
    command = [sys.executable, "-m", "tests.fuzz.instrumented", module, *_options(name, seconds, findings), str(grown)]
    done = subprocess.run(
        [*command, *seeds], capture_output=True, check=False, timeout=2 * seconds + _START_SECONDS_MAX
    )
    said = done.stderr + done.stdout
    counts, coverage = _COUNT.findall(said), _COVERAGE.findall(said)
    return Run(
        name=name,
        seconds=seconds,
        inputs=int(counts[-1]) if counts else 0,
        coverage=int(coverage[-1]) if coverage else 0,
        finding=next(iter(sorted(set(findings.iterdir()) - before)), None),
        output="\n".join(said.decode("utf-8", "replace").splitlines()[-_SHOWN_LINES:]),
        is_whole=done.returncode == 0,
    )


def _options(name: str, seconds: int, findings: Path) -> Iterable[str]:
    return (
        f"-max_total_time={seconds}",
        f"-max_len={INPUT_BYTES_MAX}",
        f"-timeout={INPUT_SECONDS_MAX}",
        f"-rss_limit_mb={MEMORY_MIB_MAX}",
        f"-artifact_prefix={findings}/{name}-",
        "-print_final_stats=1",
    )
