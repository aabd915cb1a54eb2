"""One scenario on one broker, and what came of it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadtests.load import LoadFailedError
from loadtests.peers.peer import Peer, RunningPeer
from loadtests.peers.process_tree import ProcessTimes
from loadtests.peers.scenarios import Figure, PeerScenario
from loadtests.peers.sync_count import SyncCount
from loadtests.plan import Cpus

_LIMIT_S = 150.0  # the load ends by itself before that
_SYNCED_S = 2.0


class LoadResult(msgspec.Struct, frozen=True, rename="camel"):
    """What the load prints; times are of this machine's clock. `all_messages`: with those that no rate counts."""

    messages: int
    seconds: float
    per_second: float
    started_ns: int
    finished_ns: int
    all_messages: int = 0
    p50_ms: float = 0.0
    p99_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class PeerFigure:
    """Of one turn: a rate or a latency, and processor microseconds of the broker for each message."""

    value: float
    cpu_us: float


class LoadProgram:
    """The compiled load, and the processors that it keeps to."""

    def __init__(self, programs: Path, cpus: Cpus) -> None:
        self._program = programs / "load"
        self._cpus = cpus.client

    async def run(self, peer: Peer, running: RunningPeer, options: Sequence[str]) -> LoadResult:
        """Raises LoadFailedError."""
        pinned = ["taskset", "-c", ",".join(map(str, sorted(self._cpus)))] if self._cpus else []
        command = [*pinned, str(self._program), "-broker", peer.kind, "-address", running.address, *options]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        try:
            async with asyncio.timeout(_LIMIT_S):
                output, errors = await process.communicate()
        except TimeoutError:
            raise LoadFailedError(f"{peer.name}: the load did not end within {_LIMIT_S:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise LoadFailedError(f"{peer.name}: {errors.decode(errors='replace').strip()[:300]}")
        return msgspec.json.decode(output, type=LoadResult)


async def measure(
    program: LoadProgram, peer: Peer, running: RunningPeer, scenario: PeerScenario, seconds: float
) -> PeerFigure:
    """Raises LoadFailedError."""
    times = ProcessTimes(running.pid)
    sampling = asyncio.create_task(times.sample())
    try:
        result = await program.run(peer, running, scenario.options(seconds))
        times.note(result.finished_ns)
    finally:
        sampling.cancel()
        with suppress(asyncio.CancelledError):
            await sampling
    cpu_us = times.between(result.started_ns, result.finished_ns) / max(result.messages, 1) * 1e6
    return PeerFigure(result.per_second if scenario.figure is Figure.RATE else result.p99_ms, cpu_us)


async def syncs_per_send(program: LoadProgram, peer: Peer, running: RunningPeer, directory: Path) -> float:
    """Of one connection that sends one message after the other; less than 1 is no sync of each answer. Raises
    LoadFailedError."""
    counting = SyncCount(running.pid, directory / "syncs")
    await counting.start()
    try:
        result = await program.run(
            peer, running, ["-scenario", "send", "-connections", "1", "-duration", f"{_SYNCED_S:g}s"]
        )
    finally:
        syncs = await counting.stop()
    if not result.all_messages:
        raise LoadFailedError(f"{peer.name}: one connection sent nothing in {_SYNCED_S:g} s")
    return syncs / result.all_messages
