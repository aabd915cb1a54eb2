"""A watch-fed copy of topics, partitions, groups and nodes: what gateways route by and nodes act on."""

import asyncio
import heapq
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

import structlog

from cluster.backoff import Backoff
from cluster.metadata.changed_topics import ChangedTopics
from cluster.metadata.follow import follow
from cluster.metadata.listeners import Listeners
from cluster.metadata.metadata_state import MetadataState
from cluster.metadata.namespace_state import NamespaceState
from cluster.metadata.producer_state import ProducerState
from cluster.metadata.queue_state import QueueState
from cluster.metadata.recurring_state import RecurringState
from cluster.metadata.redrive_state import RedriveState
from cluster.metadata.steering_state import SteeringState
from cluster.metadata.token_state import TokenState
from cluster.model import keys
from cluster.model.values import Group, NodeRegistration, PartitionState, Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, CoordinationUnavailableError, Listing, WatchBatch, key_of

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MetadataViewSettings:
    backoff: Backoff = field(default_factory=Backoff)
    """Between tries to reach the store."""

    waiters_max: int = 100_000
    """Calls of `wait_for` that wait at the same time; one more is refused as unavailable."""

    confirmations_max: int = 1_000
    """Calls of `confirm` and `confirm_all` at the same time; one more is refused as unavailable. Questions for what
    nobody made must not keep the store from everything else."""


