"""Planted bugs of groups that keep the order of keys: `tests.sim.cluster.mutants` has them all."""

import pytest

from storage.delivery.candidates import CandidateRun
from storage.delivery.key_order import KeyOrder, _Key
from storage.delivery.seeing_selection import CandidateVerdict, Choice


def keys_go_on_while_they_are_out(patch: pytest.MonkeyPatch) -> None:
    """R27: the next run of a key goes out before the first is settled."""

    def is_next(self: KeyOrder, key: _Key, offset: int) -> bool:
        return True

    patch.setattr(KeyOrder, "_is_next", is_next)


def runs_end_with_their_first_message(patch: pytest.MonkeyPatch) -> None:
    """R27: the next run of a key goes out when one message of the first is settled."""
    original = KeyOrder.done

    def done(self: KeyOrder, start: int, end: int) -> None:
        for offset in range(start, end):
            key = self._key_of.get(offset)
            for other in [] if key is None else list(key.run):
                if other != offset:
                    del key.run[other], self._key_of[other]
        original(self, start, end)

    patch.setattr(KeyOrder, "done", done)


def what_comes_back_goes_out_of_turn(patch: pytest.MonkeyPatch) -> None:
    """R27: a message that was given back goes out again while one before it in the run is out."""
    original = KeyOrder._is_next

    def is_next(self: KeyOrder, key: _Key, offset: int) -> bool:
        return offset in key.run or original(self, key, offset)

    patch.setattr(KeyOrder, "_is_next", is_next)


def what_is_out_is_not_met(patch: pytest.MonkeyPatch) -> None:
    """A new leader looks from the progress on, and forgets the key of a message that waits for its delay."""

    def met(self: KeyOrder, run: CandidateRun) -> None:
        return

    patch.setattr(KeyOrder, "met", met)


def blocked_keys_are_passed_over(patch: pytest.MonkeyPatch) -> None:
    """What would have to wait is done for the group, and nobody got it."""
    original = KeyOrder.choose

    def choose(self: KeyOrder, run: CandidateRun) -> Choice:
        choice = original(self, run)
        is_blocked = choice.verdict is CandidateVerdict.POSTPONE
        return Choice(CandidateVerdict.PASS_OVER, choice.until) if is_blocked else choice

    patch.setattr(KeyOrder, "choose", choose)


def what_waits_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What is behind a message of its key is passed by, and never found again."""

    def wait(self: KeyOrder, key: _Key, start: int, end: int) -> None:
        return

    patch.setattr(KeyOrder, "_wait", wait)
