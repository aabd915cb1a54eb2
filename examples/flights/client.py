"""Acklog over HTTP, as far as this example needs it: each call either tells its outcome or says that it is unknown."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
import msgspec

from examples.latencies import Latencies

REQUEST_TIMEOUT_S = 30.0
RETRY_FOR_S = 90.0
RETRY_PAUSE_S = 0.05
_UNKNOWN_OR_LATER = frozenset({408, 429, 500, 502, 503, 504})


class RequestRefusedError(RuntimeError):
    """The server refused a request for good."""


class ServerAwayError(RuntimeError):
    """The request may or may not have taken effect, or may succeed later: the connection broke, the time was up, or
    the server said so."""


class ItemResult(msgspec.Struct, rename="camel"):
    """Of one message of a batch: where it is stored, or the code of what went wrong."""

    partition: int = -1
    offset: int = -1
    code: str = ""
    detail: str = ""
    retriable: bool = False


class _Results(msgspec.Struct):
    results: list[ItemResult]


class Delivery(msgspec.Struct, rename="camel"):
    """A message as a consumer gets it."""

    receipt: str
    partition: int
    offset: int
    attempt: int
    body: msgspec.Raw
    key: str | None = None
    tags: list[str] | None = None


class _Deliveries(msgspec.Struct):
    messages: list[Delivery]


class LogRecord(msgspec.Struct, rename="camel"):
    """A message as it stands in the log."""

    offset: int
    body: msgspec.Raw
    key: str | None = None
    tags: list[str] | None = None


class LogPage(msgspec.Struct, rename="camel"):
    records: list[LogRecord]
    next_offset: int
    high_watermark: int


class _Progress(msgspec.Struct):
    topic: str
    partition: int
    lag: int | None = None


class _GroupOffsets(msgspec.Struct):
    offsets: list[_Progress]


@dataclass(slots=True)
class RequestStatistics:
    """Latencies are of requests that were answered; `cut_off` counts the ones whose outcome stayed unknown."""

    sends: Latencies = field(default_factory=Latencies)
    receives: Latencies = field(default_factory=Latencies)
    acknowledgements: Latencies = field(default_factory=Latencies)
    cut_off: int = 0


class AcklogClient:
    """Used as an async context manager. Calls that retry do so for RETRY_FOR_S at most, then ServerAwayError."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None
        self.statistics = RequestStatistics()

    async def __aenter__(self) -> "AcklogClient":
        timeout = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S)
        self._session = aiohttp.ClientSession(self._url, timeout=timeout, connector=aiohttp.TCPConnector(limit=100))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()

    async def create_topic(self, name: str, partitions: int) -> None:
        body = msgspec.json.encode({"partitions": partitions})
        await self._retrying("PUT", f"/topics/{name}", body=body, headers={"Content-Type": "application/json"})

    async def send(self, queue: str, lines: bytes, idempotency_key: str) -> list[ItemResult]:
        """Send NDJSON; the same key again gives the same places. One try; raises ServerAwayError."""
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": idempotency_key}
        url = f"/messages?queue={queue}"
        answer = await self._once("POST", url, body=lines, headers=headers, latencies=self.statistics.sends)
        return msgspec.json.decode(answer, type=_Results).results

    async def receive(self, queue: str, group: str, consumer: str, *, max_messages: int) -> list[Delivery]:
        """Lease messages. One try; raises ServerAwayError."""
        url = f"/messages?queue={queue}&group={group}&consumer={consumer}&max={max_messages}&waitSeconds=1"
        answer = await self._once("GET", url, latencies=self.statistics.receives)
        return msgspec.json.decode(answer, type=_Deliveries).messages

    async def acknowledge(self, receipts: list[str]) -> list[ItemResult]:
        """A result per receipt; `code` is empty for one that is done. One try; raises ServerAwayError."""
        body = msgspec.json.encode({"receipts": receipts})
        headers = {"Content-Type": "application/json"}
        latencies = self.statistics.acknowledgements
        answer = await self._once("POST", "/ack", body=body, headers=headers, latencies=latencies)
        return msgspec.json.decode(answer, type=_Results).results

    async def read_log(self, topic: str, partition: int, offset: int) -> LogPage:
        url = f"/topics/{topic}/partitions/{partition}/records?offset={offset}"
        answer = await self._retrying("GET", url, headers={"Accept": "application/json"})
        return msgspec.json.decode(answer, type=LogPage)

    async def lags(self, group: str, topic: str) -> dict[int, int]:
        """The group's lag by partition, of those whose lag is known."""
        answer = await self._retrying("GET", f"/groups/{group}/offsets?topic={topic}")
        found = msgspec.json.decode(answer, type=_GroupOffsets).offsets
        return {each.partition: each.lag for each in found if each.topic == topic and each.lag is not None}

    async def _retrying(
        self, method: str, url: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        retrying = Retrying()
        while True:
            try:
                return await self._once(method, url, body=body, headers=headers)
            except ServerAwayError as error:
                await retrying.pause_after(error)

    async def _once(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        latencies: Latencies | None = None,
    ) -> bytes:
        assert self._session is not None
        started = time.perf_counter()
        try:
            async with self._session.request(method, url, data=body, headers=headers) as response:
                answer = await response.read()
                status = response.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if not isinstance(error, aiohttp.ClientConnectorError):  # else nothing was sent
                self.statistics.cut_off += 1
            raise ServerAwayError(f"{method} {url}: {type(error).__name__}: {error}") from None
        if status in _UNKNOWN_OR_LATER:
            raise ServerAwayError(f"{method} {url}: {status} {answer[:500]!r}")
        if not (200 <= status < 300 or (status < 500 and b'"results"' in answer)):
            raise RequestRefusedError(f"{method} {url}: {status} {answer[:500]!r}")
        if latencies is not None:
            latencies.add(time.perf_counter() - started)
        return answer


class Retrying:
    """Pauses between tries, until RETRY_FOR_S are over."""

    def __init__(self) -> None:
        self._deadline = time.monotonic() + RETRY_FOR_S

    async def pause_after(self, error: Exception) -> None:
        """Raises `error` itself when there is no time for another try."""
        if time.monotonic() + RETRY_PAUSE_S > self._deadline:
            raise error
        await asyncio.sleep(RETRY_PAUSE_S)
