"""`python -m tests.sim.cluster.hunt`: for each planted bug, the first seed that finds it, and by what complaint.

A seed counts only if it has nothing to say about the code as it is. The exit status is 1 if a bug is not found within
`--seeds`, unless other tests are known to find it, which the table then names.
"""

import argparse
import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import pytest
from rich.console import Console
from rich.table import Table

from tests.sim.cluster.mutants import FOUND_ELSEWHERE, MUTANTS, RARE, Mutant
from tests.sim.world import run_cluster_seed

HASH_SEED = "0"
SEEDS_MAX = 500
SEED_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Found:
    """`seed` None: nobody complained."""

    name: str
    seeds: int
    seed: int | None
    complaint: str
    elapsed_s: float


def first_complaint(mutant: Mutant, seed: int) -> str | None:
    """What the seed has to say about the planted bug."""
    with pytest.MonkeyPatch.context() as patch:
        mutant(patch)
        violations = run_cluster_seed(seed).violations
    return violations[0] if violations else None


def hunt(name: str, seeds_max: int) -> Found:
    mutant = next(each for each in (*MUTANTS, *RARE) if each.__name__ == name)
    began_s = time.monotonic()
    for seed in range(seeds_max):
        signal.alarm(SEED_TIMEOUT_S)
        complaint = first_complaint(mutant, seed)
        signal.alarm(0)
        if complaint is not None and not run_cluster_seed(seed).violations:
            return Found(name, seed + 1, seed, complaint, time.monotonic() - began_s)
    return Found(name, seeds_max, None, "", time.monotonic() - began_s)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.cluster.hunt", description=__doc__)
    parser.add_argument("names", nargs="*", help="planted bugs; without any, all but the rare ones")
    parser.add_argument("--seeds", type=int, default=SEEDS_MAX)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    names = arguments.names or [mutant.__name__ for mutant in MUTANTS]
    console = Console()
    table = Table("planted bug", "seeds", "seconds", "found by", title="Planted bugs")
    with ProcessPoolExecutor(arguments.processes) as pool:
        found = []
        for each in pool.map(hunt, names, [arguments.seeds] * len(names)):
            found.append(each)
            told = _told(each)
            console.print(f"{each.name}: {told}", markup=False, soft_wrap=True)
            table.add_row(each.name, str(each.seeds), f"{each.elapsed_s:.0f}", told.replace("[", "\\["))
    console.print(table)
    return 0 if all(is_known_to_be_found(each) for each in found) else 1


def is_known_to_be_found(found: Found) -> bool:
    return found.seed is not None or found.name in FOUND_ELSEWHERE


def _told(found: Found) -> str:
    if found.seed is not None:
        return f"seed {found.seed}: {found.complaint[:100]}"
    return f"NOT FOUND by seeds, but by {FOUND_ELSEWHERE[found.name]}" if is_known_to_be_found(found) else "NOT FOUND"


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        os.environ["PYTHONHASHSEED"] = HASH_SEED
        os.execv(sys.executable, [sys.executable, "-m", "tests.sim.cluster.hunt", *sys.argv[1:]])
    sys.exit(main())
