"""Delayed messages of a backup, as batches for the schedule log of the topic that is restored: pure.

They count from 0 in the order in which they are given, whatever they were called before, so that a restore that was
killed knows by the log's end which are there.
"""

from base64 import b64decode

import msgspec

from acklog.client.copy_calls import DelayedMessage
from acklog.wire.batch import encode_batch, stamp
from acklog.wire.record import Record, Schedule


def delayed_batches(content: bytes, first: int, *, append_ms: int) -> tuple[bytes, int]:
    """Batches of one message each from offset `first` on, and the offset behind them."""
    batches = bytearray()
    messages = msgspec.json.decode(content, type=list[DelayedMessage])
    for number, message in enumerate(messages, first):
        batch = encode_batch([_record(message)])
        stamp(batch, base_offset=number, leader_epoch=0, append_time_ms=append_ms)
        batches += batch
    return bytes(batches), first + len(messages)


def _record(message: DelayedMessage) -> Record:
    body = b"" if message.body is msgspec.UNSET else bytes(message.body)
    return Record(
        body if message.body_base64 is None else b64decode(message.body_base64),
        key=message.key,
        headers=message.headers,
        tags=message.tags,
        content_type=message.content_type,
        schedule=Schedule(at_ms=message.deliver_at),
        ttl_ms=None if message.ttl_seconds is None else round(message.ttl_seconds * 1000),
    )
