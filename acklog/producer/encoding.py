"""A message as the bytes that stand in a request, made once, and requests made of them."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from acklog.client.call import JSON, Request, Response, decode_answer, raise_for_problem
from acklog.client.delivery_time import DeliverAt
from acklog.client.message_calls import IDEMPOTENCY_HEADER, Acks
from acklog.client.producer_calls import OpenedProducer
from acklog.client.wire_message import wire_message
from acklog.errors import InvalidArgument, MessageTooLarge, UnexpectedAnswer
from acklog.messages import OutgoingMessage, Sent
from acklog.producer.batch import Batch
from acklog.producer.producer_settings import Compression
from acklog.tracing import current_trace
from acklog.wire.limits import MESSAGE_BODY_BYTES_MAX
from acklog.wire.tracing import TRACEPARENT

GZIP_LEVEL = 1  # JSON shrinks to a third at a level that costs little
_GZIP_FORMAT = 16 + zlib.MAX_WBITS
_BYTES_TYPES = (bytes, bytearray, memoryview)
_JSON_TYPES = frozenset({dict, list, str, int})  # most bodies, told quickly from bytes
_encode = msgspec.json.Encoder().encode


class _Plain(msgspec.Struct, omit_defaults=True, gc=False):
    """Most messages have a key at most beside their body."""

    body: Any = msgspec.UNSET
    key: str | None = None


class _AllStored(msgspec.Struct, gc=False):
    results: list[Sent]


_all_stored_decoder = msgspec.json.Decoder(_AllStored)


def encode(
    body: Any,
    key: str | None,
    headers: Mapping[str, str] | None,
    tags: Sequence[str] | None,
    timestamp_ms: int | None,
    partition: int | None,
    dedup_id: str | None,
    content_type: str | None,
    delay_seconds: float | None = None,
    deliver_at: DeliverAt | None = None,
    ttl_seconds: float | None = None,
) -> bytes:
    """A message as a part of a request. Raises InvalidArgument, MessageTooLarge.

    It is in a request with messages of others, so the trace that it is of stands in headers of its own."""
    traceparent = current_trace()
    if traceparent is not None:
        headers = {TRACEPARENT: traceparent, **(headers or {})}
    try:
        if (
            headers is None
            and tags is None
            and timestamp_ms is None
            and partition is None
            and dedup_id is None
            and content_type is None
            and delay_seconds is None
            and deliver_at is None
            and ttl_seconds is None
            and (type(body) in _JSON_TYPES or not isinstance(body, _BYTES_TYPES))
        ):
            part = _encode(_Plain(body, key))
        else:
            part = _encode(
                wire_message(
                    OutgoingMessage(
                        body,
                        key,
                        None if headers is None else dict(headers),
                        None if tags is None else list(tags),
                        timestamp_ms,
                        partition,
                        dedup_id,
                        content_type,
                        delay_seconds,
                        deliver_at,
                        ttl_seconds,
                    )
                )
            )
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"the message cannot be JSON: {error}", field="body") from error
    if len(part) > MESSAGE_BODY_BYTES_MAX:
        _check_size(body)
    return part


def _check_size(body: Any) -> None:
    size_bytes = len(body) if isinstance(body, _BYTES_TYPES) else len(_encode(body))
    if size_bytes > MESSAGE_BODY_BYTES_MAX:
        detail = f"the body has {size_bytes} bytes, the limit is {MESSAGE_BODY_BYTES_MAX}"
        raise MessageTooLarge(detail, field="body")


class RequestMaker:
    """Makes a producer's requests. Each is named, by an idempotency key or as one of those of a named producer, so that
    the server stores its messages once."""

    def __init__(self, topic: str, *, producer_id: str, acks: Acks, compression: Compression) -> None:
        options = b"" if acks is None else b'"acks":' + _encode(acks) + b","
        self._before = b'{"queue":' + _encode(topic) + b"," + options + b'"messages":['
        self._producer_id = producer_id
        self._compression = compression
        self._sequence = 0

    def request_of(self, batch: Batch, opened: OpenedProducer | None = None) -> Request:
        """To be made once for a batch: a retry is the same request, byte by byte."""
        self._sequence += 1
        if opened is None:
            headers = {**JSON, IDEMPOTENCY_HEADER: f"{self._producer_id}-{self._sequence}"}
        else:
            headers = {
                **JSON,
                "Producer-Id": opened.producer_id,
                "Producer-Epoch": str(opened.epoch),
                "Producer-Sequence": str(self._sequence),
            }
        body = self._before + b",".join(batch.parts) + b"]}"
        if self._compression == "gzip":
            headers["Content-Encoding"] = "gzip"
            packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT)
            body = packer.compress(body) + packer.flush()
        return Request("POST", "/messages", body, headers)


def read_all_stored(response: Response, count: int) -> list[Sent]:
    """The results of a request of which every message was stored. Raises the problem of one that failed."""
    raise_for_problem(response)
    results = decode_answer(_all_stored_decoder, response).results
    if len(results) != count:
        raise UnexpectedAnswer(f"{len(results)} results for {count} messages", status=response.status)
    return results
