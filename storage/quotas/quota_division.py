"""One quota, dealt out to whoever uses it, through whatever gateway.

What the quota allows flows in evenly and is poured into vessels, one per claimant and gateway: first evenly over the
claimants, and what is a claimant's evenly over the gateways that it comes through. A vessel takes no more than its
owner still wants and a small reserve, so what some do not use goes to the others at once; and who comes rarely finds
its reserve. Nothing is given that has not flowed in: that is what keeps the quota, however many gateways ask.
"""

import math
from collections.abc import Iterator

from storage.quotas.max_min import max_min_shares
from storage.quotas.quota_settings import QuotaSettings
from storage.rpc.quota_messages import QuotaGrant, QuotaWant

RATE_MEMORY_MS = 1_000
"""How fast is forgotten what a vessel was given per second."""


class _Vessel:
    """`ordered` is what its owner wants and did not get yet; `per_second` what was poured in lately."""

    __slots__ = ("heard_ms", "held", "ordered", "per_second")

    def __init__(self, per_second: float, now_ms: int) -> None:
        self.held = 0.0
        self.ordered = 0.0
        self.per_second = per_second
        self.heard_ms = now_ms

    def is_thirsty(self, reserve: float) -> bool:
        """Whether it takes part in what flows in."""
        return self.held < self.ordered + reserve


