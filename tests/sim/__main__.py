"""`python -m tests.sim --seed N` repeats one seed; `--seeds A..B --processes P` looks for one that fails.

The exit status is 1 if any seed failed.
"""

import argparse
import gc
import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.sim.world import Result, run_seed

HASH_SEED = "0"
SEED_TIMEOUT_S = 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="run this one and tell all about it")
    what.add_argument("--seeds", metavar="A..B", help="run these, B included")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--history", type=Path, help="write the seed's history to this file, as JSON lines")
    parser.add_argument("--logs", action="store_true", help="print what the server logged in the seed")
    parser.add_argument("--twice", action="store_true", help="run everything twice and compare the trace hashes")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return _run_one(arguments.seed, arguments)
    first, _, last = arguments.seeds.partition("..")
    return _run_many(range(int(first), int(last or first) + 1), arguments)


def _run_one(seed: int, arguments: argparse.Namespace) -> int:
    result = run_seed(seed)
    print(f"seed {seed}\n{result.options.describe()}\n")
    if arguments.logs:
        for entry in result.logs:
            print(f"  log {entry}")
    if arguments.history is not None:
        arguments.history.write_bytes(result.history.to_json_lines())
    _print_coverage(result.coverage)
    violations = list(result.violations)
    if arguments.twice and run_seed(seed).trace_hash != result.trace_hash:
        violations.append("a second run of the seed went another way")
    print(f"trace {result.trace_hash}")
    for violation in violations:
        print(f"VIOLATION {violation}")
    if violations:
        print(f"repeat with: {_how_to_repeat(seed)}")
    return 1 if violations else 0


class _TookTooLongError(Exception):
    pass


def _stop_waiting(signal_number: int, frame: object) -> None:
    raise _TookTooLongError(f"more than {SEED_TIMEOUT_S} s")


def _run_seed_for_summary(seed: int, is_twice: bool) -> tuple[int, list[str], Counter[str]]:
    signal.signal(signal.SIGALRM, _stop_waiting)
    signal.alarm(SEED_TIMEOUT_S)
    result: Result = run_seed(seed)
    signal.alarm(0)
    violations = list(result.violations)
    if is_twice and run_seed(seed).trace_hash != result.trace_hash:
        violations.append("a second run of the seed went another way")
    gc.collect()
    return seed, violations, result.coverage


def _run_many(seeds: range, arguments: argparse.Namespace) -> int:
    began_s = time.monotonic()
    coverage: Counter[str] = Counter()
    failed = 0
    twice = [arguments.twice] * len(seeds)
    with ProcessPoolExecutor(arguments.processes) as pool:
        for seed, violations, counted in pool.map(_run_seed_for_summary, seeds, twice):
            coverage.update(counted)
            if violations:
                failed += 1
                print(f"seed {seed} FAILED: {violations[0]} ({len(violations)} violations)")
                print(f"  repeat with: {_how_to_repeat(seed)}", flush=True)
    elapsed_s = time.monotonic() - began_s
    _print_coverage(coverage)
    print(f"{len(seeds)} seeds, {failed} failed, {elapsed_s:.1f} s, {len(seeds) / elapsed_s:.2f} seeds/s")
    return 1 if failed else 0


def _how_to_repeat(seed: int) -> str:
    return f"PYTHONHASHSEED={HASH_SEED} python -m tests.sim --seed {seed} --logs"


def _print_coverage(coverage: Counter[str]) -> None:
    for name in sorted(coverage):
        print(f"  {name:40} {coverage[name]}")


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:  # a second line of defence: nothing should depend on it
        os.environ["PYTHONHASHSEED"] = HASH_SEED
        os.execv(sys.executable, [sys.executable, "-m", "tests.sim", *sys.argv[1:]])
    sys.exit(main())
