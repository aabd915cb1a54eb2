"""The work on a batch that no server can leave out, in one process and without HTTP or a disk: decode the JSON, find
each message's partition, encode what is stored, checksum it."""

from collections.abc import Sequence
from time import perf_counter

import msgspec
from crc32c import crc32c

from acklog.wire.partitioner import places_for_keys


class _Message(msgspec.Struct):
    key: str
    body: msgspec.Raw


class _Batch(msgspec.Struct):
    queue: str
    messages: list[_Message]


_decode = msgspec.json.Decoder(_Batch).decode
_encode = msgspec.msgpack.Encoder().encode


def pack(body: bytes, partitions: int) -> dict[int, tuple[bytes, int]]:
    """A request's body as it would be stored: by partition the msgpack of its [body, key] records and their CRC-32C.

    Raises msgspec.ValidationError for a body that is no batch with keys.
    """
    messages = _decode(body).messages
    places = places_for_keys([message.key for message in messages], partitions)
    records = [(bytes(message.body), message.key) for message in messages]
    packed = {partition: _encode([records[place] for place in own]) for partition, own in enumerate(places) if own}
    return {partition: (content, crc32c(content)) for partition, content in packed.items()}


def measure_packing(bodies: Sequence[bytes], *, messages: int, partitions: int, seconds: float) -> float:
    """Messages per second. `bodies` are batches of `messages` messages each."""
    started = perf_counter()
    done = 0
    while (elapsed := perf_counter() - started) < seconds:
        pack(bodies[done % len(bodies)], partitions)
        done += 1
    return done * messages / elapsed
