"""Key to partition as Kafka's default partitioner maps it, so that keys land where a Kafka user expects."""

from murmurhash2 import murmurhash2

_KAFKA_SEED = 0x9747B28C
_POSITIVE = 0x7FFFFFFF


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition, 0 to `partitions` - 1, of a message with this key (murmur2, masked to positive)."""
    return int(murmurhash2(key, _KAFKA_SEED) & _POSITIVE) % partitions
