"""What `client.events()` tells of the cluster: how it is, and what is different since."""

import msgspec
from msgspec import field


class WatchedTopic(msgspec.Struct, rename="camel"):
    """A topic and its pace. Rates are None until it was looked at twice; another `id`: deleted and made again."""

    name: str
    id: str
    partitions: int
    replication_factor: int
    messages_per_second: float | None = None
    bytes_per_second: float | None = None
    size_bytes: int = field(name="bytes", default=0)


class WatchedGroup(msgspec.Struct, rename="camel"):
    """How far a group is in a topic. `oldest_append_time_ms` is when the oldest message was appended that it has not
    done, None where all is done or it is not known yet."""

    group: str
    topic: str
    lag: int
    in_flight: int = 0
    delayed: int = 0
    blocked: int = 0
    dead_lettered: int = 0
    settled_per_second: float | None = None
    dead_lettered_per_second: float | None = None
    oldest_append_time_ms: int | None = field(name="oldestAppendTime", default=None)
    is_paused: bool = field(name="paused", default=False)


class WatchedNode(msgspec.Struct):
    node: int
    address: str = ""
    rack: str = ""
    is_live: bool = field(name="live", default=False)
    is_draining: bool = field(name="draining", default=False)
    is_leaving: bool = field(name="leaving", default=False)
    replicas: int = 0
    leaders: int = 0


class WatchedMove(msgspec.Struct, rename="camel"):
    """From which nodes to which; `waiting_for` are those that have not caught up."""

    from_nodes: list[int] = field(name="from")
    to_nodes: list[int] = field(name="to")
    waiting_for: list[int] = field(default_factory=list)


class WatchedPartition(msgspec.Struct, rename="camel"):
    """A partition that lacks something, is being moved, or has changed while somebody watched. `trouble` is
    `withoutLeader`, `belowMinInsync`, `underReplicated` or None."""

    topic: str
    partition: int
    leader: int | None
    leader_epoch: int = 0
    replicas: list[int] = field(default_factory=list)
    in_sync: list[int] = field(default_factory=list)
    trouble: str | None = None
    moving: WatchedMove | None = None


class GatewayRates(msgspec.Struct, rename="camel"):
    """What goes through the gateway that answers."""

    sent_per_second: float | None = None
    delivered_per_second: float | None = None
    settled_per_second: float | None = None
    requests_per_second: float | None = None


class ClusterTotals(msgspec.Struct, rename="camel"):
    """Of the whole cluster, but for `gateway`. `round_ms` is how long it took to look at every partition once."""

    topics: int = 0
    groups: int = 0
    partitions: int = 0
    without_leader: int = 0
    below_min_insync: int = 0
    under_replicated: int = 0
    moving: int = 0
    lag: int = 0
    messages_per_second: float | None = None
    bytes_per_second: float | None = None
    settled_per_second: float | None = None
    dead_lettered_per_second: float | None = None
    round_ms: int | None = None
    gateway: GatewayRates = field(default_factory=GatewayRates)


class RemovedThings(msgspec.Struct):
    """What is not there any more: topics by name, groups as (group, topic), nodes by number, partitions as
    (topic, number)."""

    topics: list[str] = field(default_factory=list)
    groups: list[tuple[str, str]] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    partitions: list[tuple[str, int]] = field(default_factory=list)


class ClusterEvent(msgspec.Struct, rename="camel"):
    """One page of what there is, or of what is different. What is named replaces what was said of it before, as a
    whole. `ClusterPicture` puts events together.

    `is_first`: forget all that was said before; `reason` says why it begins anew, and `is_complete` whether all is
    shown. Not `is_last`: another page follows. `cursor` is the place behind it: `client.events(cursor=...)` goes on
    there."""

    time_ms: int = field(name="time")
    is_last: bool = field(name="last")
    is_first: bool = field(name="first", default=False)
    reason: str = ""
    interval_ms: int | None = None
    is_complete: bool = field(name="complete", default=True)
    totals: ClusterTotals | None = None
    topics: list[WatchedTopic] = field(default_factory=list)
    groups: list[WatchedGroup] = field(default_factory=list)
    nodes: list[WatchedNode] = field(default_factory=list)
    partitions: list[WatchedPartition] = field(default_factory=list)
    removed: RemovedThings = field(default_factory=RemovedThings)
    cursor: str = ""
