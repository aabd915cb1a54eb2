"""`python -m examples.flights`: `acklog demo` with a whole year of flights, where that lies beside the repository; with
`--cluster` as the first argument, `acklog cluster demo`."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from acklog.command.program import main
from app.commands.demo import INPUT_VARIABLE

YEAR = Path(__file__).resolve().parents[3] / "shared" / "data" / "flights.ndjson.gz"


def demo_arguments(given: Sequence[str], environment: Mapping[str, str], year: Path) -> list[str]:
    """The command line behind `acklog`: with the year's file, unless another input is named or it is not there."""
    is_named = bool(environment.get(INPUT_VARIABLE)) or any(each.partition("=")[0] == "--input" for each in given)
    year_input = [] if is_named or not year.is_file() else ["--input", str(year)]
    if given[:1] == ["--cluster"]:
        return ["cluster", "demo", *year_input, *given[1:]]
    return ["demo", *year_input, *given]


if __name__ == "__main__":
    sys.argv[1:] = demo_arguments(sys.argv[1:], os.environ, YEAR)
    main()
