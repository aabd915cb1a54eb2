"""What a simulated server is like, and its world. `drawn_options` draws all of it from a seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum

from msgspec.structs import replace

from cluster.model.values import Exhausted, GroupMode, GroupSettings
from tests.sim.cluster.coordination import CoordinationFaults
from tests.sim.cluster.links import LinkSpeed

TOLD_TO_MEMBERS: dict[GroupMode, frozenset[str]] = {
    GroupMode.KEY_ORDERED: frozenset(),
    GroupMode.EXCLUSIVE: frozenset({"MEMBER_FENCED", "MEMBER_UNKNOWN", "MEMBER_EXISTS"}),
}
"""What consumers of such a group may be told, and no others."""


TOLD_TO_DECIDERS = frozenset({"NOT_BLOCKED"})
"""What a person may be told who decides about messages."""


class Deployment(Enum):
    """What it is made of. An embedded server is a world with one machine, on which all of it is one process: a node, a
    gateway and the coordination store, without a network."""

    EMBEDDED = "embedded"
    CLUSTER = "cluster"


class Fault(Enum):
    """What may happen."""

    KILL = "kill a node"  # the page cache stays
    POWER_LOSS = "power loss of a node"
    POWER_LOSS_OF_ALL = "power loss of all nodes"
    KILL_AT_OPERATION = "kill at a disk operation"
    POWER_LOSS_AT_OPERATION = "power loss at a disk operation"
    QUICK_RESTART = "quick restart"  # killed and started again before anybody notices
    KILL_LEADER = "kill a leader"
    DOUBLE_FAILOVER = "double failover"  # the leader, and soon the one after it
    RESTART = "graceful restart"
    WIPE = "wiped disk"
    PAUSE = "pause of a node"  # long enough for its lease to end
    SHORT_PAUSE = "short pause of a node"
    KILL_GATEWAY = "kill a gateway"
    PAUSE_GATEWAY = "pause of a gateway"
    ISOLATE = "isolated node"
    ONE_WAY = "one-way partition"
    CLOG = "clogged link"
    RESETS = "reset connections"
    CUT_STORE = "node cut off from the store"
    STORE_DOWN = "store without a quorum"
    COMPACT = "compaction"
    EXPIRE = "lease ended early"  # by the store's operator, or a store that was wrong about the time
    FAILED_SYNC = "failed sync"
    DISK_FULL = "disk full"
    SLOW_DISK = "slow disk"
    WALL_JUMP = "wall jump"
    DRAIN = "drain a node"
    BIT_ROT = "bit rot"
    GROW = "grow the topic"
    MOVE = "move a partition"
    ISLAND = "island of a node and a gateway"


TRANSIENT_TTLS = (0.3, 2.5)
"""How long pauses and cuts last that are not said to be lasting, as shares of a registration's life."""


class LastingFault(Enum):
    """What stays for as long as the availability judge needs, one at a time and nothing else with it: what a supervisor
    cannot help, and an operator may notice an hour later."""

    ISLAND = "lasting: a node and a gateway away from the rest"
    ISLAND_WITHOUT_STORE = "lasting: a node and a gateway away from the rest and the store"
    CUT_OFF = "lasting: a node away from other nodes"
    UNHEARD = "lasting: a node that other nodes do not hear"
    DEAF = "lasting: a node that does not hear other nodes"
    UNHEARD_BY_ONE = "lasting: a node that one other does not hear"
    FULL_DISK = "lasting: a full disk"
    LONG_PAUSE = "lasting: a pause of a node"


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How each server keeps its logs, and what clients do."""

    seed: int
    partitions: int
    groups: int
    segment_bytes: int
    journal_file_bytes: int
    journal_files_max: int
    sync_interval_ms: int
    delivery_snapshot_bytes: int
    batch_cache_bytes: int
    write_behind_bytes: int
    disk_mean_ms: float
    disk_stall_probability: float
    cache_miss_probability: float
    store_mean_ms: float

    producers: int
    messages_max: int
    batch_max: int
    body_bytes_max: int
    keys: int
    keyless_probability: float
    dedup_probability: float
    request_key_probability: float
    resend_probability: float
    producer_pause_ms: int
    dedup_window_ms: int
    acks: tuple[int | str, ...]
    """What requests ask for, each one of these."""

    consumers: int
    receive_max: int
    wait_ms: int
    group_visibility_ms: int
    visibility_ms: int
    max_attempts: int
    nack_probability: float
    forget_probability: float
    extend_probability: float
    slow_probability: float
    auto_ack_probability: float
    disconnect_probability: float
    shuffle: bool
    has_marks: bool = False
    """Whether messages have tags and headers."""
    call_filter_probability: float = 0.0
    """Of receives: those with a filter of their own."""

    def describe(self) -> str:
        return "\n".join(f"  {field.name:24} {getattr(self, field.name)}" for field in fields(self))


@dataclass(frozen=True, slots=True)
class OrderedGroup:
    """A group that keeps an order, beside those that share. Its consumers come and go: each stays for `stay_ms` in the
    mean. The timeouts are an exclusive group's."""

    mode: GroupMode
    consumers: int
    stay_ms: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    explicit_share: float = 0.0
    """Of an exclusive group's consumers: those that join, send heartbeats and leave by calls of their own."""
    static_share: float = 0.0
    """Of those: members of a static name, which the next process takes over."""
    on_exhausted: Exhausted = Exhausted.DEAD_LETTER

    @property
    def name(self) -> str:
        return f"{self.mode.value}-group"

    def settings(self, common: GroupSettings) -> GroupSettings:
        """With what is its own."""
        settings = replace(common, on_exhausted=self.on_exhausted)
        if self.mode is not GroupMode.EXCLUSIVE:
            return settings
        return replace(
            settings, session_timeout_ms=self.session_timeout_ms, rebalance_timeout_ms=self.rebalance_timeout_ms
        )

    def describe(self) -> str:
        timeouts = f"timeouts {self.session_timeout_ms} and {self.rebalance_timeout_ms} ms"
        members = f"explicit {self.explicit_share}, static {self.static_share}"
        consumers = f"{self.consumers} consumers for {self.stay_ms} ms each"
        return f"{self.name} ({consumers}, {timeouts}, {members}, {self.on_exhausted.value})"


