"""Acklog beside other durable brokers: `make peers`, or `python -m loadtests.peers --programs build/peers`.

One broker runs at a time, by turns, and the load is the same compiled program for all of them.
"""

import asyncio
import statistics
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from loadtests.load import LoadFailedError
from loadtests.peers.brokers import all_peers
from loadtests.peers.comparison import LoadProgram, PeerFigure, measure, syncs_per_send
from loadtests.peers.peer import Peer
from loadtests.peers.scenarios import SCENARIOS, Figure, PeerScenario
from loadtests.plan import share_cpus

Figures = dict[str, dict[str, list[PeerFigure]]]
"""By the scenario's title and the broker's kind, a figure a round."""


def main(
    programs: Annotated[Path, typer.Option(help="The folder that peers/install.sh has filled.")],
    brokers: Annotated[str, typer.Option(help="Their kinds, separated by commas; all by default.")] = "",
    rounds: Annotated[int, typer.Option(min=1, max=20, help="Each broker's turns.")] = 3,
    seconds: Annotated[float, typer.Option(min=1, max=60, help="Of each scenario.")] = 5,
    kafka_jars: Annotated[Path | None, typer.Option(help="Kafka's jars, as for make spark-bench.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Where all figures go.")] = None,
) -> None:
    """Measure durable brokers beside each other."""
    console = Console()
    peers = [peer for peer in all_peers(kafka_jars) if not brokers or peer.kind in brokers.split(",")]
    try:
        figures, syncs = asyncio.run(_run(peers, programs.resolve(), rounds, seconds, console))
    except LoadFailedError as error:
        console.print(f"[red]{error}")
        raise typer.Exit(1) from None
    console.print(_table(peers, figures, syncs))
    if json_file is not None:
        json_file.write_bytes(msgspec.json.format(msgspec.json.encode({"figures": figures, "syncsPerSend": syncs})))


async def _run(
    peers: list[Peer], programs: Path, rounds: int, seconds: float, console: Console
) -> tuple[Figures, dict[str, float]]:
    program = LoadProgram(programs, share_cpus())
    figures: Figures = {scenario.title: {} for scenario in SCENARIOS}
    syncs: dict[str, float] = {}
    with Progress(console=console) as progress:
        bar = progress.add_task("", total=rounds * len(peers))
        for _ in range(rounds):
            for peer in peers:
                progress.update(bar, description=peer.name)
                await _turn(peer, programs, program, seconds, figures, syncs)
                progress.advance(bar)
    return figures, syncs


async def _turn(
    peer: Peer, programs: Path, program: LoadProgram, seconds: float, figures: Figures, syncs: dict[str, float]
) -> None:
    """A broker that has stored nothing yet."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="acklog-peers-")))
        directory.chmod(0o755)  # some brokers run as users of their own
        running = await stack.enter_async_context(peer.start(directory, programs))
        for scenario in SCENARIOS:
            if peer.settles or not scenario.settles:
                figure = await measure(program, peer, running, scenario, seconds)
                figures[scenario.title].setdefault(peer.kind, []).append(figure)
        if peer.kind not in syncs:
            syncs[peer.kind] = await syncs_per_send(program, peer, running, directory)


def _table(peers: list[Peer], figures: Figures, syncs: dict[str, float]) -> Table:
    table = Table("", *[peer.name for peer in peers], caption="medians; in brackets processor µs for each message")
    for scenario in SCENARIOS:
        by_peer = figures[scenario.title]
        table.add_row(
            f"{scenario.title}, {scenario.figure.value}", *[_cell(scenario, by_peer.get(peer.kind)) for peer in peers]
        )
    table.add_row("syncs a send, one connection", *[f"{syncs[peer.kind]:.2f}" for peer in peers])
    return table


def _cell(scenario: PeerScenario, turns: list[PeerFigure] | None) -> str:
    if not turns:
        return "–"
    value = statistics.median(turn.value for turn in turns)
    cpu_us = statistics.median(turn.cpu_us for turn in turns)
    text = f"{value:,.0f}" if scenario.figure is Figure.RATE else f"{value:.1f}"
    return f"{text} ({cpu_us:.3g})"


if __name__ == "__main__":
    typer.run(main)
