"""Reading a request's body: bounded in bytes, in time, and in what it unpacks to.

Whoever reads one has asked before who sends it and whether they may. Its bytes count against the process's allowance
(`app.http.exchange.bytes_in_flight`) as they come in.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial

from starlette.requests import Request

from acklog.wire.limits import COMMIT_METADATA_BYTES_MAX, MEMBER_TOPICS_MAX, RECEIPTS_MAX, REQUEST_BODY_BYTES_MAX
from acklog.wire.problems import ProblemCode
from app.calls.commits import COMMITS_MAX
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.gzip_body import GzipUnpacker
from app.http.exchange.request import RequestHeaders
from app.http.exchange.turns import Turns
from cluster.errors import ServerError

ADMINISTRATION_BYTES_MAX = 64 * 1024
# Metadata that is no ASCII is up to three times as long in JSON's escapes; beside it each names a place in a topic.
COMMIT_BYTES_MAX = COMMITS_MAX * (3 * COMMIT_METADATA_BYTES_MAX + 1024)
JOIN_BYTES_MAX = 512 * MEMBER_TOPICS_MAX  # a topic's name has at most 249 characters, and there are few patterns
DROPPED_BYTES_MAX = 16 * 1024 * 1024
"""Of a body that is too large; who sends more sees that the connection ends."""
SETTLEMENT_BYTES_MAX = 256 * RECEIPTS_MAX  # a receipt has at most about 100 characters


async def read_body(
    request: Request,
    headers: RequestHeaders,
    hold: Hold,
    turns: Turns,
    *,
    timeout_ms: int,
    bytes_max: int = REQUEST_BODY_BYTES_MAX,
) -> bytes:
    """The whole body, unpacked. Raises ServerError REQUEST_TOO_LARGE, REQUEST_TIMEOUT, BODY_INCOMPLETE, OVERLOADED,
    UNSUPPORTED_MEDIA_TYPE."""
    _check_declared(headers, bytes_max)
    if _is_packed(headers):
        return await _in_time(_read_gzip(request, hold, turns, bytes_max), timeout_ms)
    return await _in_time(_read_identity(request, hold, bytes_max), timeout_ms)


async def read_sent_body(
    request: Request, headers: RequestHeaders, hold: Hold, *, timeout_ms: int, bytes_max: int
) -> bytes:
    """The whole body as it was sent, which is what a signature is of: `unpacked` says what it means. Raises as
    `read_body`."""
    _check_declared(headers, bytes_max)
    _is_packed(headers)
    return await _in_time(_read_identity(request, hold, bytes_max), timeout_ms)


async def unpacked(sent: bytes, headers: RequestHeaders, hold: Hold, turns: Turns, *, bytes_max: int) -> bytes:
    """Of a body that was sent like that. Raises ServerError REQUEST_TOO_LARGE, BODY_INCOMPLETE, OVERLOADED."""
    if not _is_packed(headers):
        return sent
    grew = partial(_grow_beside, hold, hold.size_bytes)
    unpacker = GzipUnpacker(bytes_max=bytes_max, too_large=partial(_too_large, bytes_max), grew=grew)
    await turns.take(unpacker.steps(sent))
    return unpacker.end()


async def drop_rest(request: Request, headers: RequestHeaders, *, timeout_ms: int) -> None:
    """Of a body that is too large: who still sends would see a connection that is reset, and not the answer. Who asked
    first whether to send it, or has far too much, is not waited for."""
    declared = headers.get(b"content-length")
    is_far_too_large = declared is not None and _content_length(declared) > DROPPED_BYTES_MAX
    if headers.get(b"expect") is not None or is_far_too_large:
        return
    size, more = 0, True
    with suppress(TimeoutError, ServerError):
        async with asyncio.timeout(timeout_ms / 1000):
            while more and size <= DROPPED_BYTES_MAX:
                part, more = await _next_part(request)
                size += len(part)


def _check_declared(headers: RequestHeaders, bytes_max: int) -> None:
    declared = headers.get(b"content-length")
    if declared is not None and _content_length(declared) > bytes_max:
        raise _too_large(bytes_max)


def _is_packed(headers: RequestHeaders) -> bool:
    """By gzip. Raises ServerError UNSUPPORTED_MEDIA_TYPE."""
    encoding = (headers.get(b"content-encoding") or "identity").strip().lower()
    if encoding not in {"identity", "gzip", "x-gzip"}:
        detail = f"the content encoding {encoding[:50]!r} is not supported, gzip and identity are"
        raise ServerError(ProblemCode.UNSUPPORTED_MEDIA_TYPE, detail, field="Content-Encoding")
    return encoding != "identity"


async def _in_time(reading: Awaitable[bytes], timeout_ms: int) -> bytes:
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            return await reading
    except TimeoutError:
        detail = f"the body did not arrive within {timeout_ms} ms"
        raise ServerError(ProblemCode.REQUEST_TIMEOUT, detail) from None


def _grow_beside(hold: Hold, packed_bytes: int, unpacked_bytes: int) -> None:
    """What was sent is held until the answer, too."""
    hold.grow_to(packed_bytes + unpacked_bytes)


def _content_length(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ServerError(ProblemCode.INVALID_FIELD, "is not a length", field="Content-Length")
    return int(text)


def _too_large(bytes_max: int) -> ServerError:
    detail = f"the body has more than {bytes_max} bytes"
    return ServerError(ProblemCode.REQUEST_TOO_LARGE, detail)


async def _next_part(request: Request) -> tuple[bytes, bool]:
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ServerError(ProblemCode.BODY_INCOMPLETE, "the client closed the connection within the body")
    return message.get("body", b""), message.get("more_body", False)


async def _read_identity(request: Request, hold: Hold, bytes_max: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        part, more = await _next_part(request)
        size += len(part)
        if size > bytes_max:
            raise _too_large(bytes_max)
        if not more:
            hold.completed()
        hold.grow_to(size)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _read_gzip(request: Request, hold: Hold, turns: Turns, bytes_max: int) -> bytes:
    """Unpacks as the bytes come in, never further than the limit."""
    unpacker = GzipUnpacker(bytes_max=bytes_max, too_large=partial(_too_large, bytes_max), grew=hold.grow_to)
    packed_bytes = 0
    more = True
    while more:
        part, more = await _next_part(request)
        packed_bytes += len(part)
        if packed_bytes > bytes_max:
            raise _too_large(bytes_max)
        if not more:
            hold.completed()
        await turns.take(unpacker.steps(part))
    return unpacker.end()
