"""Delayed messages of a backup, as batches for the schedule log of the topic that is restored: pure.

They count from 0 in the order in which they are given, whatever they were called before, so that a restore that was
killed knows by the log's end which are there.
"""

from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import msgspec

from acklog.wire.batch import encode_batch, stamp
from acklog.wire.record import Record, Schedule

Document = dict[str, Any]


class _Bodies(msgspec.Struct, rename="camel"):
    """A body is the text that it was."""

    body: msgspec.Raw | None = None
    body_base64: str | None = None


def delayed_batches(content: bytes, first: int, *, append_ms: int) -> tuple[bytes, int]:
    """Batches of one message each from offset `first` on, and the offset behind them."""
    batches = bytearray()
    views: Sequence[Document] = msgspec.json.decode(content)
    bodies = msgspec.json.decode(content, type=list[_Bodies])
    for number, (view, body) in enumerate(zip(views, bodies, strict=True), first):
        batch = encode_batch([_record(view, body)])
        stamp(batch, base_offset=number, leader_epoch=0, append_time_ms=append_ms)
        batches += batch
    return bytes(batches), first + len(views)


def _record(view: Document, body: _Bodies) -> Record:
    ttl_seconds = view.get("ttlSeconds")
    return Record(
        b64decode(body.body_base64) if body.body_base64 is not None else bytes(body.body or b""),
        key=view.get("key"),
        headers=view.get("headers"),
        tags=view.get("tags"),
        content_type=view.get("contentType"),
        schedule=Schedule(at_ms=view["deliverAt"]),
        ttl_ms=None if ttl_seconds is None else round(ttl_seconds * 1000),
    )
