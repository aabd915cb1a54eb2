"""What a simulated cluster is like: every option is drawn from the seed, as the single server's are."""

import random
from dataclasses import dataclass, fields, replace
from enum import Enum

from tests.sim.cluster.coordination import CoordinationFaults
from tests.sim.cluster.links import LinkSpeed
from tests.sim.options import Options, draw_options


class ClusterFault(Enum):
    """What may happen to a cluster."""

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


TOPOLOGY_SHARE = 0.3
SEEK_SHARE = 0.25
DELETION_SHARE = 0.2
READER_SHARE = 0.4
LASTING_SHARE = 0.3

LATE_FAULTS = (ClusterFault.BIT_ROT, ClusterFault.GROW, ClusterFault.MOVE, ClusterFault.ISLAND)
"""Drawn apart from the others, so that seeds of before stay what they were; as is what operators do."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`server` says how logs are kept and what clients do. Times are virtual milliseconds."""

    seed: int
    server: Options
    faults: tuple[ClusterFault, ...]
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
    deletions: int
    """How often a topic beside the others is deleted, and created again."""
    readers: int
    """Clients that read the log over HTTP."""
    lasting_faults: tuple[LastingFault, ...]
    """What comes after all the others, under the eyes of the availability judge."""

    @property
    def dedup_is_exact(self) -> bool:
        """Whether dedup windows know all of their time: they follow append times."""
        return ClusterFault.WALL_JUMP not in self.faults and self.clock_skew_ms <= 1_000

    @property
    def also_expected(self) -> frozenset[str]:
        """Codes that clients may be told for what goes wrong here, and only here."""
        codes = {ClusterFault.BIT_ROT: "RECORDS_CORRUPT"}
        return frozenset(code for fault, code in codes.items() if fault in self.faults)

    def describe(self) -> str:
        lines = []
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "server":
                continue
            if each.name in {"faults", "lasting_faults"}:
                value = ", ".join(fault.value for fault in value) or "none"
            lines.append(f"  {each.name:24} {value}")
        return "\n".join([*lines, "  of each server and its clients:", self.server.describe()])


def draw_cluster_options(seed: int) -> ClusterOptions:
    """The options of `seed`."""
    rng = random.Random(f"cluster options {seed}")
    share = rng.choice((0.1, 0.25, 0.5))
    faults = tuple(kind for kind in ClusterFault if kind not in LATE_FAULTS and rng.random() < share)
    faults = faults or (ClusterFault.KILL,)
    faults += tuple(kind for kind in LATE_FAULTS if random.Random(f"{kind.value} {seed}").random() < share)
    nodes = rng.choice((3, 3, 3, 3, 4, 5, 2, 1))
    replication_factor = min(nodes, rng.choice((3, 3, 3, 3, 2, 1)))
    min_insync_replicas = rng.choice((2, 2, 2, 1)) if replication_factor >= 3 else 1
    fetch_wait_ms = rng.choice((50, 200, 500))
    joins, leaves = _topology(seed, spare_nodes=nodes - replication_factor)
    return ClusterOptions(
        seed=seed,
        server=replace(_server_options(seed, rng), acks=_acks(seed, replication_factor)),
        faults=faults,
        duration_ms=rng.choice((5_000, 10_000, 20_000)),
        fault_interval_ms=rng.choice((300, 1_000, 2_500)),
        restart_delays_ms=rng.choice(((10, 500), (500, 3_000), (10, 500, 3_000, 12_000))),
        nodes=nodes,
        gateways=rng.choice((1, 2, 2, 3)),
        has_racks=rng.random() < 0.3,
        replication_factor=replication_factor,
        min_insync_replicas=min_insync_replicas,
        max_replica_lag_ms=rng.choice((300, 1_000, 5_000)),
        link=LinkSpeed(min_ms=0.1, mean_ms=rng.choice((0.1, 0.5, 5.0))),
        cut_probability=rng.choice((0.0, 0.0, 0.3)),
        coordination=CoordinationFaults(
            refused=rng.choice((0.0, 0.0, 0.05, 0.2)),
            unknown=rng.choice((0.0, 0.0, 0.05, 0.3)),
            broken_watch=rng.choice((0.0, 0.0, 0.05)),
            watch_lag_ms=rng.choice((0.5, 5.0, 50.0)),
        ),
        clock_skew_ms=rng.choice((0, 100, 1_000, 600_000)),
        clock_drift=rng.choice((0.0, 0.0, 0.005)),
        registration_ttl_ms=rng.choice((2_000, 4_000, 10_000)),
        election_ttl_ms=rng.choice((1_500, 3_000)),
        fetch_wait_ms=fetch_wait_ms,
        contact_ms=fetch_wait_ms + rng.choice((400, 1_000, 2_500)),
        live_lag_records_max=rng.choice((5, 50, 10_000)),
        fetch_bytes_max=rng.choice((2_000, 50_000, 8_388_608)),
        repair_delay_ms=rng.choice((3_000, 300_000)),
        joins=joins,
        leaves=leaves,
        seeks=_seeks(seed),
        deletions=_deletions(seed),
        readers=_readers(seed),
        lasting_faults=_lasting_faults(seed),
    )


def _topology(seed: int, *, spare_nodes: int) -> tuple[int, int]:
    """(joins, leaves), of a share of the seeds. As many nodes stay as a partition has replicas."""
    rng = random.Random(f"topology {seed}")
    if rng.random() >= TOPOLOGY_SHARE:
        return 0, 0
    joins = rng.choice((0, 1, 1, 2))
    return joins, min(rng.choice((0, 1, 1, 2)), joins + spare_nodes)


def _seeks(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"seeks {seed}")
    return rng.choice((1, 2, 5)) if rng.random() < SEEK_SHARE else 0


def _deletions(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"deletions {seed}")
    return rng.choice((1, 2, 4)) if rng.random() < DELETION_SHARE else 0


def _readers(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"readers {seed}")
    return rng.choice((1, 1, 2)) if rng.random() < READER_SHARE else 0


def _lasting_faults(seed: int) -> tuple[LastingFault, ...]:
    """Of a share of the seeds."""
    rng = random.Random(f"lasting faults {seed}")
    if rng.random() >= LASTING_SHARE:
        return ()
    return tuple(rng.choice(list(LastingFault)) for _ in range(rng.choice((1, 1, 2))))


def _acks(seed: int, replication_factor: int) -> tuple[int | str, ...]:
    """Most clusters are asked for all in-sync replicas: what others answer, nobody can count on."""
    rng = random.Random(f"acks {seed}")
    return ("all", "all", 1, replication_factor) if rng.random() < 0.25 else ("all",)


def _server_options(seed: int, rng: random.Random) -> Options:
    """The single server's, with fewer clients: everything happens three times here."""
    drawn = draw_options(seed)
    return replace(
        drawn,
        faults=(),
        partitions=rng.choice((1, 1, 2, 3)),
        groups=1,
        producers=rng.randint(1, 2),
        messages_max=rng.choice((15, 40, 80)),
        batch_max=rng.choice((1, 3, 10)),
        producer_pause_ms=rng.choice((20, 100, 300)),
        consumers=rng.randint(1, 2),
        wait_ms=rng.choice((500, 5_000)),
        disk_mean_ms=rng.choice((0.1, 0.5, 3.0)),
    )
