"""One controller at a time: a key under a lease, whose create revision is the fencing token.

The lease is a hint only (rule R16): two processes may think for a moment that they are elected. What makes them safe is
that every write of a controller is a transaction that compares the token (`fence`): the key of a later controller has
another create revision, so an earlier one's writes fail, however late they come.
"""

from contextlib import aclosing
from dataclasses import dataclass

import structlog

from cluster.life.held_lease import HeldLease, LeaseSettings
from cluster.metadata.follow import follow
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import ControllerClaim
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    Changed,
    Compare,
    CompareTarget,
    CoordinationError,
    CoordinationStore,
    LeaseLostError,
    Listing,
    Put,
    absent,
    key_of,
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ElectionSettings(LeaseSettings):
    """Short, because a dead controller's partitions wait for the next controller's election; etcd's shortest is 2 s."""

    ttl_ms: int = 3_000
    margin_ms: int = 700
    keep_alive_interval_ms: int = 700


@dataclass(frozen=True, slots=True)
class Term:
    """One time of office. `token` is never the same twice, and higher each time."""

    token: int
    lease: HeldLease

    @property
    def is_valid(self) -> bool:
        """Goes by the clock, and ends before the store could elect another; right at once after any pause."""
        return self.lease.is_valid

    @property
    def fence(self) -> Compare:
        """Holds as long as no term has followed, and this one has not ended."""
        return fence(self.token)


def fence(token: int) -> Compare:
    return Compare(keys.CONTROLLER, CompareTarget.CREATE_REVISION, token)


class Election:
    """`campaign` for a term, then `hold` it; give it back with `resign`."""

    def __init__(
        self,
        store: CoordinationStore,
        claim: ControllerClaim,
        *,
        clock: Clock,
        settings: ElectionSettings | None = None,
    ) -> None:
        self._store = store
        self._claim = claim
        self._clock = clock
        self._settings = settings or ElectionSettings()

    async def campaign(self) -> Term:
        """Wait for office, however long it takes; outlives a store that cannot be reached."""
        failures = 0
        while True:
            await self._wait_for_vacancy()
            try:
                term = await self._try()
                failures = 0
                if term is not None:
                    _log.info("controller_elected", node=self._claim.node_id, token=term.token)
                    return term
            except CoordinationError as error:
                failures += 1
                _log.warning("election_failed", reason=str(error), failures=failures)
                await self._clock.sleep(self._settings.backoff.delay_ms(failures))

    async def hold(self, term: Term) -> None:
        """Keep the term; returns once it has ended, or may soon."""

        async def check() -> None:
            item = await self._store.get(keys.CONTROLLER)
            if item is None or item.create_revision != term.token:
                raise LeaseLostError("another controller was elected, or this one's claim was deleted")

        try:
            await term.lease.keep(check)
        except LeaseLostError as error:
            _log.warning("controller_lost_office", token=term.token, reason=str(error))
        term.lease.end()

    async def resign(self, term: Term) -> None:
        await term.lease.give_back()

    async def _try(self) -> Term | None:
        """None when somebody else was faster. Raises CoordinationError; nothing of a failed try takes effect later."""
        lease = await HeldLease.grant(self._store, clock=self._clock, settings=self._settings)
        try:
            claim = Put(keys.CONTROLLER, encode(self._claim), lease.lease_id)
            result = await self._store.transact([absent(keys.CONTROLLER)], [claim])
        except CoordinationError:
            await lease.give_back()
            raise
        if result.succeeded:
            return Term(result.revision, lease)
        await lease.give_back()
        return None

    async def _wait_for_vacancy(self) -> None:
        news = follow(self._store, keys.CONTROLLER, clock=self._clock, backoff=self._settings.backoff)
        async with aclosing(news) as steps:
            is_taken = True
            async for step in steps:
                if isinstance(step, Listing):
                    is_taken = any(item.key == keys.CONTROLLER for item in step.items)
                else:
                    for event in step.events:
                        if key_of(event) == keys.CONTROLLER:
                            is_taken = isinstance(event, Changed)
                if not is_taken:
                    return
