"""Which partition a key belongs to: the same for servers and clients, see `acklog.wire.partition_mapping`."""

from acklog.wire.partition_mapping import PROBES_MAX, partition_of_hash

__all__ = ["PROBES_MAX", "partition_of_hash"]
