"""Planted bugs of messages that are deleted: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster.model.values import Deletion, RetentionMode
from storage.node import deletion_calls
from storage.node.deletion_calls import DeletionCalls
from storage.node.housekeeping import Housekeeping


def deletions_are_volatile(patch: pytest.MonkeyPatch) -> None:
    """The leader that was asked knows what is deleted, and none that follows it."""

    async def decide(_self: DeletionCalls, partition: Any, before: int) -> None:
        partition.leadership.deletions.heard(Deletion(before, partition.host.leader_epoch))

    patch.setattr(DeletionCalls, "_decide", decide)


def deletions_take_one_more(patch: pytest.MonkeyPatch) -> None:
    """The message that was to be the first goes, too."""
    original = deletion_calls._target

    async def target(host: Any, request: Any) -> int:
        return min(await original(host, request) + 1, int(host.readable_end))

    patch.setattr(deletion_calls, "_target", target)


def until_acked_asks_nobody(patch: pytest.MonkeyPatch) -> None:
    """Files go when they are full, whatever groups have done."""

    original = Housekeeping._unneeded_end

    async def unneeded_end(self: Housekeeping, partition: Any) -> int:
        if partition.host.topic.config.retention is RetentionMode.UNTIL_ACKED:
            return int(partition.host.readable_end)
        return await original(self, partition)

    patch.setattr(Housekeeping, "_unneeded_end", unneeded_end)


DELETION_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    deletions_are_volatile,
    deletions_take_one_more,
    until_acked_asks_nobody,
)
