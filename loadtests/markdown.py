"""What the pages with results have in common."""

from collections.abc import Sequence

from loadtests.process_usage import MIB
from loadtests.results_file import Machine


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def provenance(machine: Machine, *, date: str, rounds: int, seconds: float, load_before: float) -> str:
    """When and where it was measured, in a paragraph."""
    processors = f"{machine.processors} × {machine.processor}" if machine.processor else f"{machine.processors} CPUs"
    memory = f"{machine.memory_bytes / 1024 / MIB:.0f} GiB of memory"
    place = f"{processors}, {memory}, {machine.system}, Python {machine.python}"
    length = f"Rounds: {rounds}; the run took {seconds:.0f} s"
    return f"{date}, {place}. {length}, and the load average before it was {load_before:.1f}.\n"
