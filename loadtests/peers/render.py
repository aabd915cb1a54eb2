"""`python -m loadtests.peers.render RESULTS.json`: writes the results of `make peers` into docs/benchmarks.md, between
its markers."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from loadtests.markdown import markdown_table, provenance
from loadtests.peers.peer_run import PeerRun, read_peer_run
from loadtests.peers.table import columns_of, losses_of, rows_of
from loadtests.render import REPOSITORY

BEGIN = "<!-- written by python -m loadtests.peers.render -->"
END = "<!-- end of what loadtests.peers.render writes -->"


def main(
    results: Annotated[Path, typer.Argument(help="What `make peers` wrote.")],
    docs: Annotated[Path, typer.Option(help="The folder with benchmarks.md.")] = REPOSITORY / "docs",
) -> None:
    """The exit code is 1 when the file is none of a run with figures, or benchmarks.md has no markers."""
    page = docs / "benchmarks.md"
    try:
        text = with_peers(page.read_text(), read_peer_run(results))
    except (OSError, ValueError, msgspec.DecodeError) as error:
        typer.echo(f"{results}: {error}", err=True)
        raise typer.Exit(1) from None
    page.write_text(text)
    typer.echo(f"{page.name} shows this run")


def with_peers(page: str, run: PeerRun) -> str:
    """The page with this run between the markers. Raises ValueError when it does not have both, once, and for a run
    without figures."""
    if not run.figures:
        raise ValueError("that run has no figures")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after:
        raise ValueError(f"benchmarks.md must have {BEGIN} and {END}, once")
    return f"{before}{BEGIN}\n\n{peers_section(run)}\n{END}{after}"


def peers_section(run: PeerRun) -> str:
    parts = [
        provenance(run.machine, date=run.date, rounds=run.rounds, seconds=run.seconds, load_before=run.load_before),
        "Medians of the rounds; in brackets processor microseconds of the broker for each message.\n",
        markdown_table(columns_of(run), rows_of(run)),
    ]
    losses = losses_of(run)
    if losses:
        parts.append(f"Where Acklog loses to a broker that syncs as well: {'; '.join(losses)}.\n")
    parts += [f"Without a figure in some round: {failure}.\n" for failure in run.failures]
    return "\n".join(parts)


if __name__ == "__main__":
    typer.run(main)
