"""Which partition a key belongs to, also after some were decommissioned.

A key's order of preference over all partition numbers depends only on its hash and on `Topic.partitions`: it starts
with the partition where Kafka's default partitioner puts the key (hash modulo the number of partitions) and goes on
from there in steps that come from the hash as well. The key belongs to the first one that takes messages. Therefore:

- a key never moves because some *other* partition was decommissioned;
- the keys of a decommissioned partition are spread over all that are left, not piled onto a neighbour;
- every client finds the same partition from the topic alone.

Growing a topic changes the modulus, and with it the order of preference of most keys, as in Kafka.
"""

from collections.abc import Container
from math import gcd

_MASK = 0xFFFFFFFF


def partition_of_hash(key_hash: int, *, partitions: int, decommissioned: Container[int] = ()) -> int:
    """`key_hash` is murmur2 of the key, masked to positive. At least one partition must take messages."""
    number = key_hash % partitions
    if number not in decommissioned:
        return number
    step = _step(key_hash, partitions)
    for _ in range(partitions - 1):
        number = (number + step) % partitions
        if number not in decommissioned:
            return number
    raise ValueError("every partition is decommissioned")


def _step(key_hash: int, partitions: int) -> int:
    """Between 1 and `partitions` - 1 and prime to it, so that the walk comes by every partition."""
    step = 1 + _mixed(key_hash) % max(1, partitions - 1)
    while gcd(step, partitions) != 1:
        step = step % (partitions - 1) + 1
    return step


def _mixed(number: int) -> int:
    """The finalizer of MurmurHash3 (32 bits): keys of one partition have equal remainders, but get different steps."""
    number ^= number >> 16
    number = number * 0x85EBCA6B & _MASK
    number ^= number >> 13
    number = number * 0xC2B2AE35 & _MASK
    return number ^ number >> 16
