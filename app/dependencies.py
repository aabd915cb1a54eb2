"""What a gateway is given. Everything impure or remote comes in here; tests and simulations pass others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from prometheus_client.registry import Collector

from app.auth.tokens import TokenTable
from app.settings import Settings
from app.shutdown import Shutdown
from cluster.clock import Clock
from cluster.entropy import Entropy
from cluster.metadata_view import MetadataView
from cluster.model import Group, GroupMode, GroupSettings, Topic, TopicConfig
from storage.rpc.node_api import NodeApi


class NodeDirectory(Protocol):
    """Where the storage nodes are."""

    def client(self, node_id: int) -> NodeApi:
        """The node's interface; raises AcklogError UNAVAILABLE for a node that is not known."""
        ...


class TopicAdministration(Protocol):
    """`cluster.topics.Topics`, as far as a gateway uses it. Each call returns once the metadata view shows it."""

    async def create(
        self,
        name: str,
        *,
        partitions: int,
        config: TopicConfig,
        replication_factor: int,
    ) -> Topic: ...

    async def get_or_create(
        self, name: str, *, partitions: int, config: TopicConfig, replication_factor: int
    ) -> Topic: ...

    async def update(self, name: str, *, partitions: int | None = None, config: TopicConfig | None = None) -> Topic: ...

    async def delete(self, name: str) -> None: ...


class GroupAdministration(Protocol):
    """`cluster.groups.Groups`, as far as a gateway uses it. Each call returns once the metadata view shows it."""

    async def create(self, name: str, *, mode: GroupMode, settings: GroupSettings) -> Group: ...

    async def get_or_create(self, name: str, *, mode: GroupMode, settings: GroupSettings) -> Group: ...

    async def update(self, name: str, *, settings: GroupSettings) -> Group: ...

    async def delete(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """`tokens` None: no authentication."""

    metadata: MetadataView
    topics: TopicAdministration
    groups: GroupAdministration
    nodes: NodeDirectory
    clock: Clock
    entropy: Entropy
    settings: Settings = field(default_factory=Settings)
    tokens: TokenTable | None = None
    shutdown: Shutdown = field(default_factory=Shutdown)
    collectors: Sequence[Collector] = ()
    """Further metrics, such as those of a storage node in the same process."""
    why_not_ready: Callable[[], str | None] = lambda: None
    """What keeps the process from serving although it runs, such as a failed disk."""
