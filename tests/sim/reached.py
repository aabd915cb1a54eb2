"""What simulated seeds must have come to, so that finding nothing means something."""

from collections.abc import Iterable, Mapping

SEEDS_MIN = 500
"""With fewer seeds something rare may be missing by chance."""

OPERATIONS = ("send OK", "ack OK")
"""Of every seed."""

EMBEDDED_STATES = (
    "change of a filter OK",
    "consumers that died",
    "consumers that stopped",
    "dead letters",
    "deaths within a start",
    "deaths within an operation",
    "dedup hits",
    "deletions from a topic OK",
    "fault: disk full",
    "fault: failed sync",
    "fault: graceful restart",
    "fault: kill a node",
    "fault: kill at a disk operation",
    "fault: power loss at a disk operation",
    "fault: power loss of a node",
    "fault: slow disk",
    "fault: wall jump",
    "graceful stops",
    "journal replays",
    "letters sent back",
    "listings",
    "looks at a message",
    "pages of the leader",
    "pages through a filter",
    "receive BLOCKED",
    "receives with a filter",
    "redeliveries",
    "release OK",
    "seeks back",
    "send STORAGE_FULL",
    "topics created again",
    "torn tails",
)
"""Of many seeds of an embedded server together."""

CLUSTER_STATES = (
    "elections of another node",
    "deletions from a topic OK",
    "ISR growths",
    "availability judged",
    "change of a filter OK",
    "consumers that died",
    "consumers that stopped",
    "leave OK",
    "fault: island of a node and a gateway",
    "listings",
    "looks at a message",
    "pages of the leader",
    "pages through a filter",
    "pages of the nearest",
    "records OFFSET_OUT_OF_RANGE",
    "ISR of one",
    "ISR shrinks",
    "double failovers",
    "fault: lasting: a full disk",
    "journal replays",
    "letters sent back",
    "log: redrive_delayed",
    "recurring messages",
    "recurring topics grown",
    "fenced sends",
    "named topics grown",
    "moving cancels",
    "moving messages behind a growth",
    "moving messages looked up",
    "moving topics grown",
    "openings of a name",
    "gateways that died under a quota",
    "quotas used up",
    "receives under an undisturbed quota",
    "refused for the quota of a group",
    "refused for the quota of a topic",
    "assignments that are lag",
    "assignments that are range",
    "assignments that are roundRobin",
    "assignments that are sticky",
    "commit of a position MEMBER_FENCED",
    "commit of a position OK",
    "commits of a life that is over",
    "committers that left",
    "keys without a value",
    "messages of a view received",
    "records of a view that were removed",
    "values of keys",
    "views compacted now",
    "views grown",
    "redrive targets grown",
    "log: damaged_replica_gave_way",
    "log: log_truncated",
    "nodes that joined",
    "nodes that left",
    "power losses",
    "deciders rested",
    "receive BLOCKED",
    "receives with a filter",
    "receive NO_PARTITIONS",
    "receive REBALANCING",
    "recoveries",
    "redeliveries",
    "release OK",
    "release NOT_BLOCKED",
    "skip OK",
    "replicas ordered to a node that joined",
    "seek OUTCOME_UNKNOWN",
    "seeks back",
    "seeks past messages",
    "topics created again",
    "topics deleted",
    "torn tails",
    "wiped disks",
)
"""Of many seeds of a cluster together."""


def too_little(coverage: Mapping[str, int], *, faults_min: int) -> list[str]:
    """What a seed lacks."""
    faults = sum(count for name, count in coverage.items() if name.startswith("fault: "))
    lacking = [f"not a single {name!r}" for name in OPERATIONS if not coverage.get(name)]
    return lacking if faults >= faults_min else [*lacking, f"only {faults} faults"]


def never_reached(coverage: Mapping[str, int], states: Iterable[str], *, seeds: int) -> list[str]:
    """Which of `states` so many seeds should have come to, and did not."""
    return [] if seeds < SEEDS_MIN else [name for name in states if not coverage.get(name)]
