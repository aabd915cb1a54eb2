"""Seeds in which every partition has one log more, which somebody writes to: what goes by the table of logs keeps it as
it keeps the others, whatever goes wrong."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import pytest

from cluster.errors import ServerError
from storage.node.replicas.replica_host import ReplicaHost
from storage.replication.acks import ACKS_ALL
from storage.replication.replica_events import Role
from tests.sim import world
from tests.sim.cluster.inspector import replicas_of
from tests.sim.process import ProcessDiedError
from tests.support.toy_log import TOY, toy_log, write_toy

WRITE_INTERVAL_S = 0.2
COMMIT_TIMEOUT_S = 2


class Committed(NamedTuple):
    """What a leader said is committed of the toy log."""

    topic_id: str
    partition: int
    offset: int


class WorldWithAToyLog(world.World):
    """Writes a record to the toy log of every partition that is led, again and again."""

    committed: list[Committed]

    def _start_clients(self) -> list["asyncio.Task[None]"]:
        self.committed = []
        return [*super()._start_clients(), asyncio.create_task(self._write_toys(lambda: self._is_over))]

    async def _write_toys(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            await asyncio.sleep(WRITE_INTERVAL_S)
            for machine in list(self.hardware.nodes.values()):
                if machine.node is None or machine.process is None:
                    continue
                for host in replicas_of(machine.node):
                    if host.role is Role.LEADER and host.topic.name == world.QUEUE:
                        try:
                            async with asyncio.timeout(COMMIT_TIMEOUT_S):
                                await machine.process.call(self._write_toy(host))
                        except (ProcessDiedError, ServerError, TimeoutError) as error:
                            self.coverage[f"toy {type(error).__name__}"] += 1

    async def _write_toy(self, host: ReplicaHost) -> None:
        epoch = host.leader_epoch
        if not host.is_serving or host.refusal(ACKS_ALL) is not None:
            return
        appended = await write_toy(host, b"toy")
        while host.is_serving and host.leader_epoch == epoch:
            if host.high_watermark(TOY) >= appended.next_offset:
                self.committed.append(Committed(host.topic.id, host.number, appended.base_offset))
                return
            await asyncio.sleep(0.01)

    async def _verify(self) -> None:
        self.coverage["toys committed"] += len(self.committed)
        ends = {
            (host.topic.id, host.number): host.high_watermark(TOY)
            for machine in self.hardware.nodes.values()
            if machine.node is not None
            for host in replicas_of(machine.node)
            if host.role is Role.LEADER
        }
        lost = [each for each in self.committed if each.offset >= ends.get((each.topic_id, each.partition), 0)]
        if lost or len(set(self.committed)) < len(self.committed):
            self.violations.append(f"the toy log lost {lost}, or gave an offset twice")
        await super()._verify()


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(each, marks=pytest.mark.slow) for each in range(2, 6))])
def test_a_seed_finds_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "World", WorldWithAToyLog)
    with toy_log():
        result = world.run_cluster_seed(seed)
    assert result.violations == []
    assert result.coverage["toys committed"] > 10
