"""The turns of brokers: one runs at a time, and what one of them fails at costs no other its figures."""

import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.progress import Progress, TaskID

from loadtests.load import LoadFailedError
from loadtests.peers.comparison import LoadProgram, measure, syncs_per_send
from loadtests.peers.peer import Peer, RunningPeer
from loadtests.peers.peer_run import PeerRun
from loadtests.peers.scenarios import SCENARIOS, PeerScenario

_SYNCS = "syncs of a send"


@dataclass(frozen=True, slots=True)
class Turns:
    """What all turns have in common. `run` gets the figures."""

    program: LoadProgram
    programs: Path
    seconds: float
    run: PeerRun
    progress: Progress
    bar: TaskID

    async def take(self, peer: Peer) -> None:
        """With a broker that has stored nothing yet."""
        try:
            async with AsyncExitStack() as stack:
                directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="acklog-peers-")))
                directory.chmod(0o755)  # some brokers run as users of their own
                self._show(peer, "starts")
                running = await stack.enter_async_context(peer.start(directory, self.programs))
                for scenario in scenarios_of(peer):
                    await self._measure(peer, running, scenario)
                await self._count_syncs(peer, running, directory)
        except (LoadFailedError, OSError) as error:
            self.run.failures.append(f"{peer.name}, start or end: {error}")
        self.progress.advance(self.bar)

    async def _measure(self, peer: Peer, running: RunningPeer, scenario: PeerScenario) -> None:
        self._show(peer, scenario.title)
        try:
            figure = await measure(self.program, peer, running, scenario, self.seconds)
        except (LoadFailedError, msgspec.DecodeError) as error:
            self.run.failures.append(f"{peer.name}, {scenario.title}: {error}")
        else:
            self.run.add(scenario.title, peer.kind, figure)

    async def _count_syncs(self, peer: Peer, running: RunningPeer, directory: Path) -> None:
        if peer.kind in self.run.syncs:
            return
        self._show(peer, _SYNCS)
        try:
            self.run.syncs[peer.kind] = await syncs_per_send(self.program, peer, running, directory)
        except (LoadFailedError, OSError, msgspec.DecodeError) as error:
            self.run.failures.append(f"{peer.name}, {_SYNCS}: {error}")

    def _show(self, peer: Peer, what: str) -> None:
        self.progress.update(self.bar, description=f"{peer.name}: {what}")


def scenarios_of(peer: Peer) -> Sequence[PeerScenario]:
    return [scenario for scenario in SCENARIOS if peer.settles or not scenario.settles]
