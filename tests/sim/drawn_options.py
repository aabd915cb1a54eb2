"""Every option is drawn from the seed, so that seeds differ in kind and not only in detail (swarm testing, Groce et al.
2012: leaving features out finds bugs that always having them all hides)."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cluster.model.values import Exhausted, GroupMode
from tests.sim.cluster.coordination import NO_FAULTS, CoordinationFaults
from tests.sim.cluster.links import LinkSpeed
from tests.sim.drawn_endings import with_endless_groups
from tests.sim.drawn_filters import with_filters
from tests.sim.options import Deployment, Fault, LastingFault, Options, OrderedGroup, ServerOptions

TOPOLOGY_SHARE = 0.3
SEEK_SHARE = 0.25
PAUSE_SHARE = 0.25
DELETION_SHARE = 0.2
READER_SHARE = 0.4
ORDERED_SHARE = 0.4
BLOCKING_SHARE = 0.5
"""Of the groups that keep an order."""
DELAYED_SHARE = 0.4
"""Of the seeds, in which messages are sent for later."""

LETTER_SHARE = 0.25
MOVING_SHARE = 0.25
NAME_TAKERS_SHARE = 0.15
RECURRING_SHARE = 0.15
"""Of the seeds, in which dead letters are sent back."""
TABLE_SHARE = 0.25
"""Of the seeds, in which a topic is compacted."""
VIEW_SHARE = 0.15
"""Of the seeds, in which the values of keys are asked for."""

TRIM_SHARE = 0.2
"""Of the seeds, in which messages are deleted from a topic."""
LIFETIME_SHARE = 0.2
"""Of the seeds, in which messages live for some time only."""
COMMITTERS_SHARE = 0.12
"""Of the seeds, in which members of an exclusive group commit positions."""
QUOTA_SHARE = 0.15
"""Of the seeds, in which a topic and a group have quotas."""
ENCRYPTION_SHARE = 0.2
"""Of the seeds, in which topics are encrypted."""
LASTING_SHARE = 0.3

LATE_FAULTS = (Fault.BIT_ROT, Fault.GROW, Fault.MOVE, Fault.ISLAND)
"""Drawn apart from the others, so that seeds of before stay what they were; as is what operators do."""

SERVED_ORDERS = (GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE)

EMBEDDED_FAULTS = (
    Fault.KILL,
    Fault.POWER_LOSS,
    Fault.RESTART,
    Fault.KILL_AT_OPERATION,
    Fault.POWER_LOSS_AT_OPERATION,
    Fault.FAILED_SYNC,
    Fault.DISK_FULL,
    Fault.SLOW_DISK,
    Fault.WALL_JUMP,
)
"""What can happen to one machine that needs no other."""


@dataclass(frozen=True, slots=True)
class _Misfortunes:
    """Of an embedded server."""

    faults: tuple[Fault, ...]
    duration_ms: int
    fault_interval_ms: int
    restart_delay_ms: int


def draw_embedded_options(seed: int) -> Options:
    """The options of `seed`. A topic has one replica, so nothing waits for another node."""
    server, misfortunes = _draw_server(seed)
    server = _with_order(server)
    options = Options(
        seed=seed,
        deployment=Deployment.EMBEDDED,
        server=server,
        faults=misfortunes.faults,
        duration_ms=misfortunes.duration_ms,
        fault_interval_ms=misfortunes.fault_interval_ms,
        restart_delays_ms=(misfortunes.restart_delay_ms,),
        nodes=1,
        gateways=1,
        has_racks=False,
        replication_factor=1,
        min_insync_replicas=1,
        max_replica_lag_ms=1_000,
        link=LinkSpeed(),
        cut_probability=0.0,
        coordination=NO_FAULTS,
        clock_skew_ms=0,
        clock_drift=0.0,
        registration_ttl_ms=4_000,
        election_ttl_ms=1_500,
        fetch_wait_ms=200,
        contact_ms=800,
        live_lag_records_max=10_000,
        fetch_bytes_max=50_000,
        repair_delay_ms=300_000,
        joins=0,
        leaves=0,
        seeks=_seeks(seed),
        pauses=_pauses(seed),
        deletions=_deletions(seed),
        readers=_readers(seed),
        ordered_groups=_ordered_groups(seed),
        lasting_faults=(),
        delayed=_delayed(seed, faults=misfortunes.faults),
        letters=_letters(seed),
        table_messages=_table_messages(seed),
        has_trims=random.Random(f"trims {seed}").random() < TRIM_SHARE,
        recurring=_recurring(seed),
        has_lifetimes=random.Random(f"lifetimes {seed}").random() < LIFETIME_SHARE,
        name_takers=_name_takers(seed),
        view_messages=_view_messages(seed),
        committers=_committers(seed),
        limited_per_second=_limited_per_second(seed),
        is_encrypted=random.Random(f"encryption {seed}").random() < ENCRYPTION_SHARE,
    )
    return with_endless_groups(with_filters(options))


def draw_cluster_options(seed: int) -> Options:
    """The options of `seed`."""
    rng = random.Random(f"cluster options {seed}")
    share = rng.choice((0.1, 0.25, 0.5))
    faults = tuple(kind for kind in Fault if kind not in LATE_FAULTS and rng.random() < share)
    faults = faults or (Fault.KILL,)
    faults += tuple(kind for kind in LATE_FAULTS if random.Random(f"{kind.value} {seed}").random() < share)
    ordered_groups = _ordered_groups(seed)
    nodes = rng.choice((3, 3, 3, 3, 4, 5, 2, 1))
    replication_factor = min(nodes, rng.choice((3, 3, 3, 3, 2, 1)))
    min_insync_replicas = rng.choice((2, 2, 2, 1)) if replication_factor >= 3 else 1
    fetch_wait_ms = rng.choice((50, 200, 500))
    joins, leaves = _topology(seed, spare_nodes=nodes - replication_factor)
    options = Options(
        seed=seed,
        deployment=Deployment.CLUSTER,
        server=_with_order(replace(_server_of_a_cluster(seed, rng), acks=_acks(seed, replication_factor))),
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
        pauses=_pauses(seed),
        deletions=_deletions(seed),
        readers=_readers(seed),
        ordered_groups=ordered_groups,
        lasting_faults=_lasting_faults(seed),
        delayed=_delayed(seed, faults=()),
        letters=_letters(seed),
        table_messages=_table_messages(seed),
        has_trims=random.Random(f"trims {seed}").random() < TRIM_SHARE,
        recurring=_recurring(seed),
        has_lifetimes=random.Random(f"lifetimes {seed}").random() < LIFETIME_SHARE,
        name_takers=_name_takers(seed),
        moving=_moving(seed),
        view_messages=_view_messages(seed),
        committers=_committers(seed),
        limited_per_second=_limited_per_second(seed),
        is_encrypted=random.Random(f"encryption {seed}").random() < ENCRYPTION_SHARE,
    )
    return with_endless_groups(with_filters(options))


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


def _pauses(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"pauses {seed}")
    return rng.choice((1, 2, 3)) if rng.random() < PAUSE_SHARE else 0


def _deletions(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"deletions {seed}")
    return rng.choice((1, 2, 4)) if rng.random() < DELETION_SHARE else 0


def _readers(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"readers {seed}")
    return rng.choice((1, 1, 2)) if rng.random() < READER_SHARE else 0


def _ordered_groups(seed: int) -> tuple[OrderedGroup, ...]:
    """Of a share of the seeds, mostly one."""
    rng = random.Random(f"ordered groups {seed}")
    if rng.random() >= ORDERED_SHARE:
        return ()
    modes = rng.choice(((GroupMode.KEY_ORDERED,), (GroupMode.EXCLUSIVE,), SERVED_ORDERS))
    of_members = random.Random(f"explicit members {seed}")  # apart, so that seeds of before stay what they were
    explicit_share, static_share = of_members.choice((0.0, 0.5, 1.0)), of_members.choice((0.0, 0.5))
    return tuple(
        OrderedGroup(
            mode,
            consumers=rng.choice((2, 2, 3)),
            stay_ms=rng.choice((2_000, 5_000, 20_000)),
            session_timeout_ms=rng.choice((2_000, 3_000, 6_000)),
            rebalance_timeout_ms=rng.choice((1_000, 4_000, 60_000)),
            explicit_share=explicit_share if mode is GroupMode.EXCLUSIVE else 0.0,
            static_share=static_share if mode is GroupMode.EXCLUSIVE else 0.0,
            on_exhausted=_on_exhausted(seed, mode),
        )
        for mode in modes
    )


def _on_exhausted(seed: int, mode: GroupMode) -> Exhausted:
    """Drawn apart from the others, so that seeds of before stay what they were."""
    is_blocking = random.Random(f"on exhaustion {mode.value} {seed}").random() < BLOCKING_SHARE
    return Exhausted.BLOCK if is_blocking else Exhausted.DEAD_LETTER


def _table_messages(seed: int) -> int:
    rng = random.Random(f"table {seed}")
    return rng.choice((60, 150)) if rng.random() < TABLE_SHARE else 0


def _with_order(server: ServerOptions) -> ServerOptions:
    """Where there is an order to keep: few keys, not too many messages, and seldom an answer that nobody may lose."""
    if not _ordered_groups(server.seed):
        return server
    rng = random.Random(f"order {server.seed}")
    return replace(
        server,
        messages_max=min(server.messages_max, 50),
        keys=rng.choice((1, 3, 6)),
        keyless_probability=rng.choice((0.0, 0.0, 0.2)),
        auto_ack_probability=server.auto_ack_probability if rng.random() < 0.5 else 0.0,
        receive_max=rng.choice((1, 3, 10)),
    )


def _lasting_faults(seed: int) -> tuple[LastingFault, ...]:
    """Of a share of the seeds."""
    rng = random.Random(f"lasting faults {seed}")
    if rng.random() >= LASTING_SHARE:
        return ()
    return tuple(rng.choice(list(LastingFault)) for _ in range(rng.choice((1, 1, 2))))


def _delayed(seed: int, *, faults: Iterable[Fault]) -> int:
    """Of a share of the seeds. What rots on the only disk is nobody's to deliver."""
    rng = random.Random(f"delayed {seed}")
    if rng.random() >= DELAYED_SHARE or Fault.BIT_ROT in faults:
        return 0
    return rng.choice((5, 20, 60))


