"""A node's registration: a key under a lease, kept alive as long as the node lives."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from cluster import keys
from cluster.backoff import Backoff
from cluster.clock import Clock
from cluster.codec import decode, encode
from cluster.coordination import (
    CoordinationError,
    CoordinationStore,
    CoordinationUnavailableError,
    KeyValue,
    LeaseLostError,
    Put,
    absent,
    unchanged,
)
from cluster.model import NodeRegistration

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RegistrationSettings:
    ttl_ms: int = 10_000

    margin_ms: int = 2_000
    """How long before the store could end the lease the node declares itself lost (rule R16)."""

    keep_alive_interval_ms: int = 2_500

    backoff: Backoff = field(default_factory=Backoff)
    """Between tries to register, or to keep alive while the store cannot be reached."""

    def __post_init__(self) -> None:
        if self.keep_alive_interval_ms + self.margin_ms >= self.ttl_ms:
            raise ValueError("the keep-alive interval and the margin leave nothing of the time to live")


class ReplacedError(Exception):
    """The node id was registered by a later start: this process must not go on."""


class NodeRegistrar:
    """Registers the node, and again after its lease was lost, until a later start of the same node has registered.

    `on_change` is called with whether the node is registered, whenever that changes; a registration that could not be
    renewed counts as lost `margin_ms` before the store could end it. Only liveness hangs on it: safety comes from
    epochs.
    """

    def __init__(
        self,
        store: CoordinationStore,
        registration: NodeRegistration,
        *,
        clock: Clock,
        on_change: Callable[[bool], None],
        settings: RegistrationSettings | None = None,
    ) -> None:
        self._store = store
        self._registration = registration
        self._clock = clock
        self._on_change = on_change
        self._settings = settings or RegistrationSettings()
        self._lease_id: int | None = None
        self._valid_until_ms = 0
        self._was_registered = False
        self._task: asyncio.Task[None] | None = None
        self._outcome: asyncio.Future[None] | None = None

    @property
    def is_registered(self) -> bool:
        """Goes by the clock, so it is right at once after any pause of the process."""
        return self._lease_id is not None and self._clock.monotonic_ms() < self._valid_until_ms

    async def start(self) -> None:
        """Returns once the node is registered; waits for a store that cannot be reached. Raises ReplacedError."""
        self._outcome = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep_registered(), name="registration")
        await self._outcome

    async def close(self) -> None:
        """Give the registration back, so that nobody has to wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_exception(CoordinationUnavailableError("the registration was given up"))
        lease_id, self._lease_id = self._lease_id, None
        self._tell()
        if lease_id is not None:
            try:
                await self._store.revoke_lease(lease_id)
            except CoordinationError as error:
                _log.info("registration_left_to_expire", reason=str(error))

    async def _keep_registered(self) -> None:
        assert self._outcome is not None
        failures = 0
        try:
            while True:
                try:
                    await self._register()
                    failures = 0
                    if not self._outcome.done():
                        self._outcome.set_result(None)
                    await self._keep_alive()
                except CoordinationError as error:
                    failures += 1
                    _log.warning("registration_failed", reason=str(error), failures=failures)
                self._lease_id = None
                self._tell()
                await self._clock.sleep(self._settings.backoff.delay_ms(failures))
        except ReplacedError as error:
            _log.error("node_replaced", reason=str(error))
            if not self._outcome.done():
                self._outcome.set_exception(error)

    async def _register(self) -> None:
        """Raises ReplacedError, CoordinationError."""
        key = keys.node(self._registration.node_id)
        asked_at_ms = self._clock.monotonic_ms()
        lease = await self._store.grant_lease(self._settings.ttl_ms)
        item = await self._store.get(key)
        self._check_not_replaced(item)
        guard = absent(key) if item is None else unchanged(item)
        result = await self._store.transact([guard], [Put(key, encode(self._registration), lease.lease_id)])
        if not result.succeeded:
            raise CoordinationError("another process registers the same node now")
        self._lease_id = lease.lease_id
        self._renewed(asked_at_ms)

    def _check_not_replaced(self, item: KeyValue | None) -> None:
        if item is None:
            return
        other = decode(NodeRegistration, item.value)
        if other.incarnation > self._registration.incarnation:
            raise ReplacedError(f"node {other.node_id} was started again, in incarnation {other.incarnation}")

    async def _keep_alive(self) -> None:
        """Returns once the lease is lost, or may be soon."""
        assert self._lease_id is not None
        failures = 0
        while self.is_registered:
            left_ms = self._valid_until_ms - self._clock.monotonic_ms()
            pause_ms = self._settings.backoff.delay_ms(failures) if failures else self._settings.keep_alive_interval_ms
            await self._clock.sleep(min(pause_ms, left_ms))
            asked_at_ms = self._clock.monotonic_ms()
            if asked_at_ms >= self._valid_until_ms:
                return
            if await self._renew(self._lease_id):
                failures = 0
                self._renewed(asked_at_ms)
            else:
                failures += 1

    async def _renew(self, lease_id: int) -> bool:
        """Raises LeaseLostError. A store that does not answer in time counts as one that cannot be reached."""
        left_ms = self._valid_until_ms - self._clock.monotonic_ms()
        try:
            async with asyncio.timeout(left_ms / 1000):
                await self._store.keep_alive(lease_id)
        except LeaseLostError:
            raise
        except (CoordinationError, TimeoutError) as error:
            _log.warning("keep_alive_failed", reason=repr(error))
            return False
        return True

    def _renewed(self, asked_at_ms: int) -> None:
        """The time to live counts from before the question: the store may have started it that early."""
        self._valid_until_ms = asked_at_ms + self._settings.ttl_ms - self._settings.margin_ms
        self._tell()

    def _tell(self) -> None:
        if self.is_registered != self._was_registered:
            self._was_registered = self.is_registered
            self._on_change(self._was_registered)
