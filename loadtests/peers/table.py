"""The table of a run beside other brokers: medians of the rounds, and what they are to be read with."""

import statistics
from collections.abc import Sequence

from loadtests.peers.comparison import PeerFigure
from loadtests.peers.peer_run import PeerRun
from loadtests.peers.scenarios import SCENARIOS, Figure, PeerScenario

OURS = "acklog"
SYNCS_MIN = 0.99
"""A send fewer syncs than this was answered before it was synced; a sync or two are lost where counting begins."""


def columns_of(run: PeerRun) -> list[str]:
    return ["", *run.names.values()]


def rows_of(run: PeerRun) -> list[list[str]]:
    rows = [
        [
            f"{scenario.title}, {scenario.figure.value}",
            *[_cell(scenario, run.figures.get(scenario.title, {}).get(kind)) for kind in run.names],
        ]
        for scenario in SCENARIOS
    ]
    return [*rows, ["syncs a send, one connection", *[_syncs_cell(run.syncs.get(kind)) for kind in run.names]]]


def losses_of(run: PeerRun) -> list[str]:
    """Where another broker's median is better than ours, and the best one's is how many times as good. Who does not
    sync before the answer is not held against us."""
    losses = []
    for scenario in SCENARIOS:
        medians = {kind: _median(turns) for kind, turns in run.figures.get(scenario.title, {}).items() if turns}
        ours = medians.pop(OURS, None)
        factors = {
            kind: value / ours if scenario.figure is Figure.RATE else ours / value
            for kind, value in medians.items()
            if ours and value and run.syncs.get(kind, 0.0) >= SYNCS_MIN
        }
        best = max(factors, key=lambda kind: factors[kind], default=None)
        if best is not None and factors[best] > 1:
            losses.append(f"{scenario.title} ({run.names[best]} is {factors[best]:.1f} times as good)")
    return losses


def _cell(scenario: PeerScenario, turns: Sequence[PeerFigure] | None) -> str:
    if not turns:
        return "–"
    value = _median(turns)
    text = f"{value:,.0f}" if scenario.figure is Figure.RATE else f"{value:.1f}"
    return f"{text} ({statistics.median(turn.cpu_us for turn in turns):.3g})"


def _median(turns: Sequence[PeerFigure]) -> float:
    return statistics.median(turn.value for turn in turns)


def _syncs_cell(syncs: float | None) -> str:
    if syncs is None:
        return "–"
    return f"{syncs:.2f}" if syncs >= SYNCS_MIN else f"{syncs:.2f}: **not synced before each answer**"
