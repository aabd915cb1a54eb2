"""What a simulation is like: every option is drawn from the seed, so that seeds differ in kind and not only in detail
(swarm testing, Groce et al. 2012: leaving features out finds bugs that always having them all hides)."""

import random
from dataclasses import dataclass, fields
from enum import Enum


class FaultKind(Enum):
    KILL = "kill"  # the process; the page cache stays
    POWER_LOSS = "power loss"  # unsynced writes are kept, dropped or torn
    RESTART = "restart"  # graceful
    KILL_AT_OPERATION = "kill at operation"  # in the middle of a round, a background sync, a recovery
    POWER_LOSS_AT_OPERATION = "power loss at operation"
    FAILED_SYNC = "failed sync"
    DISK_FULL = "disk full"
    SLOW_DISK = "slow disk"
    WALL_JUMP = "wall jump"


@dataclass(frozen=True, slots=True)
class Options:
    """`weights` are relative probabilities; times are virtual milliseconds."""

    seed: int
    duration_ms: int
    fault_interval_ms: int
    faults: tuple[FaultKind, ...]
    restart_delay_ms: int

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

    @property
    def dedup_is_exact(self) -> bool:
        """Whether wall-clock time is right enough for the dedup windows, which are rebuilt by it after a restart."""
        return FaultKind.WALL_JUMP not in self.faults

    def describe(self) -> str:
        lines = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "faults":
                value = ", ".join(fault.value for fault in value) or "none"
            lines.append(f"  {field.name:24} {value}")
        return "\n".join(lines)


def draw_options(seed: int) -> Options:
    """The options of `seed`."""
    rng = random.Random(f"options {seed}")

    def sometimes(probability: float, low: float, high: float) -> float:
        return round(rng.uniform(low, high), 3) if rng.random() < probability else 0.0

    kinds = list(FaultKind)
    faults = tuple(kind for kind in kinds if rng.random() < rng.choice((0.2, 0.5, 0.8))) if rng.random() < 0.93 else ()
    journal_file_bytes = rng.choice((16_384, 65_536, 1_048_576))
    return Options(
        seed=seed,
        duration_ms=rng.choice((5_000, 15_000, 30_000)),
        fault_interval_ms=rng.choice((500, 2_000, 5_000)),
        faults=faults,
        restart_delay_ms=rng.choice((1, 100, 2_000)),
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
