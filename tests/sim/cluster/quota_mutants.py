"""Planted bugs of quotas: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from storage.quota_use.quota_account import QuotaAccount
from storage.quota_use.quota_book import Charge, QuotaBook
from storage.quotas import quota_division
from storage.quotas.quota_division import QuotaDivision, _Vessel
from storage.quotas.quota_owner import QuotaOwner
from storage.rpc.quota_messages import QuotaGrant, QuotaSharesRequest, QuotaSharesResponse, QuotaWant


def each_gateway_is_dealt_the_whole(patch: pytest.MonkeyPatch) -> None:
    """As if it were alone."""
    original = QuotaOwner.answer

    def answer(self: QuotaOwner, request: QuotaSharesRequest, now_ms: int) -> QuotaSharesResponse:
        asks = [replace(ask, key=f"{ask.key} {request.gateway}") for ask in request.asks]
        return original(self, QuotaSharesRequest(request.gateway, asks), now_ms)

    patch.setattr(QuotaOwner, "answer", answer)


def what_was_given_is_there_to_be_given_again(patch: pytest.MonkeyPatch) -> None:
    """A vessel is as full after a grant as before."""

    def draw(self: QuotaDivision, vessel: _Vessel, want: QuotaWant, part_of_pace: float) -> QuotaGrant:
        return QuotaGrant(want.claimant, min(vessel.held, vessel.ordered), vessel.per_second * part_of_pace)

    patch.setattr(QuotaDivision, "_draw", draw)


def gateways_go_on_alone_beside_what_they_are_given(patch: pytest.MonkeyPatch) -> None:
    """What comes in by itself while nobody answers comes in also when somebody does."""
    original = QuotaAccount.granted

    def granted(self: QuotaAccount, grants: list[QuotaGrant], now_ms: int) -> None:
        self.go_on_alone(now_ms)
        original(self, grants, now_ms)

    patch.setattr(QuotaAccount, "granted", granted)


def debts_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Who takes more than there is begins the next time with nothing, instead of less."""
    original = QuotaAccount.take

    def take(self: QuotaAccount, claimant: str, units: float, now_ms: int) -> None:
        original(self, claimant, min(units, self.room(claimant, now_ms)), now_ms)

    patch.setattr(QuotaAccount, "take", take)


def waits_are_told_too_short(patch: pytest.MonkeyPatch) -> None:
    """Whatever is owed, there is said to be room after the next ask."""
    patch.setattr(QuotaAccount, "turn_in_ms", lambda self, claimant, now_ms: self._settings.ask_ms)


def the_first_come_has_it_all(patch: pytest.MonkeyPatch) -> None:
    """A quota is not divided evenly: who asked first is served first, for as long as it wants something."""

    def shares(amount: float, wanted: Sequence[float]) -> list[float]:
        found = []
        for want in wanted:
            found.append(min(want, amount))
            amount -= found[-1]
        return found

    patch.setattr(quota_division, "max_min_shares", shares)


def what_is_refused_is_charged(patch: pytest.MonkeyPatch) -> None:
    """Who tries again and again owes more and more."""

    async def take(self: QuotaBook, charges: Sequence[Charge]) -> None:
        try:
            await self.admit(charges)
        finally:
            self.spend(charges)

    patch.setattr(QuotaBook, "take", take)


QUOTA_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    each_gateway_is_dealt_the_whole,
    what_was_given_is_there_to_be_given_again,
    gateways_go_on_alone_beside_what_they_are_given,
    debts_are_forgotten,
    waits_are_told_too_short,
    the_first_come_has_it_all,
    what_is_refused_is_charged,
)
