"""`python -m tests.sim --seed N` repeats one seed; `--seeds A..B --processes P` looks for one that fails.

With `--cluster` it is a whole cluster, else an embedded server. The exit status is 1 if any seed failed, or if many
seeds never came to what they are for.
"""

import argparse
import gc
import os
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.sim.reached import CLUSTER_STATES, EMBEDDED_STATES, never_reached, too_little
from tests.sim.world import FAULTS_MIN, Result, run_cluster_seed, run_embedded_seed

HASH_SEED = "0"
LINE_EVERY_SEEDS = 100
"""Where no progress bar is drawn."""

SEED_TIMEOUT_S = 120
"""Of processor time: a seed waits for nothing, and others may be using the machine."""


@dataclass(frozen=True, slots=True)
class _Summary:
    """What many seeds leave of each."""

    seed: int
    violations: list[str]
    coverage: Counter[str]


@dataclass(slots=True)
class _Totals:
    coverage: Counter[str] = field(default_factory=Counter)
    seeds_with: Counter[str] = field(default_factory=Counter)
    acknowledged: list[int] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    failed: int = 0

    def add(self, summary: _Summary) -> None:
        self.coverage.update(summary.coverage)
        self.seeds_with.update(name for name, count in summary.coverage.items() if count)
        self.acknowledged.append(summary.coverage["send OK"])
        self.faults.append(sum(count for name, count in summary.coverage.items() if name.startswith("fault")))
        self.failed += bool(summary.violations)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="run this one and tell all about it")
    what.add_argument("--seeds", metavar="A..B", help="run these, B included")
    parser.add_argument("--cluster", action="store_true", help="several nodes and gateways instead of one server")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--history", type=Path, help="write the seed's history to this file, as JSON lines")
    parser.add_argument("--logs", action="store_true", help="print what the servers logged in the seed")
    parser.add_argument("--twice", action="store_true", help="run everything twice and compare the trace hashes")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return _run_one(arguments.seed, arguments)
    first, _, last = arguments.seeds.partition("..")
    return _run_many(range(int(first), int(last or first) + 1), arguments)


def _runner(is_cluster: bool) -> Callable[[int], Result]:
    return run_cluster_seed if is_cluster else run_embedded_seed


def _run_one(seed: int, arguments: argparse.Namespace) -> int:
    run = _runner(arguments.cluster)
    began_s = time.process_time()
    result = run(seed)
    print(f"seed {seed}, {time.process_time() - began_s:.2f} s of CPU time\n{result.options.describe()}\n")
    if arguments.logs:
        for entry in result.logs:
            print(f"  log {entry}")
    if arguments.history is not None:
        arguments.history.write_bytes(result.history.to_json_lines())
    for name in sorted(result.coverage):
        print(f"  {name:48} {result.coverage[name]}")
    violations = list(result.violations)
    if arguments.twice and run(seed).trace_hash != result.trace_hash:
        violations.append("a second run of the seed went another way")
    print(f"trace {result.trace_hash}")
    for violation in violations:
        print(f"VIOLATION {violation}")
    if violations:
        print(f"repeat with: {_how_to_repeat(seed, arguments.cluster)}")
    return 1 if violations else 0


class _TookTooLongError(Exception):
    pass


def _stop_waiting(signal_number: int, frame: object) -> None:
    raise _TookTooLongError(f"more than {SEED_TIMEOUT_S} s of processor time")


def _summarise(seed: int, is_cluster: bool, is_twice: bool) -> _Summary:
    signal.signal(signal.SIGPROF, _stop_waiting)
    signal.setitimer(signal.ITIMER_PROF, SEED_TIMEOUT_S)
    run = _runner(is_cluster)
    result = run(seed)
    violations = list(result.violations)
    if result.options.faults:
        violations += too_little(result.coverage, faults_min=FAULTS_MIN)
    if is_twice and run(seed).trace_hash != result.trace_hash:
        violations.append("a second run of the seed went another way")
    signal.setitimer(signal.ITIMER_PROF, 0)
    coverage = result.coverage
    del result
    gc.collect()
    return _Summary(seed, violations, coverage)


def _collect_seldom() -> None:
    """A seed makes little that refers to itself, and ends with a collection: to look for such things all the while
    takes a sixth of its time."""
    gc.set_threshold(200_000, 20, 100)


def _run_many(seeds: range, arguments: argparse.Namespace) -> int:
    began_s = time.monotonic()
    totals = _Totals()
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        ProcessPoolExecutor(arguments.processes, initializer=_collect_seldom) as pool,
        Progress(*columns, console=console) as progress,
    ):
        task = progress.add_task("seeds", total=len(seeds))
        cluster, twice = [arguments.cluster] * len(seeds), [arguments.twice] * len(seeds)
        for summary in pool.map(_summarise, seeds, cluster, twice):
            totals.add(summary)
            progress.update(task, advance=1, description=f"seeds, {totals.failed} failed")
            if not console.is_terminal and len(totals.acknowledged) % LINE_EVERY_SEEDS == 0:
                console.print(f"{len(totals.acknowledged)} seeds, {totals.failed} failed")
            if summary.violations:
                count = len(summary.violations)
                console.print(
                    f"seed {summary.seed} FAILED: {summary.violations[0]} ({count} violations)",
                    markup=False,
                    soft_wrap=True,
                )
                console.print(
                    f"  repeat with: {_how_to_repeat(summary.seed, arguments.cluster)}", markup=False, soft_wrap=True
                )
    elapsed_s = time.monotonic() - began_s
    _print_table(console, totals, len(seeds))
    console.print(
        f"{len(seeds)} seeds, {totals.failed} failed, {elapsed_s:.1f} s, {len(seeds) / elapsed_s:.2f} seeds/s"
    )
    states = CLUSTER_STATES if arguments.cluster else EMBEDDED_STATES
    missing = never_reached(totals.coverage, states, seeds=len(seeds))
    for name in missing:
        console.print(f"NEVER REACHED: {name}", markup=False)
    return 1 if totals.failed or missing else 0


def _print_table(console: Console, totals: _Totals, seeds: int) -> None:
    table = Table("what happened", "times", "in % of the seeds", title="Coverage")
    for column in table.columns[1:]:
        column.justify = "right"
    for name in sorted(totals.coverage):
        table.add_row(name, f"{totals.coverage[name]:,}", f"{100 * totals.seeds_with[name] / seeds:.0f}")
    console.print(table)
    each = Table("of each seed", "least", "median", "most", title="Size")
    for name, counts in (("acknowledged messages", totals.acknowledged), ("faults", totals.faults)):
        each.add_row(name, *(f"{value:,.0f}" for value in (min(counts), statistics.median(counts), max(counts))))
    console.print(each)


def _how_to_repeat(seed: int, is_cluster: bool) -> str:
    return f"PYTHONHASHSEED={HASH_SEED} python -m tests.sim {'--cluster ' if is_cluster else ''}--seed {seed} --logs"


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:  # a second line of defence: nothing should depend on it
        os.environ["PYTHONHASHSEED"] = HASH_SEED
        os.execv(sys.executable, [sys.executable, "-m", "tests.sim", *sys.argv[1:]])
    sys.exit(main())
