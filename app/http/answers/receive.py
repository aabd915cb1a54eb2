"""The answer with leases. If it cannot be written, the leases go back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from msgspec import UNSET
from starlette.types import Receive, Scope, Send

from acklog.wire.identifiers import message_id_text
from app.calls.message_view import MessageView, encode_line, show_record
from app.calls.receive import Received
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.responses import JSON, NDJSON, BytesResponse
from app.http.exchange.turns import Steps
from cluster.model.values import Topic
from storage.rpc.messages import DeliveredMessage

CHUNK_BYTES = 256 * 1024
REASON_HEADER = "X-Acklog-Reason"
LIMIT_HEADER = "X-Acklog-Limit"
MEMBER_EPOCH_HEADER = "X-Acklog-Member-Epoch"
GROUP_CREATED_HEADER = "X-Acklog-Group-Created"
BODY_BYTES_PER_STEP = 1024 * 1024
_encode = msgspec.json.Encoder().encode
_EMPTY = b'{"messages":[]'


class _Answer(msgspec.Struct, rename="camel", omit_defaults=True):
    messages: list[MessageView]
    reason: str = ""
    limit: str = ""
    group_created: bool = False
    member_epoch: int = 0


class LeasedResponse(BytesResponse):
    """Writes the answer piece by piece, so that a client that goes away or stops reading is noticed before the last
    piece; `release` then returns the leases."""

    def __init__(
        self,
        body: bytes,
        media_type: str,
        headers: dict[str, str],
        *,
        watch: ClientWatch,
        release: Callable[[], Awaitable[None]],
        write_timeout_ms: int,
    ) -> None:
        super().__init__(body, 200, headers, media_type)
        self._watch = watch
        self._release = release
        self._write_timeout_ms = write_timeout_ms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_written = False
        try:
            async with asyncio.timeout(self._write_timeout_ms / 1000):
                is_written = await self._write(send)
        except TimeoutError:
            is_written = False
        finally:
            await self._watch.close()
            if not is_written:
                await self._release()

    async def _write(self, send: Send) -> bool:
        """Whether the client was there until the last piece was handed over."""
        await asyncio.sleep(0)  # a node that answered at once has left the watch no turn to see anything
        if self._watch.is_gone:
            return False
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        body = bytes(self.body)
        for start in range(0, max(1, len(body)), CHUNK_BYTES):
            if self._watch.is_gone:
                return False
            more = start + CHUNK_BYTES < len(body)
            chunk = body if not start and not more else body[start : start + CHUNK_BYTES]
            await send({"type": "http.response.body", "body": chunk, "more_body": more})
        return not self._watch.is_gone  # it may have gone while the last piece waited for room


class _Views:
    """Of delivered messages: what the one before shares with the next is put together once."""

    __slots__ = ("_batch", "_id_before", "_topic", "_topics")

    def __init__(self, topics: Mapping[str, Topic]) -> None:
        self._topics = topics
        self._batch: tuple[str, int, int] | None = None
        self._id_before = ""
        self._topic: Topic | None = None

    def of(self, message: DeliveredMessage) -> MessageView:
        batch = message.topic_id, message.partition, message.leader_epoch
        topic = self._topic
        if topic is None or batch != self._batch:
            topic = self._topic = self._topics[message.topic_id]
            self._batch = batch
            self._id_before = message_id_text(*batch, 0)[:-1]
        offset, record, timestamp = message.offset, message.record, message.record.timestamp_ms
        view = MessageView(
            message_id=f"{self._id_before}{offset}",
            receipt=message.receipt or UNSET,
            queue=topic.name,
            partition=message.partition,
            offset=offset,
            attempt=message.attempt,
            timestamp=message.append_time_ms if timestamp is None else timestamp,
            append_time=message.append_time_ms,
        )
        show_record(view, record, topic.config.ttl_ms)
        return view


def received_steps(received: Received, media_type: str) -> Steps[tuple[bytes, dict[str, str]]]:
    """The answer's body, and the headers that say in NDJSON what JSON has fields for. A step for each
    `BODY_BYTES_PER_STEP` of bodies."""
    parts: list[bytes] = []
    views: list[MessageView] = []
    size_bytes = 0
    view_of = _Views(received.topics).of
    is_json = media_type == JSON
    for message in received.messages:
        if size_bytes >= BODY_BYTES_PER_STEP:
            parts.append(_encode(views)[1:-1] if is_json else _lines(views))
            views, size_bytes = [], 0
            yield
        views.append(view_of(message))
        size_bytes += message.record.large_bytes
    if is_json:
        if not parts:
            return _encode(_answer(views, received)) + b"\n", {}
        parts.append(_encode(views)[1:-1])
        rest = _encode(_answer([], received)).removeprefix(_EMPTY)
        return b'{"messages":[%b]%b\n' % (b",".join(parts), rest), {}
    headers = {}
    if received.reason:
        headers[REASON_HEADER] = received.reason
    if received.limit:
        headers[LIMIT_HEADER] = received.limit
    if received.is_group_created:
        headers[GROUP_CREATED_HEADER] = "true"
    if received.member_epoch:
        headers[MEMBER_EPOCH_HEADER] = str(received.member_epoch)
    return b"".join([*parts, _lines(views)]), headers


def _answer(views: list[MessageView], received: Received) -> _Answer:
    return _Answer(views, received.reason, received.limit, received.is_group_created, received.member_epoch)


def _lines(views: list[MessageView]) -> bytes:
    return b"".join([encode_line(view) for view in views])


RECEIVE_TYPES = (JSON, NDJSON)
