"""Acklog beside other durable brokers: `make peers`, or `python -m loadtests.peers --programs build/peers`.

One broker runs at a time, by turns, and the load is the same compiled program for all of them.
"""

import asyncio
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from loadtests.peers.brokers import all_peers
from loadtests.peers.comparison import LoadProgram
from loadtests.peers.peer import Peer
from loadtests.peers.peer_run import PeerRun, write_peer_run
from loadtests.peers.table import columns_of, rows_of
from loadtests.peers.turns import Turns
from loadtests.plan import Cpus, share_cpus
from loadtests.results_file import describe_machine


def main(
    programs: Annotated[Path, typer.Option(help="The folder that peers/install.sh has filled.")],
    brokers: Annotated[str, typer.Option(help="Their kinds, separated by commas; all by default.")] = "",
    rounds: Annotated[int, typer.Option(min=1, max=20, help="Each broker's turns.")] = 3,
    seconds: Annotated[int, typer.Option(min=1, max=60, help="Of each scenario.")] = 5,
    kafka_jars: Annotated[Path | None, typer.Option(help="Kafka's jars, as for make spark-bench.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Where all figures go.")] = None,
) -> None:
    """Measure durable brokers beside each other. The exit code is 1 where something has no figure."""
    console = Console()
    peers = chosen(all_peers(kafka_jars), brokers)
    cpus, began = share_cpus(), monotonic()
    run = PeerRun(
        machine=describe_machine(cpus),
        date=datetime.now(UTC).date().isoformat(),
        rounds=rounds,
        names={peer.kind: peer.name for peer in peers},
        load_before=os.getloadavg()[0],
    )
    try:
        asyncio.run(_measure(peers, programs.resolve(), cpus, seconds, run, console))
    finally:
        run = replace(run, seconds=monotonic() - began)
        if json_file is not None:
            write_peer_run(run, json_file)
    table = Table(*columns_of(run), caption="medians; in brackets processor µs for each message")
    for row in rows_of(run):
        table.add_row(*row)
    console.print(table)
    for failure in run.failures:
        console.print(f"[red]{escape(failure)}")
    if run.failures:
        raise typer.Exit(1)


def chosen(peers: list[Peer], kinds: str) -> list[Peer]:
    """Raises BadParameter for a kind that is not there."""
    if not kinds:
        return peers
    wanted = kinds.split(",")
    known = [peer.kind for peer in peers]
    unknown = [kind for kind in wanted if kind not in known]
    if unknown:
        raise typer.BadParameter(f"there is no broker {', '.join(unknown)}; there are {', '.join(known)}")
    return [peer for peer in peers if peer.kind in wanted]


async def _measure(peers: list[Peer], programs: Path, cpus: Cpus, seconds: int, run: PeerRun, console: Console) -> None:
    with Progress(console=console) as progress:
        bar = progress.add_task("", total=run.rounds * len(peers))
        turns = Turns(LoadProgram(programs, cpus), programs, seconds, run, progress, bar)
        for _ in range(run.rounds):
            for peer in peers:
                await turns.take(peer)


if __name__ == "__main__":
    typer.run(main)
