"""What is on the disk when a follower cuts below what was committed, as after an unclean election (rule R9): at every
moment the checkpoint of high watermarks vouches for no more than the log still has of it."""

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.errors import ServerError
from storage.log.high_watermarks import HighWatermarks
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.node.groups.delivery_snapshots import DeliverySnapshots
from storage.node.replicas.follower_effects import FollowerEffects
from storage.node.replicas.producer_mirror import ProducerMirror
from storage.node.replicas.replica_context import ReplicaContext
from storage.replication.follower_events import FollowerEvent, LogChanged, RestartLog, TruncateLog
from storage.replication.messages import PartitionId, SnapshotAnswer, SnapshotRequest
from tests.sim.inline_executor import InlineExecutor
from tests.sim.sim_disk import SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch

LEADER, EPOCH = 2, 7
COMMITTED, CUT = 9, 4
OPERATIONS_MAX = 200


class Scene:
    """A replica whose logs end at 10, of which 9 are committed, and the leader says otherwise."""

    def __init__(self) -> None:
        self.harness = LogHarness(seed=3)
        self.reported: list[FollowerEvent] = []

    def open(self) -> tuple[PartitionLog, PartitionLog]:
        store = self.harness.open()
        messages, delivery = (
            self.harness.run(store.open_log(LogKey("alpha", 0, kind), SMALL_LOG))
            for kind in (LogKind.MESSAGES, LogKind.DELIVERY)
        )
        return messages, delivery

    def known(self) -> HighWatermarks:
        return self.harness.run(HighWatermarks.read(self.harness.disk, InlineExecutor()))

    def effects(self, logs: tuple[PartitionLog, PartitionLog], known: HighWatermarks) -> FollowerEffects:
        disk, clock = self.harness.disk, self.harness.clock
        context = SimpleNamespace(
            high_watermarks=known,
            snapshots=DeliverySnapshots(disk, InlineExecutor(), clock, new_state=lambda _epoch: _never()),
            cache=SimpleNamespace(drop=lambda _key: None),
            peers=SimpleNamespace(peer=lambda _leader: SimpleNamespace(snapshot=_snapshot)),
            on_crashed=lambda _error: None,
        )
        producers = SimpleNamespace(truncated=lambda _end: None, forget=lambda: None)
        return FollowerEffects(
            PartitionId("alpha", 0),
            logs,
            {LogKind.MESSAGES: cast(ProducerMirror, producers)},
            cast(ReplicaContext, context),
            self.reported.append,
        )

    async def fill(self, logs: tuple[PartitionLog, PartitionLog], known: HighWatermarks) -> None:
        for log in logs:
            await asyncio.gather(*(log.append(opaque_batch(serial), leader_epoch=1) for serial in range(10)))
        await known.write({log.key: COMMITTED for log in logs})


def _never() -> Any:
    raise AssertionError("nothing is compacted here")


async def _snapshot(request: SnapshotRequest) -> SnapshotAnswer:
    return SnapshotAnswer(request.leader_epoch, CUT, b"state")


async def carried_out(effects: FollowerEffects, effect: TruncateLog | RestartLog) -> None:
    if isinstance(effect, TruncateLog):
        effects.truncate(effect, LEADER, EPOCH)
    else:
        effects.restart(effect, LEADER, EPOCH)
    await effects.come_to_rest()


@pytest.mark.parametrize("effect", [TruncateLog, RestartLog])
@pytest.mark.parametrize("kind", [LogKind.MESSAGES, LogKind.DELIVERY])
def test_the_checkpoint_never_vouches_for_what_comes_in_place_of_what_is_cut(
    effect: type[TruncateLog | RestartLog], kind: LogKind
) -> None:
    for operations in range(OPERATIONS_MAX):
        scene = Scene()
        logs = scene.open()
        known = scene.known()
        scene.harness.run(scene.fill(logs, known))
        assert scene.known().get(logs[kind].key) == COMMITTED
        scene.harness.disk.crash_after_operations(operations)
        with contextlib.suppress(SimulatedPowerLoss, ServerError):
            scene.harness.run(carried_out(scene.effects(logs, known), effect(kind, 1, CUT)))
        is_done = scene.reported == [LogChanged(kind, 1)]
        scene.harness.kill()
        scene.harness.disk.crash_after_operations(1 << 60)
        log = scene.open()[kind]
        holds_it = log.log_start <= CUT and log.log_end >= COMMITTED
        assert holds_it or scene.known().get(log.key) <= CUT, f"after {operations} operations"
        scene.harness.dispose()
        if is_done:
            return
    raise AssertionError("it never came to its end")
