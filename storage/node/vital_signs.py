"""How a node is: what it has used of its limits, and the room on its disk."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from storage.log.store import LogStore
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.led_partition import Partition


@dataclass(frozen=True, slots=True)
class VitalSigns:
    """`used` says per limit, by its name in the settings, which share of it is taken: 0 to 1, of the fullest place
    where there are several. `disk_reserve_bytes` is kept free for acknowledgements; below it sends are refused."""

    clock_ms: int
    disk_free_bytes: int
    disk_reserve_bytes: int
    used: dict[str, float] = field(default_factory=dict)


def vital_signs_of(
    logs: LogStore, partitions: Iterable[Partition], settings: NodeSettings, *, now_ms: int, waiting_receives: int
) -> VitalSigns:
    """What is used of the node's limits, now. Asks the file system for its room, which answers from memory."""
    store = settings.log_store
    dedup_bytes = max((partition.host.dedup_bytes for partition in partitions), default=0)
    used = {
        "pending_bytes_max": (logs.pending_bytes, store.pending_bytes_max),
        "journal_files_max": (logs.journal_files, store.journal_files_max),
        "waiting_receives_max": (waiting_receives, settings.waiting_receives_max),
        "dedup_window_bytes_max": (dedup_bytes, settings.dedup_window_bytes_max),
    }
    try:
        free_bytes = logs.free_bytes
    except OSError:
        free_bytes = 0  # a disk that fails must not take the metrics with it
    return VitalSigns(
        clock_ms=now_ms,
        disk_free_bytes=free_bytes,
        disk_reserve_bytes=store.reserve_bytes,
        used={name: taken / limit if limit else 1.0 for name, (taken, limit) in used.items()},
    )