def _letters(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"letters {seed}")
    return rng.choice((8, 20, 40)) if rng.random() < LETTER_SHARE else 0


def _recurring(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"recurring {seed}")
    return rng.choice((1, 2, 4)) if rng.random() < RECURRING_SHARE else 0


def _name_takers(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"name takers {seed}")
    return rng.choice((2, 3)) if rng.random() < NAME_TAKERS_SHARE else 0


def _moving(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"moving messages {seed}")
    return rng.choice((15, 30, 60)) if rng.random() < MOVING_SHARE else 0


def _view_messages(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"views {seed}")
    return rng.choice((40, 100)) if rng.random() < VIEW_SHARE else 0


def _committers(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"committers {seed}")
    return rng.choice((2, 3)) if rng.random() < COMMITTERS_SHARE else 0


def _limited_per_second(seed: int) -> int:
    """Of a share of the seeds."""
    rng = random.Random(f"quotas {seed}")
    return rng.choice((8, 15)) if rng.random() < QUOTA_SHARE else 0


def _acks(seed: int, replication_factor: int) -> tuple[int | str, ...]:
    """Most clusters are asked for all in-sync replicas: what others answer, nobody can count on."""
    rng = random.Random(f"acks {seed}")
    return ("all", "all", 1, replication_factor) if rng.random() < 0.25 else ("all",)


