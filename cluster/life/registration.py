"""A node's registration: a key under a lease, kept alive as long as the node lives."""

import asyncio
from collections.abc import Callable

import structlog
from msgspec.structs import replace

from cluster.life.held_lease import HeldLease
from cluster.life.node_id import DirectoryConflictError, wait_for_node_id
from cluster.life.registration_settings import RegistrationSettings
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    Compare,
    CoordinationError,
    CoordinationStore,
    CoordinationUnavailableError,
    KeyValue,
    LeaseLostError,
    Put,
    absent,
    unchanged,
)

_log = structlog.get_logger(__name__)


class ReplacedError(Exception):
    """The node id was registered by a later start: this process must not go on."""


class _NodeIdInUseError(CoordinationError):
    """Another data directory is registered: of a dead process, or of a living one."""


class NodeRegistrar:
    """Registers the node, and again after its lease was lost, until a later start of the same node has registered.

    `on_change` is called with whether the node is registered, whenever that changes; a registration that could not be
    renewed counts as lost `margin_ms` before the store could end it. Only liveness hangs on it: safety comes from
    epochs. A registration that somebody deleted (the node was declared dead, and is not) is made again.

    `on_ended` is called when it registers no more, with why: ReplacedError or DirectoryConflictError.
    """

    def __init__(
        self,
        store: CoordinationStore,
        registration: NodeRegistration,
        *,
        clock: Clock,
        on_change: Callable[[bool], None],
        on_ended: Callable[[Exception], None] = lambda error: None,
        settings: RegistrationSettings | None = None,
    ) -> None:
        self._store = store
        self._registration = registration
        self._clock = clock
        self._on_change = on_change
        self._on_ended = on_ended
        self._settings = settings or RegistrationSettings()
        self._lease: HeldLease | None = None
        self.registered_revision = 0  # of the store, when it registered last
        self._was_registered = False
        self._task: asyncio.Task[None] | None = None
        self._outcome: asyncio.Future[None] | None = None

    @property
    def node_id(self) -> int:
        return self._registration.node_id

    @property
    def is_registered(self) -> bool:
        """Goes by the clock, so it is right at once after any pause of the process."""
        return self._lease is not None and self._lease.is_valid

    async def start(self) -> None:
        """Returns once the node is registered; waits for a store that cannot be reached, and for an earlier life of
        the node with another data directory to end. Raises ReplacedError, DirectoryConflictError.
        """
        self._outcome = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._keep_registered(), name="registration")
        await self._outcome

    async def announce_leaving(self) -> None:
        """Ask the controller to move this node's leaderships to others. Raises CoordinationError; the registration
        says so from its next renewal on in any case."""
        self._registration = replace(self._registration, is_leaving=True)
        await self._announce()

    async def announce_storage(self, *, is_impaired: bool) -> None:
        """Tell whether the node's disk takes anything. Raises CoordinationError, as above."""
        self._registration = replace(self._registration, has_impaired_storage=is_impaired)
        await self._announce()

    async def _announce(self) -> None:
        """Write the registration as it is by now. Raises CoordinationError."""
        failures = 0
        while (lease := self._lease) is not None and self.is_registered:
            try:
                item = await self._store.get(keys.node(self._registration.node_id))
                if item is None or item.lease_id != lease.lease_id:
                    return
                put = Put(item.key, encode(self._registration), item.lease_id)
                if (await self._store.transact([unchanged(item)], [put])).succeeded:
                    return
            except CoordinationError:
                failures += 1
                if failures == self._settings.announce_attempts_max:
                    raise
                await self._clock.sleep(self._settings.backoff.delay_ms(failures))

    async def close(self) -> None:
        """Give the registration back, so that nobody has to wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_exception(CoordinationUnavailableError("the registration was given up"))
        lease, self._lease = self._lease, None
        self._tell()
        if lease is not None:
            await lease.give_back()

    async def _keep_registered(self) -> None:
        assert self._outcome is not None
        failures = 0
        try:
            while True:
                try:
                    self._lease = await self._register()
                    failures = 0
                    self._tell()
                    if not self._outcome.done():
                        self._outcome.set_result(None)
                    await self._lease.keep(self._check_registered)
                except _NodeIdInUseError as error:
                    failures = 0
                    _log.warning("registration_waits", reason=str(error))
                    await self._wait_for_node_id()
                except CoordinationError as error:
                    failures += 1
                    _log.warning("registration_failed", reason=str(error), failures=failures)
                self._lease = None
                self._tell()
                await self._clock.sleep(self._settings.backoff.delay_ms(failures))
        except (ReplacedError, DirectoryConflictError) as error:
            _log.error("node_replaced", reason=str(error))
            lease, self._lease = self._lease, None
            if lease is not None:
                lease.end()
            self._tell()
            self._on_ended(error)
            if not self._outcome.done():
                self._outcome.set_exception(error)

    async def _register(self) -> HeldLease:
        """Raises ReplacedError, CoordinationError."""
        lease = await HeldLease.grant(self._store, clock=self._clock, settings=self._settings)
        try:
            guards = await self._guards()
            key = keys.node(self._registration.node_id)
            result = await self._store.transact(guards, [Put(key, encode(self._registration), lease.lease_id)])
            if not result.succeeded:
                raise CoordinationError("another process registers the same node now")
            self.registered_revision = result.revision
        except (ReplacedError, CoordinationError):
            await lease.give_back()  # so that a write that comes late has no effect
            raise
        return lease

    async def _guards(self) -> list[Compare]:
        """Hold while no later start of the node has begun, and nobody else registers it. Raises ReplacedError,
        CoordinationError."""
        node_id, incarnation = self._registration.node_id, self._registration.incarnation
        counter = await self._store.get(keys.incarnation(node_id))
        if counter is not None and int(counter.value) > incarnation:
            raise ReplacedError(f"node {node_id} was started again, in incarnation {int(counter.value)}")
        item = await self._store.get(keys.node(node_id))
        if item is not None:
            other = self._earlier_life(item)
            if other.directory_id != self._registration.directory_id:
                raise _NodeIdInUseError(
                    f"node {node_id} at {other.address} is registered with the data directory {other.directory_id}: "
                    "waiting for its end"
                )
        return [
            absent(keys.incarnation(node_id)) if counter is None else unchanged(counter),
            absent(keys.node(node_id)) if item is None else unchanged(item),
        ]

    def _earlier_life(self, item: KeyValue) -> NodeRegistration:
        """Who is registered. Raises ReplacedError if that is a later start of the node."""
        other = decode(NodeRegistration, item.value)
        if other.incarnation > self._registration.incarnation:
            raise ReplacedError(f"node {other.node_id} was started again, in incarnation {other.incarnation}")
        return other

    async def _wait_for_node_id(self) -> None:
        """Raises DirectoryConflictError."""
        node_id, directory_id = self._registration.node_id, self._registration.directory_id
        await wait_for_node_id(self._store, node_id, directory_id, clock=self._clock, settings=self._settings)

    async def _check_registered(self) -> None:
        """Raises LeaseLostError when the key is not there any more, ReplacedError."""
        assert self._lease is not None
        item = await self._store.get(keys.node(self._registration.node_id))
        if item is None or item.lease_id != self._lease.lease_id:
            if item is not None:
                self._earlier_life(item)
            raise LeaseLostError("the registration was deleted")

    def _tell(self) -> None:
        if self.is_registered != self._was_registered:
            self._was_registered = self.is_registered
            self._on_change(self._was_registered)