class QuotaDivision:
    """Sans-IO. Times are of a clock that never goes back."""

    def __init__(self, per_second: int, settings: QuotaSettings, now_ms: int) -> None:
        self._settings = settings
        self._vessels: dict[str, dict[str, _Vessel]] = {}  # by claimant and gateway
        self._count = 0
        self._poured_ms = now_ms
        self._per_second = per_second
        self._left_over = self._burst

    @property
    def _burst(self) -> float:
        return max(1.0, self._per_second * self._settings.burst_ms / 1000)

    @property
    def _reserve(self) -> float:
        return max(1.0, self._burst / max(1, self._count))

    def grant(self, gateway: str, wants: list[QuotaWant], *, per_second: int, now_ms: int) -> list[QuotaGrant]:
        """What each of the gateway's claimants gets now, in the order of `wants`."""
        self._forget_idle(now_ms)
        self._flow(now_ms)
        self._per_second = per_second  # the setting, as whoever asked last knows it
        vessels = [self._vessel(gateway, want.claimant, now_ms) for want in wants]
        order_max = max(1.0, per_second * self._settings.order_ms / 1000)
        for vessel, want in zip(vessels, wants, strict=True):
            vessel.heard_ms = now_ms
            vessel.ordered = min(order_max, max(0.0, want.units))
        self._pour(0)
        drawn = [self._draw(vessel) for vessel in vessels]
        paces = self._paces()
        return [
            QuotaGrant(want.claimant, units, paces[vessel])
            for want, vessel, units in zip(wants, vessels, drawn, strict=True)
        ]

    def check_invariants(self) -> None:
        held = sum(vessel.held for vessels in self._vessels.values() for vessel in vessels.values())
        assert self._left_over >= 0, "something was given that had not flowed in"
        assert held <= max(self._burst, self._count) + self._ordered() + 1e-6, "more is kept than a burst"
        kept = self._left_over + sum(max(0.0, vessel.held - vessel.ordered) for vessel in self._all())
        assert kept <= max(self._burst, self._count) + 1e-6, "more is kept than a burst, in vessels and beside them"
        assert self._count == sum(map(len, self._vessels.values())), "vessels are counted"

    def _ordered(self) -> float:
        return sum(vessel.ordered for vessel in self._all())

    def _all(self) -> Iterator[_Vessel]:
        return (vessel for vessels in self._vessels.values() for vessel in vessels.values())

    def _draw(self, vessel: _Vessel) -> float:
        units = min(vessel.held, vessel.ordered)
        vessel.held -= units
        vessel.ordered -= units
        return units

    def _paces(self) -> dict[_Vessel, float]:
        """What each may count on per second: who is short, on what will be poured for it from now on; others, on what
        they used of late. Together no more than the quota, which a burst was faster than: by that they wait, and go on
        when nobody answers."""
        reserve = self._reserve
        rooms = [
            [math.inf if vessel.is_thirsty(reserve) else vessel.per_second for vessel in vessels.values()]
            for vessels in self._vessels.values()
        ]
        found: dict[_Vessel, float] = {}
        amounts = max_min_shares(self._per_second, [sum(each) for each in rooms])
        for vessels, room, amount in zip(self._vessels.values(), rooms, amounts, strict=True):
            for vessel, pace in zip(vessels.values(), max_min_shares(amount, room), strict=True):
                found[vessel] = pace if vessel.ordered > 0 else min(pace, vessel.per_second)
        return found

    def _vessel(self, gateway: str, claimant: str, now_ms: int) -> _Vessel:
        vessel = self._vessels.get(claimant, {}).get(gateway)
        if vessel is not None:
            return vessel
        if self._count >= self._settings.claims_max:
            self._forget_longest_silent()
        self._count += 1
        vessel = _Vessel(self._per_second / self._count, now_ms)
        self._vessels.setdefault(claimant, {})[gateway] = vessel
        return vessel

    def _flow(self, now_ms: int) -> None:
        """What has come in since the last time. After a long silence no more than a burst is of use."""
        passed_ms = max(0, now_ms - self._poured_ms)
        self._poured_ms = max(now_ms, self._poured_ms)
        kept_ms = min(passed_ms, self._settings.claim_idle_ms)
        self._left_over += self._per_second * kept_ms / 1000
        self._pour(passed_ms)

    def _pour(self, passed_ms: int) -> None:
        """Fill the vessels with what is there; what finds no room stays, up to a burst together with the reserves. What
        a vessel has beyond its room, as less is wanted than before, is there for others."""
        reserve = self._reserve
        rooms = [
            [vessel.ordered + reserve - vessel.held for vessel in vessels.values()]
            for vessels in self._vessels.values()
        ]
        for vessels, room in zip(self._vessels.values(), rooms, strict=True):
            for place, vessel in enumerate(vessels.values()):
                excess = max(0.0, -room[place])
                vessel.held -= excess
                self._left_over += excess
                room[place] = max(0.0, room[place])
        keep = math.exp(-passed_ms / RATE_MEMORY_MS)
        amounts = max_min_shares(self._left_over, [sum(each) for each in rooms])
        for vessels, room, amount in zip(self._vessels.values(), rooms, amounts, strict=True):
            for vessel, units in zip(vessels.values(), max_min_shares(amount, room), strict=True):
                vessel.held += units
                vessel.per_second = vessel.per_second * keep + units * 1000 / RATE_MEMORY_MS
        reserves = sum(max(0.0, vessel.held - vessel.ordered) for vessel in self._all())
        self._left_over = max(0.0, min(self._burst - reserves, self._left_over - sum(amounts)))

    def _forget_idle(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._settings.claim_idle_ms
        for heard_ms, claimant, gateway in self._by_silence():
            if heard_ms < oldest_ms:
                self._forget(claimant, gateway)

    def _forget_longest_silent(self) -> None:
        _, claimant, gateway = min(self._by_silence())
        self._forget(claimant, gateway)

    def _by_silence(self) -> list[tuple[int, str, str]]:
        return [
            (vessel.heard_ms, claimant, gateway)
            for claimant, vessels in self._vessels.items()
            for gateway, vessel in vessels.items()
        ]

    def _forget(self, claimant: str, gateway: str) -> None:
        """What it held is there for others."""
        vessels = self._vessels[claimant]
        self._left_over += vessels.pop(gateway).held
        self._count -= 1
        if not vessels:
            del self._vessels[claimant]
