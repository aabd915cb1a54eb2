"""Which partition a key belongs to, also after some were decommissioned.

A key's order of preference over the partition numbers depends only on its hash and on `Topic.partitions`: first comes
the partition where Kafka's default partitioner puts the key (hash modulo the number of partitions), then PROBES_MAX
pseudo-random ones, then all others in turn. The key belongs to the first one that takes messages. Therefore:

- a key never moves because some *other* partition was decommissioned;
- the keys of a decommissioned partition are spread over all that are left, not piled onto a neighbour;
- every client finds the same partition from the topic alone.

Growing a topic changes the modulus, and with it the order of preference of most keys, as in Kafka.
"""

from collections.abc import Container, Iterator

PROBES_MAX = 64
_MASK = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9


def partition_of_hash(key_hash: int, *, partitions: int, decommissioned: Container[int] = ()) -> int:
    """`key_hash` is murmur2 of the key, masked to positive. At least one partition must take messages."""
    for number in _preference(key_hash, partitions):
        if number not in decommissioned:
            return number
    raise ValueError("every partition is decommissioned")


def _preference(key_hash: int, partitions: int) -> Iterator[int]:
    number = key_hash % partitions
    yield number
    for probe in range(1, PROBES_MAX + 1):
        number = _mixed(key_hash + probe * _GOLDEN & _MASK) % partitions
        yield number
    for further in range(1, partitions):
        yield (number + further) % partitions


def _mixed(number: int) -> int:
    """The finalizer of MurmurHash3 (32 bits): hashes that are equal in some bits become unlike in all."""
    number ^= number >> 16
    number = number * 0x85EBCA6B & _MASK
    number ^= number >> 13
    number = number * 0xC2B2AE35 & _MASK
    return number ^ number >> 16
