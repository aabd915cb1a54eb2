"""Everything about a run beside other brokers, as a JSON file."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from loadtests.peers.comparison import PeerFigure
from loadtests.results_file import Machine

Figures = dict[str, dict[str, list[PeerFigure]]]
"""By the scenario's title and the broker's kind, a figure a round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """`names` are by kind. `syncs` are those of a send where one connection sends. `failures` say what has no figure
    in some round, and why."""

    machine: Machine
    date: str
    rounds: int
    names: dict[str, str]
    load_before: float
    seconds: float = 0.0
    figures: Figures = field(default_factory=dict)
    syncs: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def add(self, scenario: str, kind: str, figure: PeerFigure) -> None:
        self.figures.setdefault(scenario, {}).setdefault(kind, []).append(figure)


def read_peer_run(path: Path) -> PeerRun:
    """Raises OSError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=PeerRun)


def write_peer_run(run: PeerRun, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(run)))
