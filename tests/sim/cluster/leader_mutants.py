"""Planted bugs of leaders that are over: `tests.sim.cluster.mutants` has them all."""

import pytest

from storage.node.replicas.standing import Standing
from storage.node.replicas.store_effects import StoreEffects
from storage.replication.leader_events import HandOver


def deposed_leaders_answer_readers(patch: pytest.MonkeyPatch) -> None:
    """R35: a leader says what it knows, whether another may know better or not."""

    async def is_confirmed(self: Standing) -> bool:
        return True

    patch.setattr(Standing, "is_confirmed", is_confirmed)
    patch.setattr(Standing, "is_sure", lambda self: True)


def leaders_that_cannot_commit_stay(patch: pytest.MonkeyPatch) -> None:
    """R36: whoever leads does so until its registration ends."""

    async def hand_over(self: StoreEffects, effect: HandOver) -> None:
        return

    patch.setattr(StoreEffects, "_hand_over", hand_over)
