"""Planted bugs of what groups have done: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from cluster.model import keys
from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.model.values import Group
from cluster.ports.clock import Clock
from cluster.ports.coordination import Compare, CompareTarget, Put
from storage.delivery.group_delivery import GroupDelivery
from storage.node.groups.dead_letter_sink import DeadLetter
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.delivery_steps import DeliverySteps
from storage.node.offset_projection import OffsetProjection
from storage.node.receiver import Receiver


def leaders_forget_pauses(patch: pytest.MonkeyPatch) -> None:
    """Who leads on a node that was started after a group was paused does not know of it."""
    original = Receiver.__init__

    def init(
        self: Receiver, *arguments: Any, clock: Clock, known_group: Callable[[str], Group | None], **more: Any
    ) -> None:
        began_ms = clock.now_ms()

        def known(group_id: str) -> Group | None:
            latest = known_group(group_id)
            if latest is None:
                return None
            pauses = tuple(pause for pause in latest.pauses if pause.since_ms >= began_ms)
            return msgspec.structs.replace(latest, pauses=pauses)

        original(self, *arguments, clock=clock, known_group=known, **more)

    patch.setattr(Receiver, "__init__", init)


def dead_letters_are_done_first(patch: pytest.MonkeyPatch) -> None:
    """R29: a message is done before it is in the dead-letter topic; a crash in between loses it."""

    async def append(self: DeliverySteps, state: GroupDelivery, group: Group, letters: list[DeadLetter]) -> None:
        done = state.dead_lettered([letter.offset for letter in letters])
        if done.runs:
            await self._delivery.commit(done)
        await self._dead_letters.append(self._host.topic, group, letters)

    patch.setattr(DeliverySteps, "_append", append)


def snapshots_name_the_log_end(patch: pytest.MonkeyPatch) -> None:
    """R24: a snapshot of what is committed says that it holds all that is logged, and the rest is never replayed."""

    def committed_state(self: DeliveryHost) -> tuple[int, bytes]:
        return self._log.log_end, self.state.snapshot()

    patch.setattr(DeliveryHost, "committed_state", committed_state)


def projections_ignore_epochs(patch: pytest.MonkeyPatch) -> None:
    """R16: a leader's late write replaces what the leader after it has shown."""

    async def merge(
        self: OffsetProjection, group_id: str, topic_id: str, projected: dict[int, ProjectedPartition]
    ) -> None:
        key = keys.offsets(group_id, topic_id)
        item = await self._store.get(key)
        known = {} if item is None else msgspec.json.decode(item.value, type=ProjectedOffsets).partitions
        merged = {**known, **{str(number): mine for number, mine in projected.items()}}
        compare = Compare(key, CompareTarget.MOD_REVISION, 0 if item is None else item.mod_revision)
        await self._store.transact([compare], [Put(key, msgspec.json.encode(ProjectedOffsets(merged)))])

    patch.setattr(OffsetProjection, "_merge", merge)
