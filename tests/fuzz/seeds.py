"""`python -m tests.fuzz.seeds`: the seeds of all targets, or of those that are named, written anew by the product's own
encoders."""

import sys

from tests.fuzz.corpus_files import write_seeds
from tests.fuzz.targets_table import TARGETS, load_target, module_of


def main(names: list[str]) -> None:
    for name in names or TARGETS:
        count = write_seeds(name, load_target(module_of(name)).seeds())
        print(f"{name}: {count} seeds")


if __name__ == "__main__":
    main(sys.argv[1:])
