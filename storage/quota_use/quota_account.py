"""What one process has of one quota, by who claims it."""

import math

from cluster.model.quotas import Quota
from storage.quota_use.quota_ask_settings import QuotaAskSettings
from storage.rpc.quota_messages import QuotaGrant, QuotaWant

OTHERS = "(others)"
"""The claimants beyond those that are told apart. No token and no consumer is called so."""

_ENOUGH = 1 - 1e-9  # what has come in in parts may miss a unit by a rounding


class _Claim:
    """`balance` below 0 is owed: it is paid back before anything else is done. `wanted` counts what was tried since the
    last ask, whether there was room or not; `ordered` is what was asked for then, and `is_short` that it was not all
    granted. Until `turns_end_ms` those have their turns who were told when to come back."""

    __slots__ = (
        "balance",
        "flowed_ms",
        "is_short",
        "is_told",
        "ordered",
        "per_second",
        "turns_end_ms",
        "used_ms",
        "wanted",
    )

    def __init__(self, now_ms: int) -> None:
        self.balance = 0.0
        self.wanted = 0.0
        self.ordered = 0.0
        self.per_second = 0.0
        self.is_told = False
        self.is_short = False
        self.flowed_ms = now_ms
        self.used_ms = now_ms
        self.turns_end_ms = now_ms


class QuotaAccount:
    """Sans-IO. There is room as long as one unit is left: a call may take more than that, and its claimant's next ones
    wait until it is paid back. So a call that is larger than what may be done in a second is possible, too."""

    def __init__(self, quota: Quota, settings: QuotaAskSettings) -> None:
        self.quota = quota
        self._settings = settings
        self._claims: dict[str, _Claim] = {}

    # --- using it ----------------------------------------------------------------------------------------------------

    def is_used_up(self, claimant: str, now_ms: int) -> bool:
        """Whether the claimant was refused a part of what it asked for last: then there is nothing to wait for."""
        return self._claim(claimant, now_ms).is_short

    def has_room(self, claimant: str, now_ms: int) -> bool:
        return self._claim(claimant, now_ms).balance >= _ENOUGH

    def room(self, claimant: str, now_ms: int) -> int:
        """How many units are left, at least 1: for who has room and chooses how much to do."""
        return max(1, int(self._claim(claimant, now_ms).balance + 1e-9))

    def want(self, claimant: str, units: float, now_ms: int) -> None:
        """Somebody tries to use so much: the next ask is for that."""
        claim = self._claim(claimant, now_ms)
        claim.wanted += units
        claim.used_ms = now_ms

    def insist(self, claimant: str, now_ms: int) -> None:
        """Somebody waits for room: the next ask is for a unit at least, or its answer would say nothing to them."""
        claim = self._claim(claimant, now_ms)
        claim.wanted = max(claim.wanted, 1.0)

    def take(self, claimant: str, units: float, now_ms: int) -> None:
        self._claim(claimant, now_ms).balance -= units

    def turn_in_ms(self, claimant: str, now_ms: int) -> int:
        """When whoever is refused now is to come back: there will be a unit at the pace of late that nobody was told of
        before. It is theirs unless somebody comes who was not told to, so the turns of the impatient hold others up for
        `turns_ms_max` at most."""
        claim = self._claim(claimant, now_ms)
        settings, missing = self._settings, 1.0 - claim.balance
        limit_ms = settings.retry_after_owing_ms_max if claim.balance < 0 else settings.retry_after_ms_max
        if missing <= 0:
            return 0
        if claim.per_second * limit_ms <= missing * 1000:
            return limit_ms
        room_ms = math.ceil(missing * 1000 / claim.per_second)
        if claim.balance < 0:
            room_ms += self._settings.ask_ms  # what is owed is paid back round by round, not when somebody comes
        behind_ms = min(max(0, claim.turns_end_ms - now_ms - room_ms), self._settings.turns_ms_max)
        wait_ms = min(limit_ms, room_ms + behind_ms)
        claim.turns_end_ms = now_ms + wait_ms + math.ceil(1000 / claim.per_second)
        return max(self._settings.retry_after_ms_min, wait_ms)

    # --- asking for it -----------------------------------------------------------------------------------------------

    def wants(self) -> list[QuotaWant]:
        """What is asked for now. What was wanted since the last time is expected to be wanted again until the next."""
        for claim in self._claims.values():
            claim.ordered, claim.wanted = max(0.0, claim.wanted - claim.balance), 0.0
        return [QuotaWant(claimant, claim.ordered) for claimant, claim in self._claims.items()]

    def is_idle(self, now_ms: int) -> bool:
        """Whether nobody uses the quota any more. Claims that are idle are forgotten."""
        idle_ms = now_ms - self._settings.claim_idle_ms
        for claimant, claim in list(self._claims.items()):
            if claim.used_ms < idle_ms and claim.balance >= 0:
                del self._claims[claimant]
        return not self._claims

    def granted(self, grants: list[QuotaGrant], now_ms: int) -> None:
        for grant in grants:
            claim = self._claims.get(grant.claimant)
            if claim is not None:
                claim.balance += grant.units
                claim.per_second = grant.per_second
                claim.is_short = grant.units < claim.ordered * _ENOUGH
                claim.is_told, claim.flowed_ms = True, now_ms

    def unanswered(self) -> None:
        """What was asked for last nobody answered, so it is asked for again."""
        for claim in self._claims.values():
            claim.wanted = max(claim.wanted, claim.ordered)

    def go_on_alone(self, now_ms: int) -> None:
        """Nobody says what may be done: what was given last per second goes on to come, and a stranger's share for who
        was never given anything."""
        strangers = sum(not claim.is_told for claim in self._claims.values())
        for claim in self._claims.values():
            if not claim.is_told:
                part = self.quota.per_second * self._settings.stranger_percent / 100
                claim.per_second = part / strangers
                claim.balance += 1.0
                claim.is_told = True
            flowed = claim.per_second * (now_ms - claim.flowed_ms) / 1000
            kept = max(1.0, claim.per_second * self._settings.alone_burst_ms / 1000)
            claim.balance = min(claim.balance + flowed, max(kept, claim.balance))
            claim.flowed_ms = now_ms
            claim.is_short = claim.balance < _ENOUGH

    def _claim(self, claimant: str, now_ms: int) -> _Claim:
        claim = self._claims.get(claimant)
        if claim is None:
            if len(self._claims) >= self._settings.claimants_max and claimant != OTHERS:
                return self._claim(OTHERS, now_ms)
            claim = self._claims[claimant] = _Claim(now_ms)
        return claim