def _server_of_a_cluster(seed: int, rng: random.Random) -> ServerOptions:
    """An embedded server's, with fewer clients: everything happens three times here."""
    return replace(
        _draw_server(seed)[0],
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


def _draw_server(seed: int) -> tuple[ServerOptions, _Misfortunes]:
    """Both from the same numbers, of which a cluster takes the first half only."""
    rng = random.Random(f"options {seed}")

    def sometimes(probability: float, low: float, high: float) -> float:
        return round(rng.uniform(low, high), 3) if rng.random() < probability else 0.0

    kinds = EMBEDDED_FAULTS
    faults = tuple(kind for kind in kinds if rng.random() < rng.choice((0.2, 0.5, 0.8))) if rng.random() < 0.93 else ()
    journal_file_bytes = rng.choice((16_384, 65_536, 1_048_576))
    misfortunes = _Misfortunes(
        faults=faults,
        duration_ms=rng.choice((5_000, 15_000, 30_000)),
        fault_interval_ms=rng.choice((500, 2_000, 5_000)),
        restart_delay_ms=rng.choice((1, 100, 2_000)),
    )
    server = ServerOptions(
        seed=seed,
        partitions=rng.choice((1, 1, 2, 4)),
        groups=rng.choice((1, 1, 2)),
        segment_bytes=rng.choice((500, 4_000, 50_000, 1_000_000)),
        journal_file_bytes=journal_file_bytes,
        journal_files_max=rng.choice((3, 4, 8)),
        sync_interval_ms=rng.choice((20, 200, 2_000, 60_000)),
        delivery_snapshot_bytes=rng.choice((500, 5_000, 1_000_000)),
        batch_cache_bytes=rng.choice((0, 2_000, 10_000_000)),
        write_behind_bytes=rng.choice((0, 2_000, 10_000_000)),
        disk_mean_ms=rng.choice((0.1, 0.5, 5.0)),
        disk_stall_probability=sometimes(0.3, 0.001, 0.05),
        cache_miss_probability=rng.choice((0.0, 0.1, 1.0)),
        store_mean_ms=rng.choice((0.1, 1.0, 20.0)),
        producers=rng.randint(1, 3),
        messages_max=rng.choice((10, 50, 150)),
        batch_max=rng.choice((1, 5, 30)),
        body_bytes_max=rng.choice((10, 200, min(2_000, journal_file_bytes // 80))),  # a batch must fit
        keys=rng.choice((1, 5, 100)),
        keyless_probability=rng.choice((0.0, 0.3, 1.0)),
        dedup_probability=rng.choice((0.0, 0.2, 1.0)),
        request_key_probability=rng.choice((0.0, 0.5, 1.0)),
        resend_probability=sometimes(0.5, 0.01, 0.3),
        producer_pause_ms=rng.choice((1, 50, 500)),
        dedup_window_ms=rng.choice((60_000, 300_000)),
        acks=("all",),
        consumers=rng.randint(1, 3),
        receive_max=rng.choice((1, 10, 100)),
        wait_ms=rng.choice((0, 500, 5_000)),
        group_visibility_ms=rng.choice((500, 3_000, 10_000)),
        visibility_ms=rng.choice((0, 300, 3_000)),
        max_attempts=rng.choice((1, 2, 3, 16)),
        nack_probability=sometimes(0.5, 0.01, 0.5),
        forget_probability=sometimes(0.5, 0.01, 0.3),
        extend_probability=sometimes(0.4, 0.01, 0.5),
        slow_probability=sometimes(0.5, 0.01, 0.3),
        auto_ack_probability=sometimes(0.2, 0.1, 1.0),
        disconnect_probability=sometimes(0.4, 0.01, 0.2),
        shuffle=rng.random() < 0.9,
    )
    return server, misfortunes
