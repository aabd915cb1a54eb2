"""`make fuzz`: every target in turn under atheris, or one. It ends with the first finding, and says where that is."""

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.campaign import Run, run_target
from tests.fuzz.corpus_files import CORPUS, FOUND
from tests.fuzz.targets_table import TARGETS, module_of

NO_ATHERIS = (
    "make fuzz needs atheris, which there is for Linux on x86-64 and Python 3.11 to 3.13 only. Elsewhere the corpora "
    "are still tried: .venv/bin/python -m pytest tests/fuzz"
)
_SECONDS_DEFAULT = 60
_BUILD = Path(__file__).resolve().parents[2] / "build" / "fuzz"
"""Not in the repository: what a run has learned, and what it has found."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=_SECONDS_DEFAULT, help="for each target (default: 60)")
    parser.add_argument("--directory", type=Path, default=_BUILD, help="for findings and grown corpora")
    given = parser.parse_args(arguments)
    if find_spec("atheris") is None:
        print(NO_ATHERIS, file=sys.stderr)
        return 2
    for name in [given.target] if given.target else TARGETS:
        run = run_target(name, module_of(name), seconds=given.seconds, directory=given.directory)
        print(run.line, flush=True)
        if not run.is_whole:
            print(what_to_do(run), file=sys.stderr)
            return 1
    return 0


def what_to_do(run: Run) -> str:
    if run.finding is None:
        return f"{run.output}\n{run.name} ended before it tried anything."
    kept = CORPUS / run.name / f"{FOUND}NAME"
    return (
        f"{run.output}\nThe input is {run.finding}. Keep it as a test, under a name that says what is wrong:\n"
        f"  cp {run.finding} {kept}\n"
        f"  .venv/bin/python -m pytest tests/fuzz/test_corpora.py -k {run.name}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
