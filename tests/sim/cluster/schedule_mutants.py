"""Planted bugs of what is to be seen later: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable
from typing import Any

import pytest

from storage.node.schedule import schedule_host
from storage.node.schedule.due_appender import DueAppender
from storage.node.schedule.hand_over_host import Shares
from storage.node.schedule.schedule_writer import UNTIL_KNOWN_MS
from storage.schedule.changes import Cancelled, Change, Fired
from storage.schedule.near_future import NearFuture


def new_leaders_do_not_look_back(patch: pytest.MonkeyPatch) -> None:
    """What the leader before has appended and not recorded is appended again."""

    async def find_deliveries(*_: Any) -> list[Any]:
        return []

    patch.setattr(schedule_host, "find_deliveries", find_deliveries)


def due_early(patch: pytest.MonkeyPatch) -> None:
    """A clock that is read too far ahead."""
    original = NearFuture.take_due
    patch.setattr(NearFuture, "take_due", lambda self, now_ms, is_held=None: original(self, now_ms + 400, is_held))


def recorded_before_appended(patch: pytest.MonkeyPatch) -> None:
    """The record of what was appended goes first: who dies in between has lost it."""

    async def append(self: DueAppender, batch: bytearray, shares: Shares) -> None:
        end = self._messages.log.log_end
        await self._writer.write(Fired([due.entry.id for due in shares.here], end, self._messages.leader_epoch))
        await self._messages.append_own(batch, timeout_ms=UNTIL_KNOWN_MS)

    patch.setattr(DueAppender, "_append", append)


def moves_do_not_reach_memory(patch: pytest.MonkeyPatch) -> None:
    """A message that is due soon keeps its time when it is moved."""
    patch.setattr(NearFuture, "_moved", lambda self, moved, order: None)


def cancelled_in_the_index_only(patch: pytest.MonkeyPatch) -> None:
    """A message that is due soon is cancelled on disk, and goes out all the same."""
    original = NearFuture.apply

    def apply(self: NearFuture, changes: list[Change], now_ms: int) -> None:
        original(self, [change for change in changes if not isinstance(change.what, Cancelled)], now_ms)

    patch.setattr(NearFuture, "apply", apply)


def what_is_refused_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Messages that cannot be appended for want of room or replicas are not tried again by that leader."""
    patch.setattr(NearFuture, "give_back", lambda self, taken: None)


SCHEDULE_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    new_leaders_do_not_look_back,
    due_early,
    recorded_before_appended,
    moves_do_not_reach_memory,
    cancelled_in_the_index_only,
    what_is_refused_is_forgotten,
)
