"""Live progress bars. They read the run's counters and change nothing."""

import asyncio
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from examples.flights.work import Work

REFRESH_S = 0.2


def make_progress(console: Console) -> Progress:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )
    return Progress(*columns, console=console)


async def show_work(progress: Progress, work: Work, restarts: Sequence[object]) -> None:
    """Run until cancelled; shows the last state then."""
    sent = progress.add_task("sent and durable", total=work.total, note="")
    groups = {group: progress.add_task(f"done by group {group}", total=work.total, note="") for group in work.done}
    while True:
        progress.update(sent, completed=work.sent, note=f"{len(restarts)} kills survived" if restarts else "")
        for group, task in groups.items():
            progress.update(task, completed=work.done[group])
        if work.steps == work.steps_total:
            return
        await asyncio.sleep(REFRESH_S)