@dataclass(frozen=True, slots=True)
class Options:
    """`server` says how logs are kept and what clients do. Times are virtual milliseconds."""

    seed: int
    deployment: Deployment
    server: ServerOptions
    faults: tuple[Fault, ...]
    duration_ms: int
    fault_interval_ms: int
    restart_delays_ms: tuple[int, ...]

    nodes: int
    gateways: int
    has_racks: bool
    replication_factor: int
    min_insync_replicas: int
    max_replica_lag_ms: int

    link: LinkSpeed
    cut_probability: float
    coordination: CoordinationFaults
    clock_skew_ms: int
    clock_drift: float

    registration_ttl_ms: int
    election_ttl_ms: int
    fetch_wait_ms: int
    contact_ms: int
    live_lag_records_max: int
    fetch_bytes_max: int
    repair_delay_ms: int

    joins: int
    """New machines that join while everything goes on."""
    leaves: int
    """Machines that are drained and taken away for good."""
    seeks: int
    """How often each group is sent back or forth."""
    pauses: int
    """How often each group is paused, and goes on."""
    deletions: int
    """How often a topic beside the others is deleted, and created again."""
    readers: int
    """Clients that read the log over HTTP."""
    ordered_groups: tuple[OrderedGroup, ...]
    lasting_faults: tuple[LastingFault, ...]
    """What comes after all the others, under the eyes of the availability judge."""
    delayed: int = 0
    """Messages that are sent for later."""
    has_trims: bool = False
    """Whether a topic beside the others is deleted from."""
    letters: int = 0
    """Dead letters that jobs send back."""
    table_messages: int = 0
    """Messages that are sent to a topic beside the others which keeps the last of each key."""
    filters: Mapping[str, str] = field(default_factory=dict)
    """Of each group in a seed with filters: what it begins with, which may be none."""
    filter_changes: int = 0
    """How often each of these gets another one."""
    recurring: int = 0
    """Schedules that send again and again."""
    has_lifetimes: bool = False
    """Whether messages of a topic beside the others live for some time only."""
    name_takers: int = 0
    """Processes that take a producer's name from each other."""
    moving: int = 0
    """Messages with keys that are sent, most for later, to a topic that grows meanwhile."""
    view_messages: int = 0
    """Messages that are sent to a compacted topic of several partitions, of which values are asked for."""
    committers: int = 0
    """Members of an exclusive group that commit positions of their own."""
    limited_per_second: int = 0
    """Messages that may be sent to a topic beside the others, which has a quota."""
    is_encrypted: bool = False
    """Whether all topics are encrypted at rest."""
    endless_groups: tuple[str, ...] = ()
    """Those whose messages come back for ever, by their names."""

    @property
    def dedup_is_exact(self) -> bool:
        """Whether dedup windows know all of their time: they follow append times."""
        return Fault.WALL_JUMP not in self.faults and self.clock_skew_ms <= 1_000

    @property
    def also_expected(self) -> frozenset[str]:
        """Codes that clients may be told for what goes wrong here, and only here."""
        codes = {Fault.BIT_ROT: "RECORDS_CORRUPT"}
        expected = {code for fault, code in codes.items() if fault in self.faults}
        told = {code for group in self.ordered_groups for code in TOLD_TO_MEMBERS[group.mode]}
        return frozenset(expected | told | (TOLD_TO_DECIDERS if self.blocking_groups else set()))

    @property
    def shared_groups(self) -> list[str]:
        return [f"group-{number}" for number in range(self.server.groups)]

    @property
    def group_names(self) -> list[str]:
        return [*self.shared_groups, *(group.name for group in self.ordered_groups)]

    @property
    def blocking_groups(self) -> dict[str, OrderedGroup]:
        """By their names."""
        return {group.name: group for group in self.ordered_groups if group.on_exhausted is Exhausted.BLOCK}

    @property
    def groups_without_letters(self) -> list[str]:
        return [*self.blocking_groups, *self.endless_groups]

    def ordered(self, mode: GroupMode) -> dict[str, OrderedGroup]:
        """The groups of one mode, by their names."""
        return {group.name: group for group in self.ordered_groups if group.mode is mode}

    def describe(self) -> str:
        lines = []
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "server":
                continue
            if each.name in {"faults", "lasting_faults"}:
                value = ", ".join(fault.value for fault in value) or "none"
            if each.name == "ordered_groups":
                value = ", ".join(group.describe() for group in value) or "none"
            if each.name == "deployment":
                value = value.value
            lines.append(f"  {each.name:24} {value}")
        return "\n".join([*lines, "  of each server and its clients:", self.server.describe()])
