"""Planted bugs of letters that are sent back: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cluster.model.codec import encode
from cluster.model.redrives import RedrivePart, TargetEnd
from cluster.ports.coordination import Put
from storage.node.redrive.stored_notes import StoredNotes
from storage.node.redrive.target_scan import TargetScan
from storage.node.redrive.target_topics import TargetTopics
from storage.redrive.part_runner import PartRunner
from storage.redrive.ports import SentLetters
from storage.rpc.messages import PositionsResponse

OFFSETS_MAX = 10_000


def runners_do_not_look_back(patch: pytest.MonkeyPatch) -> None:
    """What the runner before had sent and not noted is sent again."""

    async def sent_since(_self: TargetTopics, _reach: Sequence[TargetEnd]) -> SentLetters:
        return SentLetters(frozenset(), is_sure=True)

    patch.setattr(TargetTopics, "sent_since", sent_since)


def runners_look_at_what_is_committed(patch: pytest.MonkeyPatch) -> None:
    """What a leader had begun to append is not waited for."""
    original = TargetScan._positions

    async def positions(self: TargetScan) -> PositionsResponse:
        found = await original(self)
        found.accepted_end = found.high_watermark
        return found

    patch.setattr(TargetScan, "_positions", positions)


def nothing_is_noted_before_it_is_sent(patch: pytest.MonkeyPatch) -> None:
    """Who begins where another one died does not know that anything may have been sent."""
    original = PartRunner._note

    async def note(self: PartRunner, part: RedrivePart) -> None:
        if part.sending is None:
            await original(self, part)

    patch.setattr(PartRunner, "_note", note)


def what_was_about_to_be_sent_counts_as_sent(patch: pytest.MonkeyPatch) -> None:
    """Who died before it had sent all has lost the rest."""

    async def sent_since(_self: TargetTopics, _reach: Sequence[TargetEnd]) -> SentLetters:
        return SentLetters(frozenset(range(OFFSETS_MAX)), is_sure=True)

    patch.setattr(TargetTopics, "sent_since", sent_since)


def runners_that_are_overtaken_go_on(patch: pytest.MonkeyPatch) -> None:
    """Neither their notes are compared, nor does anybody fence them."""

    async def write(self: StoredNotes, part: RedrivePart) -> None:
        await self._store.transact([], [Put(self._key, encode(part))])

    async def take_over(self: TargetTopics, topic_ids: Any) -> None:
        self._claims |= dict.fromkeys(topic_ids)

    patch.setattr(StoredNotes, "write", write)
    patch.setattr(TargetTopics, "take_over", take_over)


REDRIVE_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    runners_do_not_look_back,
    runners_look_at_what_is_committed,
    nothing_is_noted_before_it_is_sent,
    what_was_about_to_be_sent_counts_as_sent,
    runners_that_are_overtaken_go_on,
)
