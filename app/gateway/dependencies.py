"""What a gateway is given. Everything impure or remote comes in here; tests and simulations pass others."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import UNSET, UnsetType
from prometheus_client.registry import Collector

from app.auth.callers import SignedTokens
from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings
from app.gateway.batching.batch_numbers import BatchNumbers
from app.gateway.shutdown import Shutdown
from cluster.catalog.token_admin import Discard
from cluster.errors import ServerError
from cluster.metadata.listeners import Listeners
from cluster.metadata.metadata_view import MetadataView
from cluster.model.namespace import Namespace, NamespaceSettings
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.model.redrives import RedriveJob, RedrivePart
from cluster.model.sqs_queue import SqsQueue
from cluster.model.steering import PartitionOrder
from cluster.model.stored_token import ShownToken, StoredToken
from cluster.model.unclean_election import Loss, ReplicaReport
from cluster.model.values import (
    Group,
    GroupMode,
    GroupSettings,
    NamedProducer,
    PartitionState,
    Pause,
    Topic,
    TopicConfig,
)
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.ports.tracing import Tracer
from storage.rpc.node_api import NodeApi

InThread = Callable[[Callable[[], object]], Awaitable[object]]
"""Has a function called off the event loop."""


class NodeDirectory(Protocol):
    """Where the storage nodes are."""

    def client(self, node_id: int) -> NodeApi:
        """The node's interface; raises ServerError UNAVAILABLE for a node that is not known."""
        ...


class TopicAdministration(Protocol):
    """`cluster.catalog.topic_admin.TopicAdmin`, as far as a gateway uses it. Each call returns once the metadata view
    shows it."""

    async def get_or_create(
        self, name: str, *, partitions: int, config: TopicConfig, replication_factor: int, restore_id: str = ""
    ) -> Topic: ...

    async def update(
        self,
        name: str,
        *,
        topic_id: str | None = None,
        partitions: int | None = None,
        config: TopicConfig | Callable[[TopicConfig], TopicConfig] | None = None,
        replication_factor: int | None = None,
    ) -> Topic: ...

    async def rotate_data_key(self, name: str) -> Topic: ...

    async def decommission(self, name: str, partitions: Sequence[int]) -> Topic: ...

    async def finish_restore(self, name: str, restore_id: str, *, decommissioned: Sequence[int]) -> Topic: ...

    def keeps_order_when_changed(self, topic: Topic) -> bool: ...

    async def delete(self, name: str, *, topic_id: str | None = None) -> None: ...


class GroupAdministration(Protocol):
    """`cluster.catalog.group_admin.GroupAdmin`, as far as a gateway uses it. Each call returns once the metadata view
    shows it."""

    async def get_or_create(
        self,
        name: str,
        *,
        mode: GroupMode,
        settings: GroupSettings,
        dead_letter_sources: tuple[str, ...] | None = None,
    ) -> Group: ...

    async def update(
        self,
        name: str,
        *,
        group_id: str | None = None,
        settings: GroupSettings | Callable[[GroupSettings], GroupSettings],
        dead_letter_sources: tuple[str, ...] | UnsetType | None = UNSET,
    ) -> Group: ...

    async def pause(self, name: str, change: Callable[[tuple[Pause, ...]], tuple[Pause, ...]]) -> Group: ...

    async def resume(self, name: str, change: Callable[[tuple[Pause, ...]], tuple[Pause, ...]]) -> Group: ...

    async def delete(self, name: str, *, group_id: str | None = None) -> None: ...


class ProducerAdministration(Protocol):
    """`cluster.catalog.producer_admin.ProducerAdmin`, as far as a gateway uses it."""

    async def open(self, topic: Topic, name: str, instance: str) -> NamedProducer: ...

    async def note_use(self, producer: NamedProducer) -> None: ...

    def is_use_due(self, producer: NamedProducer) -> bool: ...


class RecurringAdministration(Protocol):
    """`cluster.catalog.recurring_admin.RecurringAdmin`, as far as a gateway uses it."""

    async def get_or_create(
        self, topic: Topic, name: str, make: Callable[[str, int], RecurringSchedule]
    ) -> tuple[RecurringSchedule, bool]: ...

    async def update(
        self, topic: Topic, name: str, revise: Callable[[RecurringSchedule, int], RecurringSchedule]
    ) -> RecurringSchedule: ...

    async def delete(self, topic: Topic, name: str) -> None: ...

    def no_such(self, topic: Topic, name: str) -> ServerError: ...


class RedriveAdministration(Protocol):
    """`cluster.catalog.redrive_admin.RedriveAdmin`, as far as a gateway uses it."""

    async def create(self, wanted: RedriveJob) -> RedriveJob: ...

    async def cancel(self, group_id: str, job_id: str) -> RedriveJob: ...

    async def parts(self, job: RedriveJob) -> dict[int, RedrivePart]: ...


