"""Planted bugs of delayed messages whose topic's partitions change: `tests.sim.cluster.mutants` has them all."""

import pytest

from storage.node.schedule.hand_over_host import HandOverHost
from storage.schedule.changes import HandedOver, Note
from storage.schedule.entries import HandOverEntry
from storage.schedule.hand_overs import Adoptions
from storage.schedule.near_future import IsHeld


def due_messages_stay_where_they_were_sent(patch: pytest.MonkeyPatch) -> None:
    """What is due goes to the partition that it waited in, whatever the topic's partitions are by now."""

    def look(self: HandOverHost) -> IsHeld | None:
        self._mapping = 0
        return None

    patch.setattr(HandOverHost, "look", look)


def hand_overs_are_taken_again(patch: pytest.MonkeyPatch) -> None:
    """Whoever takes over does not know what came already: asked again, it takes it again."""
    patch.setattr(Adoptions, "is_new", lambda self, origin, epoch, number: True)


def handed_over_before_it_is_there(patch: pytest.MonkeyPatch) -> None:
    """It is noted as gone when it is sent: what the other leader did not take is lost."""

    async def ask(self: HandOverHost, entry: HandOverEntry, records: list[object]) -> None:
        note: Note = HandedOver(entry.partition, entry.ids, 0, 0)
        await self._noted(note)
        self._on_free()
        await original(self, entry, records)

    original = HandOverHost._ask
    patch.setattr(HandOverHost, "_ask", ask)


def new_leaders_forget_what_is_on_its_way(patch: pytest.MonkeyPatch) -> None:
    """A leader takes anew what the one before has begun to hand over, under a number of its own."""

    async def restore(self: HandOverHost) -> None:
        return

    patch.setattr(HandOverHost, "restore", restore)


HAND_OVER_MUTANTS = (
    due_messages_stay_where_they_were_sent,
    hand_overs_are_taken_again,
    handed_over_before_it_is_there,
    new_leaders_forget_what_is_on_its_way,
)