class MetadataView:
    """Answers come from memory and may lag behind the store. `wait_for` closes the gap after a write of one's own, and
    `confirm` after a write of others.

    While the store cannot be reached, the view shows what it last knew. `topic_changes` says which topics have changed.
    """

    def __init__(self, store: CoordinationStore, clock: Clock, settings: MetadataViewSettings | None = None) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings or MetadataViewSettings()
        self.topic_changes = ChangedTopics()
        self._state = MetadataState(self.topic_changes)
        self._steering = SteeringState()
        self._producers = ProducerState()
        self._recurring = RecurringState()
        self._redrives = RedriveState()
        self._tokens = TokenState()
        self._namespaces = NamespaceState()
        self._queues = QueueState()
        self._revision = 0
        self._listeners = Listeners()
        self._token_listeners = Listeners()
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._waiter_serial = 0
        self._confirmations = 0
        self._task: asyncio.Task[None] | None = None
        self._has_listing = asyncio.Event()
        self._stopped_because: str | None = None

    # --- life ---

    async def start(self) -> None:
        """Returns once the first listing is read; waits for a store that cannot be reached."""
        self._task = asyncio.create_task(self._follow(), name="metadata view")
        await self._has_listing.wait()
        if self._stopped_because is not None:
            raise CoordinationUnavailableError(self._stopped_because)

    async def close(self) -> None:
        self._stop("the metadata view is closed")
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # --- looking up ---

    @property
    def revision(self) -> int:
        return self._revision

    def topic(self, name: str) -> Topic | None:
        return self._state.topic(name)

    def topic_by_id(self, topic_id: str) -> Topic | None:
        return self._state.topic_by_id(topic_id)

    def topics(self) -> list[Topic]:
        """By name."""
        return self._state.topics()

    def partition(self, topic_id: str, partition: int) -> PartitionState | None:
        return self._state.partition(topic_id, partition)

    def partitions(self, topic_id: str) -> list[PartitionState]:
        """The known ones, by number; complete when there are `Topic.partitions` of them."""
        return self._state.partitions(topic_id)

    def revision_of(self, key: str) -> int:
        """At which revision the key of a topic, partition, group or node's registration was last written; 0: there is
        none."""
        return self._state.revision_of(key)

    def node(self, node_id: int) -> NodeRegistration | None:
        return self._state.node(node_id)

    def group(self, name: str) -> Group | None:
        return self._state.group(name)

    def group_by_id(self, group_id: str) -> Group | None:
        return self._state.group_by_id(group_id)

    def groups(self) -> list[Group]:
        """By name."""
        return self._state.groups()

    def nodes(self) -> list[NodeRegistration]:
        """By node id."""
        return self._state.nodes()

    @property
    def steering(self) -> SteeringState:
        """Every node that was ever started, the controller, and the wishes of operators. Listeners of `subscribe` are
        not told of what concerns these alone."""
        return self._steering

    @property
    def producers(self) -> ProducerState:
        """The named ones, of all topics. Listeners of `subscribe` are not told of them."""
        return self._producers

    @property
    def recurring(self) -> RecurringState:
        """The recurring schedules, of all topics."""
        return self._recurring

    @property
    def redrives(self) -> RedriveState:
        """Jobs that send dead letters back, of all groups."""
        return self._redrives

    @property
    def tokens(self) -> TokenState:
        """The stored ones. Listeners of `subscribe` are not told of them."""
        return self._tokens

    @property
    def namespaces(self) -> NamespaceState:
        """Listeners of `subscribe` are not told of them."""
        return self._namespaces

    @property
    def queues(self) -> QueueState:
        """Those of SQS. Listeners of `subscribe` are not told of them."""
        return self._queues

    # --- changes ---

    async def wait_for(self, revision: int) -> None:
        """Return once the view shows `revision` or a later one. The caller bounds the time.

        Raises CoordinationUnavailableError once the view is closed, or when too many wait.
        """
        if self._revision >= revision:
            return
        if self._stopped_because is not None:
            raise CoordinationUnavailableError(self._stopped_because)
        if len(self._waiters) >= self._settings.waiters_max:
            self._forget_cancelled_waiters()
        if len(self._waiters) >= self._settings.waiters_max:
            raise CoordinationUnavailableError(f"{len(self._waiters)} calls wait for the metadata already")
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiter_serial += 1
        heapq.heappush(self._waiters, (revision, self._waiter_serial, waiter))
        await waiter

    async def confirm(self, key: str) -> None:
        """Return once the view shows the key as the store has it now, or as it was later: at once where neither has it.
        The caller bounds the time.

        The store may be shared with others, whose writes do not show here. So it is the key's own revision that is
        waited for, never the store's. Raises CoordinationError: the store cannot be asked, or as `wait_for` does.
        """
        with self._one_more_confirmation():
            while True:
                shown = self.revision_of(key)
                item = await self._store.get(key)
                if item is not None:
                    await self.wait_for(item.mod_revision)
                    return
                if self.revision_of(key) == 0:
                    return
                while self.revision_of(key) == shown:
                    await self.wait_for(self._revision + 1)

    async def confirm_all(self, prefix: str) -> None:
        """Return once the view shows every key that the store has under the prefix now; one that is gone from the store
        may still show. The caller bounds the time. Raises as `confirm` does."""
        with self._one_more_confirmation():
            items = (await self._store.list(prefix)).items
            await self.wait_for(max((item.mod_revision for item in items), default=0))

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; returns how to stop it. Listeners must not block."""
        return self._listeners.add(listener)

    def subscribe_to_tokens(self, listener: Callable[[], None]) -> Callable[[], None]:
        """As `subscribe`, after every change of tokens, which is none for those who listen there."""
        return self._token_listeners.add(listener)

    @contextmanager
    def _one_more_confirmation(self) -> Iterator[None]:
        if self._confirmations >= self._settings.confirmations_max:
            raise CoordinationUnavailableError(f"{self._confirmations} calls ask the store already")
        self._confirmations += 1
        try:
            yield
        finally:
            self._confirmations -= 1

    # --- following the store ---

    async def _follow(self) -> None:
        try:
            async with aclosing(
                follow(self._store, keys.ROOT, clock=self._clock, backoff=self._settings.backoff)
            ) as news:
                async for step in news:
                    if isinstance(step, Listing):
                        self._replace(step)
                    else:
                        self._apply(step)
        except Exception as error:
            _log.exception("metadata_view_failed")
            self._stop(f"the metadata view failed: {error!r}")
            raise

    def _replace(self, listing: Listing) -> None:
        self._state = MetadataState(self.topic_changes, listing.items)
        self.topic_changes.lose_track()
        self._steering = SteeringState(listing.items)
        self._producers = ProducerState(listing.items)
        self._recurring = RecurringState(listing.items)
        self._redrives = RedriveState(listing.items)
        self._tokens = TokenState(listing.items)
        self._namespaces = NamespaceState(listing.items)
        self._queues = QueueState(listing.items)
        for key in self._state.undecodable:
            self._report_undecodable(key)
        self._advance(listing.revision)
        self._has_listing.set()
        self._listeners.tell()
        self._token_listeners.tell()

    def _apply(self, batch: WatchBatch) -> None:
        is_news = has_tokens = False
        for event in batch.events:
            is_news = self._state.apply(event) or is_news
            is_news = self._recurring.apply(event) or is_news
            is_news = self._redrives.apply(event) or is_news
            self._steering.apply(event)
            self._producers.apply(event)
            has_tokens = self._tokens.apply(event) or has_tokens
            self._namespaces.apply(event)
            self._queues.apply(event)
            self._report_undecodable(key_of(event))
        self._advance(batch.revision)
        if is_news:
            self._listeners.tell()
        if has_tokens:
            self._token_listeners.tell()

    def _report_undecodable(self, key: str) -> None:
        reason = self._state.undecodable.get(key)
        if reason is not None:
            _log.error("metadata_undecodable", key=key, reason=reason)

    def _advance(self, revision: int) -> None:
        self._revision = max(self._revision, revision)
        while self._waiters and self._waiters[0][0] <= self._revision:
            _, _, waiter = heapq.heappop(self._waiters)
            if not waiter.done():
                waiter.set_result(None)

    def _forget_cancelled_waiters(self) -> None:
        self._waiters = [entry for entry in self._waiters if not entry[2].done()]
        heapq.heapify(self._waiters)

    def _stop(self, reason: str) -> None:
        if self._stopped_because is None:
            self._stopped_because = reason
        self._has_listing.set()
        waiters, self._waiters = self._waiters, []
        for _, _, waiter in waiters:
            if not waiter.done():
                waiter.set_exception(CoordinationUnavailableError(self._stopped_because))
