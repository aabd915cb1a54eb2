"""Planted bugs of messages that live for some time only: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cluster.model.values import Expired
from cluster.ports.clock import Clock
from storage.delivery.records import Returned, Skipped
from storage.delivery.settlement import Settlement
from storage.node.groups.lease_reader import LeaseReader, ReadLeases
from storage.node.schedule.hand_over_host import HandOverHost


class _ClockBeside:
    """So far from the machine's."""

    def __init__(self, clock: Clock, by_ms: int) -> None:
        self._clock = clock
        self._by_ms = by_ms

    def now_ms(self) -> int:
        return self._clock.now_ms() + self._by_ms


def _judged_by(patch: pytest.MonkeyPatch, by_ms: int) -> None:
    original = LeaseReader.__init__

    def init(self: LeaseReader, host: Any, reader: Any, clock: Clock) -> None:
        original(self, host, reader, _ClockBeside(clock, by_ms))  # type: ignore[arg-type]

    patch.setattr(LeaseReader, "__init__", init)


def messages_are_given_late(patch: pytest.MonkeyPatch) -> None:
    """A message is given for a while after its time, as if that counted from when it was answered."""
    _judged_by(patch, -400)


def messages_expire_early(patch: pytest.MonkeyPatch) -> None:
    """By the clock of some other node, which is ahead."""
    _judged_by(patch, 400)


def what_comes_back_does_not_expire(patch: pytest.MonkeyPatch) -> None:
    """Only what nobody has had yet is judged."""
    original = LeaseReader.read

    async def read(self: LeaseReader, group: Any, settings: Any, leases: list[Any], **limits: Any) -> ReadLeases:
        fresh = [lease for lease in leases if lease.attempt <= 1]
        if fresh == leases:
            return await original(self, group, settings, leases, **limits)
        clock, self._clock = self._clock, _ClockBeside(self._clock, -(10**10))  # type: ignore[assignment]
        try:
            return await original(self, group, settings, leases, **limits)
        finally:
            self._clock = clock

    patch.setattr(LeaseReader, "read", read)


def letters_of_what_expired_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """It is passed over, whatever its group wants."""
    original = Settlement.outlive

    def outlive(self: Settlement, items: Iterable[Any], *, wall_now_ms: int) -> Skipped | Returned | None:
        settings, self.settings = self.settings, type(self.settings)(on_expired=Expired.SKIP)
        try:
            return original(self, items, wall_now_ms=wall_now_ms)
        finally:
            self.settings = settings

    patch.setattr(Settlement, "outlive", outlive)


def what_is_beside_expires_too(patch: pytest.MonkeyPatch) -> None:
    """Of what was leased together with a message that has expired, all is passed over."""
    original = LeaseReader.read

    async def read(self: LeaseReader, group: Any, settings: Any, leases: list[Any], **limits: Any) -> ReadLeases:
        found = await original(self, group, settings, leases, **limits)
        return found._replace(messages=[], surplus=[], expired=leases) if found.expired else found

    patch.setattr(LeaseReader, "read", read)


def what_is_due_lives_for_good(patch: pytest.MonkeyPatch) -> None:
    """A message that was to be seen later loses its time to live on its way there."""
    original = HandOverHost.named

    def named(self: HandOverHost, due: Any) -> Any:
        record = original(self, due)
        record.ttl_ms = None
        return record

    patch.setattr(HandOverHost, "named", named)


LIFETIME_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    messages_are_given_late,
    messages_expire_early,
    what_comes_back_does_not_expire,
    letters_of_what_expired_are_forgotten,
    what_is_beside_expires_too,
    what_is_due_lives_for_good,
)
