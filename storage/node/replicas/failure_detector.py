"""Notices the death of another node's process at once, instead of when its lease ends."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

import structlog

from cluster.errors import ServerError
from cluster.life.eviction import declared_dead
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationStore, KeyValue, unchanged
from cluster.ports.entropy import Entropy
from cluster.tls.peer_identity import node_identity
from storage.node.replicas.peer_directory import PEER_CLIENT
from storage.node.replicas.suspicion import (
    DeclareDead,
    LeaveToLease,
    Lost,
    NodesRegistered,
    Probe,
    Probed,
    ProbeOutcome,
    Reached,
    Suspicion,
    SuspicionEvent,
    SuspicionSettings,
)
from storage.rpc.peer_api import ProbeRequest
from storage.rpc.peer_client import RemotePeer
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.transport import NodeTransport

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FailureDetectorSettings:
    suspicion: SuspicionSettings = field(default_factory=SuspicionSettings)

    connect_retry_ms: int = 500
    """Between tries to connect to a node that is registered and does not answer."""

    declare_attempts_max: int = 3
    """Tries to end a registration, when something it depends on has changed, or the store does not answer."""

    client: RpcClientSettings = PEER_CLIENT


class FailureDetector:
    """Holds a connection to every other registered node and watches over it; `Suspicion` decides what its loss means.

    A node is declared dead by the transaction of `cluster.life.eviction`, and only as long as this node is registered
    itself: of two nodes that take each other for dead, the first one's transaction makes the other's impossible.
    """

    def __init__(
        self,
        node_id: int,
        incarnation: int,
        *,
        metadata: MetadataView,
        store: CoordinationStore,
        transport: NodeTransport,
        clock: Clock,
        entropy: Entropy,
        settings: FailureDetectorSettings | None = None,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._node_id = node_id
        self._incarnation = incarnation
        self._metadata = metadata
        self._store = store
        self._transport = transport
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or FailureDetectorSettings()
        self._on_crashed = on_crashed
        self._suspicion = Suspicion(self._settings.suspicion)
        self._watched: dict[int, tuple[NodeRegistration, asyncio.Task[None]]] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._unsubscribe: Callable[[], None] | None = None
        self.declared_dead = 0
        """Registrations that this node ended."""

    def start(self) -> None:
        self._unsubscribe = self._metadata.subscribe(self._metadata_changed)
        self._metadata_changed()

    async def close(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- who is watched ----------------------------------------------------------------------------------------------

    def _metadata_changed(self) -> None:
        others = {each.node_id: each for each in self._metadata.nodes() if each.node_id != self._node_id}
        for node_id, (registration, task) in list(self._watched.items()):
            if not _is_same_process(others.get(node_id), registration):
                task.cancel()
                del self._watched[node_id]
        for node_id, registration in others.items():
            if node_id not in self._watched:
                self._watched[node_id] = registration, self._spawn(self._watch(registration))
        self._step(NodesRegistered({node_id: each.incarnation for node_id, each in others.items()}))

    async def _watch(self, registration: NodeRegistration) -> None:
        """Hold a connection; say when it breaks."""
        node_id, incarnation = registration.node_id, registration.incarnation
        lost = asyncio.Event()
        peer = self._remote(registration, on_lost=lost.set)
        try:
            while True:
                lost.clear()
                if await self._who_is_at(peer) == (node_id, incarnation):
                    self._step(Reached(node_id, incarnation))
                    await lost.wait()
                    logger.info("peer_connection_broke", node_id=node_id, incarnation=incarnation)
                    self._step(Lost(node_id, incarnation))
                await self._clock.sleep(self._settings.connect_retry_ms)
        finally:
            await peer.close()

    def _remote(self, node: NodeRegistration, *, on_lost: Callable[[], None] | None = None) -> RemotePeer:
        return RemotePeer(
            self._transport,
            node.address,
            clock=self._clock,
            entropy=self._entropy,
            settings=self._settings.client,
            on_lost=on_lost,
            expects=node_identity(node.node_id),
        )

    async def _who_is_at(self, peer: RemotePeer) -> tuple[int, int] | None:
        """Node id and incarnation; None where nobody answers."""
        try:
            answer = await peer.probe(ProbeRequest(self._node_id))
        except ServerError:
            return None
        return answer.node_id, answer.incarnation

    # --- what is suspected -------------------------------------------------------------------------------------------

    def _step(self, event: SuspicionEvent) -> None:
        for effect in self._suspicion.step(event, self._clock.monotonic_ms()):
            match effect:
                case Probe():
                    self._spawn(self._probe(effect))
                case DeclareDead():
                    self._spawn(self._declare_dead(effect))
                case LeaveToLease():
                    logger.warning("dead_node_left_to_its_lease", node_id=effect.node_id, reason=effect.reason)

    async def _probe(self, probe: Probe) -> None:
        """On a connection of its own."""
        await self._clock.sleep(probe.pause_ms)
        finding = ProbeOutcome.SILENT
        watched = self._watched.get(probe.node_id)
        if watched is not None:
            peer = self._remote(watched[0])
            try:
                async with asyncio.timeout(self._settings.suspicion.try_timeout_ms / 1000):
                    found = await self._who_is_at(peer)
                    if found is not None and found[0] == probe.node_id:
                        finding = ProbeOutcome.ANSWERED
                    elif found is not None or peer.was_refused:  # somebody else has its address, or nobody
                        finding = ProbeOutcome.REFUSED
            except TimeoutError:
                pass
            finally:
                await peer.close()
        self._step(Probed(probe, finding))

    async def _declare_dead(self, effect: DeclareDead) -> None:
        reason = "the registrations change all the time"
        for _ in range(self._settings.declare_attempts_max):
            try:
                if await self._end_registration(effect):
                    return
            except CoordinationError as error:
                reason = str(error)
            await self._clock.sleep(self._settings.suspicion.try_pause_ms)
        logger.warning("dead_node_left_to_its_lease", node_id=effect.node_id, reason=reason)

    async def _end_registration(self, effect: DeclareDead) -> bool:
        """Whether there is nothing left to do. Raises CoordinationError."""
        mine = await self._registration(self._node_id, self._incarnation)
        dead = await self._registration(effect.node_id, effect.incarnation)
        if mine is None or dead is None:
            logger.info("dead_node_left_alone", node_id=effect.node_id, is_registered=dead is not None)
            return True
        compares, operations = declared_dead(dead, await self._store.get(keys.CONTROLLER))
        result = await self._store.transact([unchanged(mine), *compares], operations)
        if result.succeeded:
            self.declared_dead += 1
            logger.warning("node_declared_dead", node_id=effect.node_id, incarnation=effect.incarnation)
        return result.succeeded

    async def _registration(self, node_id: int, incarnation: int) -> KeyValue | None:
        item = await self._store.get(keys.node(node_id))
        return item if item is not None and decode(NodeRegistration, item.value).incarnation == incarnation else None

    # --- tasks -------------------------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_crashed(error)


def _is_same_process(one: NodeRegistration | None, other: NodeRegistration) -> bool:
    return one is not None and (one.incarnation, one.address) == (other.incarnation, other.address)
