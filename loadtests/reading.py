"""What is read back: messages received and acknowledged, and the log as it is."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import msgspec

from loadtests.http_connection import Answer, HttpConnection, make_request
from loadtests.load import LoadFailedError, LoadResult

EMPTY_ANSWERS_MAX = 200  # in a row; an empty answer is an error of the benchmark's set-up


class _Delivery(msgspec.Struct):
    receipt: str


class _Deliveries(msgspec.Struct):
    messages: list[_Delivery]


class _Settled(msgspec.Struct):
    failed: int


_decode_deliveries = msgspec.json.Decoder(_Deliveries).decode
_decode_settled = msgspec.json.Decoder(_Settled).decode
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Drained:
    """How a group read a topic to its end; latencies in seconds."""

    messages: int = 0
    seconds: float = 0.0
    receive_latencies: list[float] = field(default_factory=list)
    ack_latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.messages / self.seconds if self.seconds else 0.0


async def drain(
    connections: Sequence[HttpConnection], *, receive_target: str, ack_target: str, messages: int, seconds: float
) -> Drained:
    """Receive and acknowledge `messages` messages, or what can be done in `seconds`; each connection does one batch
    after the other.

    Raises LoadFailedError for any answer but success.
    """
    drained = Drained()
    receive = make_request("GET", receive_target)
    started = perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for connection in connections:
            tasks.create_task(_drain_one(connection, receive, ack_target, drained, messages, started + seconds))
    drained.seconds = perf_counter() - started
    return drained


async def _drain_one(
    connection: HttpConnection, receive: bytes, ack_target: str, drained: Drained, messages: int, end: float
) -> None:
    empty_answers = 0
    while drained.messages < messages and (began := perf_counter()) < end:
        answer = _require(await connection.request(receive), "receive")
        drained.receive_latencies.append(perf_counter() - began)
        acks = ack_body(answer.body)
        if acks is None:
            empty_answers += 1
            if empty_answers > EMPTY_ANSWERS_MAX:
                raise LoadFailedError(f"only {drained.messages:,} of {messages:,} messages came")
            continue
        empty_answers = 0
        began = perf_counter()
        settled = _require(await connection.request(make_request("POST", ack_target, acks.body)), "ack")
        drained.ack_latencies.append(perf_counter() - began)
        if _decode_settled(settled.body).failed:
            raise LoadFailedError(f"acknowledgements failed: {settled.body[:300]!r}")
        drained.messages += acks.messages


class AckBody(NamedTuple):
    """The body of a request that acknowledges so many messages."""

    body: bytes
    messages: int


def ack_body(delivery: bytes) -> AckBody | None:
    """For all messages of an answer to a receive; None when it has none."""
    receipts = [each.receipt for each in _decode_deliveries(delivery).messages]
    return AckBody(_encode({"receipts": receipts}), len(receipts)) if receipts else None


class LogRead(NamedTuple):
    """What was read of a log, and the bytes of all bodies."""

    load: LoadResult
    size_bytes: int

    @property
    def bytes_per_s(self) -> float:
        return self.size_bytes / self.load.seconds


async def read_log(
    connection: HttpConnection, target_of: Callable[[int, int], str], partitions: int, *, accept: str, seconds: float
) -> LogRead:
    """Read the partitions from start to end, over and over, one request after the other. `target_of` makes a request's
    target of the partition and the offset.

    Raises LoadFailedError for any answer but success, and when nothing was read.
    """
    latencies: list[float] = []
    total_bytes = 0
    partition, offset = 0, 0
    started = perf_counter()
    while (now := perf_counter()) < started + seconds:
        request = make_request("GET", target_of(partition, offset), accept=accept)
        answer = _require(await connection.request(request), "records")
        latencies.append(perf_counter() - now)
        total_bytes += len(answer.body)
        following = int(answer.header("x-acklog-next-offset"))
        if following > offset:
            offset = following
        else:
            partition, offset = (partition + 1) % partitions, 0
    if not total_bytes:
        raise LoadFailedError("the log gave nothing")
    return LogRead(LoadResult(len(latencies), 0, perf_counter() - started, sorted(latencies)), total_bytes)


def _require(answer: Answer, what: str) -> Answer:
    if answer.status != 200:
        raise LoadFailedError(f"{what}: {answer.status} {answer.body[:300]!r}")
    return answer
