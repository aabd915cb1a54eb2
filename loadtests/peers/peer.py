"""A broker that is measured: how it is started, and where it is then."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunningPeer:
    """`address` is what the load's client takes; `pid` is that of the process that all others descend from."""

    address: str
    pid: int


@dataclass(frozen=True, slots=True)
class Peer:
    """`kind` is what the load calls it. `start` takes an empty directory and the folder with programs. `settles`: it
    has acks of single messages."""

    kind: str
    name: str
    start: Callable[[Path, Path], AbstractAsyncContextManager[RunningPeer]]
    settles: bool = True
