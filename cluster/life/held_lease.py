"""A lease that is kept alive, and that knows when it may have ended."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from cluster.backoff import Backoff
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationStore, LeaseLostError

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    ttl_ms: int = 10_000

    margin_ms: int = 2_000
    """How long before the store could end the lease its holder acts as if it had (rule R16)."""

    keep_alive_interval_ms: int = 2_500

    backoff: Backoff = field(default_factory=Backoff)
    """Between tries while the store cannot be reached."""

    def __post_init__(self) -> None:
        if self.keep_alive_interval_ms + self.margin_ms >= self.ttl_ms:
            raise ValueError("the keep-alive interval and the margin leave nothing of the time to live")


class HeldLease:
    """Made by `grant`. It is valid until `margin_ms` before the store could end it, by the clock: so a process that
    stood still knows at once. `end` makes it invalid; the store is not told (`give_back` does that)."""

    def __init__(self, store: CoordinationStore, lease_id: int, *, clock: Clock, settings: LeaseSettings) -> None:
        self.lease_id = lease_id
        self._store = store
        self._clock = clock
        self._settings = settings
        self._valid_until_ms = 0

    @classmethod
    async def grant(cls, store: CoordinationStore, *, clock: Clock, settings: LeaseSettings) -> "HeldLease":
        """Raises CoordinationError."""
        asked_at_ms = clock.monotonic_ms()
        held = cls(store, (await store.grant_lease(settings.ttl_ms)).lease_id, clock=clock, settings=settings)
        held._renewed(asked_at_ms)
        return held

    @property
    def is_valid(self) -> bool:
        return self._clock.monotonic_ms() < self._valid_until_ms

    def end(self) -> None:
        self._valid_until_ms = 0

    async def give_back(self) -> None:
        """So that nobody has to wait for its end."""
        self.end()
        try:
            await self._store.revoke_lease(self.lease_id)
        except CoordinationError as error:
            _log.info("lease_left_to_expire", reason=str(error))

    async def keep(self, check: Callable[[], Awaitable[None]]) -> None:
        """Keep it alive, and `check` after each time that what hangs on it is still there (a lease may live on without
        its key); returns once the lease is lost, or may be soon.

        Raises LeaseLostError when the store or `check` says so, and whatever else `check` raises beside
        CoordinationError.
        """
        failures = 0
        while self.is_valid:
            left_ms = self._valid_until_ms - self._clock.monotonic_ms()
            pause_ms = self._settings.backoff.delay_ms(failures) if failures else self._settings.keep_alive_interval_ms
            await self._clock.sleep(min(pause_ms, left_ms))
            if not self.is_valid:
                return
            if await self._renew(check):
                failures = 0
            else:
                failures += 1

    async def _renew(self, check: Callable[[], Awaitable[None]]) -> bool:
        """Raises LeaseLostError. A store that does not answer in time counts as one that cannot be reached."""
        asked_at_ms = self._clock.monotonic_ms()
        left_ms = self._valid_until_ms - asked_at_ms
        try:
            async with asyncio.timeout(left_ms / 1000):
                await self._store.keep_alive(self.lease_id)
                if self.is_valid:  # it may have been ended meanwhile, and stays so
                    self._renewed(asked_at_ms)
                await check()
        except LeaseLostError:
            raise
        except (CoordinationError, TimeoutError) as error:
            _log.warning("keep_alive_failed", reason=repr(error))
            return False
        return True

    def _renewed(self, asked_at_ms: int) -> None:
        """The time to live counts from before the question: the store may have started it that early."""
        self._valid_until_ms = asked_at_ms + self._settings.ttl_ms - self._settings.margin_ms
