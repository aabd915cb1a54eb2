"""What the coordination store holds: topics, partitions, groups, nodes. Plain values; `cluster.model.codec` writes
them."""

from enum import Enum

import msgspec

from acklog.wire import limits

NO_LEADER = -1
UNTOLD_PROTOCOL = 0


class GroupMode(Enum):
    SHARED = "shared"
    KEY_ORDERED = "keyOrdered"
    EXCLUSIVE = "exclusive"


class StartPosition(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"


class Assignor(Enum):
    """Which member of an exclusive group gets which partition."""

    STICKY = "sticky"
    RANGE = "range"
    ROUND_ROBIN = "roundRobin"
    LAG = "lag"


class MissingPosition(Enum):
    """What a group does in a partition where it reads for the first time, or where its position is lost: also as
    retention has removed what it had not done."""

    START = "start"  # at its start position; behind what was removed
    REFUSE = "refuse"  # nothing, until somebody says where: a seek, or a commit


class Exhausted(Enum):
    """What becomes of a message whose attempts are used up."""

    DEAD_LETTER = "deadLetter"  # it goes to the dead-letter topic
    BLOCK = "block"  # it waits until a person decides, and holds up what its order puts behind it
    RETRY = "retry"  # it goes on coming back, as after any other failure


class Expired(Enum):
    """What becomes of a message whose time to live is over."""

    SKIP = "skip"  # it is passed over
    DEAD_LETTER = "deadLetter"  # it goes to the dead-letter topic


class RetentionMode(Enum):
    TIME = "time"  # by age and size, whether acknowledged or not
    UNTIL_ACKED = "untilAcked"  # frees what all registered groups have done, capped by age


class CleanupPolicy(Enum):
    DELETE = "delete"  # retention removes the oldest messages
    COMPACT = "compact"  # of each key the last message stays, for good
    COMPACT_AND_DELETE = "compact,delete"  # and retention removes the oldest of these


class Encryption(Enum):
    OFF = "off"
    ON = "on"  # what is stored of the topic from now on is encrypted


class TopicConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Settings of a topic. `retention_bytes` counts per partition; -1 means no limit, as does `retention_ms` and
    `max_compaction_lag_ms`. `ttl_ms` is the time to live of messages that name none (None: no end), from their append
    time on; `delay_ms` how much later those are seen that do not say when. A quota (`…_per_second`) that is None is
    none; it is that of the whole cluster."""

    retention: RetentionMode = RetentionMode.TIME
    retention_ms: int = limits.RETENTION_MS_DEFAULT
    retention_bytes: int = -1
    segment_bytes: int = 128 * 1024 * 1024
    dedup_window_ms: int = limits.DEDUP_WINDOW_MS_DEFAULT
    min_insync_replicas: int = 1
    max_replica_lag_ms: int = 10_000
    cleanup_policy: CleanupPolicy = CleanupPolicy.DELETE
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = limits.COMPACTION_LAG_MS_DEFAULT
    tombstone_retention_ms: int = limits.TOMBSTONE_RETENTION_MS_DEFAULT
    ttl_ms: int | None = None
    send_messages_per_second: int | None = None
    send_bytes_per_second: int | None = None
    send_requests_per_second: int | None = None
    delay_ms: int = 0
    encryption: Encryption = Encryption.OFF

    @property
    def has_quotas(self) -> bool:
        return (
            self.send_messages_per_second is not None
            or self.send_bytes_per_second is not None
            or self.send_requests_per_second is not None
        )

    @property
    def is_compacted(self) -> bool:
        return self.cleanup_policy is not CleanupPolicy.DELETE

    @property
    def is_retained(self) -> bool:
        """Whether retention removes what is old, or too much."""
        return self.cleanup_policy is not CleanupPolicy.COMPACT


class EarlierMapping(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What keys were mapped to until the wall-clock time `until_ms`."""

    partitions: int
    decommissioned: tuple[int, ...]
    until_ms: int


class DataKey(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What batches of a topic are encrypted by, `wrapped` by the master key of the id `master_key`. Batches name it by
    its number. By `check` it is known again once it is unwrapped; earlier versions wrote none."""

    number: int
    wrapped: bytes
    master_key: str
    created_at_ms: int
    check: bytes = b""


class Topic(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`id` is the identity: a topic that is deleted and created again has another (rule R14).

    `partitions` counts the numbers ever given, so it never falls; `decommissioned` are those of them that take no new
    messages (`acklog.wire.partition_mapping` says where their keys go). `mapping` counts the changes of these two, and
    `earlier_mappings` has the last ones before, the oldest first (`cluster.model.topic_mapping`). So many of them, the
    first `ordered_mappings`, have a start in every partition (`cluster.model.mapping_starts`).

    `restore_id` names the restore that made the topic; as long as that fills it, it `is_restoring`, and nothing else is
    done with it (`cluster.model.restored_topic`).

    `data_keys_wanted` is how many data keys the topic is to have: it rises with each rotation. Nodes make them, add
    them to `data_keys`, the oldest first, and wrap them anew (`cluster.model.data_keys`).
    """

    id: str
    name: str
    partitions: int
    replication_factor: int
    created_at_ms: int
    config: TopicConfig = TopicConfig()
    decommissioned: tuple[int, ...] = ()
    mapping: int = 0
    earlier_mappings: tuple[EarlierMapping, ...] = ()
    ordered_mappings: int = 0
    data_keys_wanted: int = 0
    data_keys: tuple[DataKey, ...] = ()
    restore_id: str = ""
    is_restoring: bool = False


class PartitionLife(Enum):
    ACTIVE = "active"
    DECOMMISSIONED = "decommissioned"  # takes no new messages; what it holds is read until retention frees it
    EMPTY = "empty"  # its leader says so: nothing is left in the log, and nothing is scheduled to get there
    GONE = "gone"  # the positive word by which nodes remove their copies (rule R13); stays as long as the topic


class UncleanElection(msgspec.Struct, frozen=True, rename="camel"):
    """An operator had a replica elected that was not in sync (rule R9). `count` is how often that was done to the
    partition, this one included. From `log_end` on, what the log had before `leader_epoch` is lost, up to `lost_below`
    as far as is known."""

    count: int
    leader_epoch: int
    node: int
    log_end: int
    lost_below: int
    at_ms: int


class Deletion(msgspec.Struct, frozen=True, rename="camel"):
    """What a partition held below the offset `before` was deleted on purpose, by the leader of `leader_epoch`. If an
    unclean election has cut that one's log since, other messages stand at these offsets: they are not meant (rule R9).
    """

    before: int
    leader_epoch: int


class MappingStart(msgspec.Struct, frozen=True, rename="camel"):
    """What was put into a partition by this mapping of its topic, or by a later one, is at `offset` or above; what was
    by an earlier one is below."""

    mapping: int
    offset: int


class PartitionState(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who holds a partition. Leadership is bound to (node, incarnation); every start takes a new leader epoch.

    `replicas` are all that may hold data, the preferred leader first; during a move they include the ones in `adding`
    and in `removing`. `isr` is a part of them. `directories` names, for each replica, the data directory that its
    place in the ISR was earned with, "" where that is not known; it is empty or as long as `replicas`. `leader` is
    NO_LEADER when no replica is left that may lead. `partition_epoch` rises with every change, whoever makes it.
    `given_up_by` are nodes that have handed the leadership over of late, as they could not commit, the last one last.
    `damaged` are members of the ISR that have handed it over because their copy is damaged, and had to stay members.
    `unclean_election` is the last one, and stays: what was committed before it may be cut by whoever follows since.
    `deletion` is the last one, and stays.
    `mapping_starts` are written by the leaders, ascending (`cluster.model.mapping_starts`).
    """

    topic_id: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_incarnation: int
    leader_epoch: int
    partition_epoch: int = 0
    directories: tuple[str, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    life: PartitionLife = PartitionLife.ACTIVE
    given_up_by: tuple[int, ...] = ()
    damaged: tuple[int, ...] = ()
    unclean_election: UncleanElection | None = None
    deletion: Deletion | None = None
    mapping_starts: tuple[MappingStart, ...] = ()

    def __post_init__(self) -> None:
        if self.directories and len(self.directories) != len(self.replicas):
            raise ValueError(f"{len(self.directories)} directories for {len(self.replicas)} replicas")

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas once the move that is under way is complete."""
        return tuple(node for node in self.replicas if node not in self.removing)

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    def directory_of(self, node_id: int) -> str:
        """ "" where it is not known, or the node holds no replica."""
        if not self.directories or node_id not in self.replicas:
            return ""
        return self.directories[self.replicas.index(node_id)]


class FairBy(Enum):
    NONE = "none"
    KEY = "key"  # a key has its share of what is in flight, and no more while others wait


class GroupSettings(msgspec.Struct, frozen=True, rename="camel"):
    """How a group reads. `dead_letter_topic` None means `<topic>.<group>.dlq`; a limit or quota that is None is none.
    `filter` says which messages the group wants, in its canonical text; the others are passed over.
    `session_timeout_ms`, `rebalance_timeout_ms` and `assignor` are for exclusive groups; others have the defaults.

    `fair_by_header` names the header whose values have their share of what is in flight, as keys have by `fair_by`: a
    group goes by one of the two. It is a member of its own, which earlier versions leave alone, as a word of `fair_by`
    that they do not know would hide the group from them. `max_in_flight_per_header` counts per value of that header.

    `retry_delays_ms` are those after the first, the second failure and so on, the last one repeats; with None the delay
    doubles from `retry_backoff_min_ms` to `retry_backoff_max_ms`. `retry_jitter` is the part of each delay that is left
    to chance, 0 to 1."""

    start_position: StartPosition = StartPosition.EARLIEST
    visibility_ms: int = limits.VISIBILITY_SECONDS_DEFAULT * 1000
    max_attempts: int = limits.MAX_ATTEMPTS_DEFAULT
    retry_backoff_min_ms: int = limits.RETRY_BACKOFF_MIN_MS
    retry_backoff_max_ms: int = limits.RETRY_BACKOFF_MAX_MS
    dead_letter_topic: str | None = None
    max_in_flight: int = limits.IN_FLIGHT_MAX
    max_in_flight_per_consumer: int | None = None
    max_in_flight_per_key: int | None = None
    fair_by: FairBy = FairBy.NONE
    session_timeout_ms: int = limits.SESSION_TIMEOUT_MS_DEFAULT
    rebalance_timeout_ms: int = limits.REBALANCE_TIMEOUT_MS_DEFAULT
    assignor: Assignor = Assignor.STICKY
    on_missing_position: MissingPosition = MissingPosition.START
    on_exhausted: Exhausted = Exhausted.DEAD_LETTER
    filter: str | None = None
    retry_delays_ms: tuple[int, ...] | None = None
    retry_jitter: float = limits.RETRY_JITTER
    on_expired: Expired = Expired.SKIP
    receive_messages_per_second: int | None = None
    receive_bytes_per_second: int | None = None
    receive_requests_per_second: int | None = None
    fair_by_header: str | None = None
    max_in_flight_per_header: int | None = None

    @property
    def has_shares(self) -> bool:
        """Whether what is next goes by whose turn it is."""
        return (
            self.fair_by is not FairBy.NONE or self.max_in_flight_per_key is not None or self.fair_by_header is not None
        )

    @property
    def has_quotas(self) -> bool:
        return (
            self.receive_messages_per_second is not None
            or self.receive_bytes_per_second is not None
            or self.receive_requests_per_second is not None
        )


class Pause(msgspec.Struct, frozen=True, rename="camel"):
    """Nothing is delivered to the group: from a topic, "" is every one, or from some partitions of it; none named are
    all. `since_ms` is wall-clock time."""

    since_ms: int
    topic_id: str = ""
    partitions: tuple[int, ...] = ()


class Group(msgspec.Struct, frozen=True, rename="camel"):
    """`mode` is set at creation and never changes; `pauses` go by the rules of `cluster.model.pauses`.

    `dead_letter_sources` are shell patterns of the topics whose letters go to the chosen dead-letter topic, as whoever
    chose it had a right to no others (rule R39); None, as in groups of earlier versions: those of every topic.
    """

    id: str
    name: str
    created_at_ms: int
    mode: GroupMode = GroupMode.SHARED
    settings: GroupSettings = GroupSettings()
    dead_letter_sources: tuple[str, ...] | None = None
    pauses: tuple[Pause, ...] = ()


class NamedProducer(msgspec.Struct, frozen=True, rename="camel"):
    """Who sends to a topic under a name: the process that opened it last, by which `epoch` rose. `id` is the identity:
    a name that was forgotten and is opened again has another, and its epochs begin anew. `instance` is the process's
    own word, by which it is told from others. Times are wall-clock, `used_at_ms` to the hour."""

    id: str
    topic_id: str
    name: str
    epoch: int
    instance: str
    opened_at_ms: int
    used_at_ms: int


class NodeRegistration(msgspec.Struct, frozen=True, rename="camel"):
    """A live node. `incarnation` is new at every start; `directory_id` names its data directory.

    `rack` is what fails together ("" is a rack of the node's own). A node that `is_leaving` is about to stop and wants
    to hand its leaderships over first; its replicas stay where they are. One that `has_impaired_storage` takes nothing
    more for now (its disk is full, or stands still), and wants the same. `newest_protocol` is the newest version of the
    protocol between nodes that it speaks, by which others know what it can read; UNTOLD_PROTOCOL in versions that did
    not say. `master_keys` are the ids of those that it has: the one that it wraps data keys by first, then the one
    before.
    """

    node_id: int
    incarnation: int
    directory_id: str
    address: str
    rack: str = ""
    is_leaving: bool = False
    has_impaired_storage: bool = False
    newest_protocol: int = UNTOLD_PROTOCOL
    master_keys: tuple[str, ...] = ()


class ControllerClaim(msgspec.Struct, frozen=True, rename="camel"):
    """Who is the controller; the key's create revision is its fencing token."""

    node_id: int
    incarnation: int


class Tombstone(msgspec.Struct, frozen=True, rename="camel"):
    """The topic or group with this id was deleted on purpose: only then may its data be removed (rule R13)."""

    id: str
    name: str
    deleted_at_ms: int
