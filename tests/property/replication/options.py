"""What a seed decides about a run: how bad the world is, and in which ways (swarm testing)."""

from dataclasses import dataclass
from random import Random

from storage.replication.replication_settings import ReplicationSettings, TopicReplication


@dataclass(frozen=True)
class Options:
    """Times in milliseconds; probabilities per event, and per hundred for faults."""

    steps: int
    client_interval_ms: int
    min_insync_replicas: int
    sends_unsynced: bool
    loss: float
    duplication: float
    slow_message: float
    slow_disk: float
    fault_interval_ms: int
    faults: tuple[str, ...]
    trims: bool
    store_trouble: float
    lease_ms: int
    controller_interval_ms: int
    keeps_dead_in_isr: float


FAULTS = (
    "crash",
    "power",
    "wipe",
    "pause",
    "cut",
    "cut_store",
    "store_down",
    "move",
    "quick_restart",
    "slow_replica",
    "rot",
)

SETTINGS = ReplicationSettings(
    fetch_wait_ms=40,
    fetch_answer_timeout_ms=80,
    fetch_bytes_max=300,
    partition_fetch_bytes_max=150,
    live_lag_records_max=8,
    catch_up_bytes_per_second=20_000,
    retry_ms=15,
    waiting_acks_max=12,
    contact_ms=150,
    silence_ms=60,
    silence_grace_ms=20,
    commit_stall_ms=150,
    hand_over_retry_ms=20,
    hand_over_again_ms=300,
    hand_over_calm_ms=250,
    repair_retry_ms=60,
)


def draw_options(random: Random, steps: int) -> Options:
    """Most runs have some kinds of trouble only, so that each kind is also met alone."""
    return Options(
        steps=steps,
        client_interval_ms=random.choice([12, 12, 80]),
        min_insync_replicas=random.choice([1, 2, 2]),
        sends_unsynced=random.random() < 0.5,
        loss=random.choice([0.0, 0.02, 0.1]),
        duplication=random.choice([0.0, 0.05, 0.2]),
        slow_message=random.choice([0.0, 0.05, 0.2]),
        slow_disk=random.choice([0.0, 0.1, 0.3]),
        fault_interval_ms=random.choice([60, 120, 250]),
        faults=tuple(random.sample(FAULTS, random.randint(2, len(FAULTS)))),
        trims=random.random() < 0.4,
        store_trouble=random.choice([0.0, 0.1, 0.4]),
        lease_ms=random.choice([60, 200]),
        controller_interval_ms=random.choice([20, 60]),
        keeps_dead_in_isr=random.choice([0.0, 0.5]),
    )


def topic_of(options: Options) -> TopicReplication:
    return TopicReplication(min_insync_replicas=options.min_insync_replicas, max_replica_lag_ms=120)