class TokenAdministration(Protocol):
    """`cluster.catalog.token_admin.TokenAdmin`, as far as a gateway uses it."""

    async def create(self, wanted: StoredToken) -> tuple[StoredToken, ShownToken]: ...

    async def rotate(
        self, token: StoredToken, *, grace_ms: int | None, discard: Discard | None
    ) -> tuple[StoredToken, ShownToken]: ...

    async def revoke(self, name: str) -> None: ...


class NamespaceAdministration(Protocol):
    """`cluster.catalog.namespace_admin.NamespaceAdmin`, as far as a gateway uses it."""

    async def get_or_create(self, name: str, settings: NamespaceSettings) -> tuple[Namespace, bool]: ...

    async def update(self, name: str, revise: Callable[[NamespaceSettings], NamespaceSettings]) -> Namespace: ...

    async def delete(self, name: str) -> None: ...


class QueueAdministration(Protocol):
    """`cluster.catalog.queue_admin.QueueAdmin`, as far as a gateway uses it."""

    async def find(self, name: str) -> SqsQueue | None: ...

    async def claim(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str], *, instead_of: SqsQueue | None
    ) -> tuple[SqsQueue, bool]: ...

    async def complete(
        self, claim: SqsQueue, *, topic_id: str, group_id: str, attributes: Mapping[str, str]
    ) -> SqsQueue | None: ...

    async def update(self, queue: SqsQueue, revise: Callable[[SqsQueue], SqsQueue]) -> SqsQueue | None: ...

    async def remove(self, queue: SqsQueue) -> bool: ...


class ClusterAdministration(Protocol):
    """`cluster.catalog.cluster_admin.ClusterAdmin`, as far as a gateway uses it. Each wish shows in the metadata view
    once its call returns; the controller carries it out later."""

    async def store_answers(self, *, within_ms: int) -> bool: ...

    def check_drain(self, node_id: int) -> None: ...

    async def drain(self, node_id: int) -> None: ...

    async def stop_draining(self, node_id: int) -> None: ...

    def order(self, topic_name: str, partition: int, replicas: Sequence[int]) -> PartitionOrder: ...

    async def reassign(self, topic_name: str, partition: int, replicas: Sequence[int]) -> PartitionOrder: ...

    async def cancel(self, topic_name: str, partition: int) -> None: ...

    async def elect_unclean(
        self, topic_name: str, partition: int, chosen: ReplicaReport, loss: Loss, *, revision: int
    ) -> PartitionState: ...

    async def progress_of(self, topic_id: str, partition: int) -> dict[str, int]: ...

    async def pause_moves(self) -> None: ...

    async def resume_moves(self) -> None: ...


class Colleagues(Protocol):
    """The other processes of a server that is several on one machine."""

    def offer(self, exposition: Callable[[], Awaitable[bytes]]) -> None:
        """How they get this process's metrics."""
        ...

    async def whole_exposition(self, own: bytes) -> bytes:
        """This process's metrics and theirs, each with the label of its process."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """`tokens` None: no authentication."""

    metadata: MetadataView
    topics: TopicAdministration
    groups: GroupAdministration
    producers: ProducerAdministration
    recurring: RecurringAdministration
    redrives: RedriveAdministration
    stored_tokens: TokenAdministration
    namespaces: NamespaceAdministration
    queues: QueueAdministration
    steering: ClusterAdministration
    nodes: NodeDirectory
    clock: Clock
    entropy: Entropy
    settings: Settings = field(default_factory=Settings)
    settings_listeners: Listeners = field(default_factory=Listeners)
    """Told when settings have changed while the process serves."""
    tokens: TokenTable | None = None
    signed: SignedTokens | None = None
    """Tokens of an issuer. None: they are not taken."""
    is_embedded: bool = False
    """Gateway, node and controller are one server: there is one node, and it is the controller without an election."""
    colleagues: Colleagues | None = None
    """None: what this process serves is served by it alone, or by a cluster whose processes are asked one by one."""
    shutdown: Shutdown = field(default_factory=Shutdown)
    in_thread: InThread | None = None
    """For what blocks and is not the disk's: loading a library on first use. None: it is loaded on the event loop."""
    batch_numbers: BatchNumbers | None = None
    """For a gateway whose nodes are at the other end of connections, where answers get lost."""
    collectors: Sequence[Collector] = ()
    """Further metrics, such as those of a storage node in the same process."""
    tracer: Tracer | None = None
    """None: nothing is traced."""
    why_not_ready: Callable[[], str | None] = lambda: None
    """What keeps the process from serving although it runs, such as a failed disk."""
