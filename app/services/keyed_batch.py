"""Storing messages with idempotency keys in one partition, each at most once within the dedup window."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import blake2b

import msgspec

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.batching.coalescer import Placed
from app.parsing.message import TRACE_HEADERS, Outgoing
from cluster.errors import AcklogError
from storage.rpc.messages import ProduceResponse

FINGERPRINT_BYTES = 8
_encode_content = msgspec.msgpack.Encoder(order="deterministic").encode

Store = Callable[[bytearray], Awaitable[ProduceResponse]]


@dataclass(slots=True)
class KeyedResult:
    """Every index that was given is in one of the two."""

    placed: dict[int, Placed] = field(default_factory=dict)
    faults: dict[int, AcklogError] = field(default_factory=dict)


async def store_keyed(store: Store, messages: list[tuple[int, Outgoing]], *, rounds_max: int) -> KeyedResult:
    """Store what the window does not know. What it knows gets its first ids, and the rest is sent again without it.

    `messages` are (index in the request, message); `store` appends one batch. A failure of `store` is the fault of
    each message that has no result by then.
    """
    result = KeyedResult()
    twins: dict[int, int] = {}
    remaining = _without_twins(messages, result, twins)
    # Where the rounds run out, others keep sending the same keys: each round found new ones among them.
    failure = AcklogError(ProblemCode.CONFLICT, "others are sending the same idempotency keys", retry_after_ms=100)
    try:
        for _ in range(rounds_max):
            if not remaining:
                break
            answer = await store(_encode([message for _, message in remaining]))
            remaining = _take(answer, remaining, result)
    except AcklogError as error:
        failure = error
    for index, _ in remaining:
        result.faults[index] = failure
    for index, first in twins.items():
        if first in result.placed:
            result.placed[index] = result.placed[first]
        else:
            result.faults[index] = result.faults[first]
    return result


def fingerprint_of(record: Record) -> bytes:
    """What tells two contents sent with one idempotency key apart. The trace headers stay out: a retry has a span of
    its own."""
    headers = record.headers
    if headers is not None:
        headers = {name: value for name, value in headers.items() if name not in TRACE_HEADERS} or None
    content = (record.body, record.key, headers, record.tags, record.timestamp_ms, record.content_type)
    return blake2b(_encode_content(content), digest_size=FINGERPRINT_BYTES).digest()


def key_reused() -> AcklogError:
    return AcklogError(
        ProblemCode.IDEMPOTENCY_KEY_REUSED, "the idempotency key was used with another content in this partition"
    )


def _take(answer: ProduceResponse, sent: list[tuple[int, Outgoing]], result: KeyedResult) -> list[tuple[int, Outgoing]]:
    """Note what the answer says; returns what has to be sent again."""
    if not answer.known:
        step = 1 if answer.base_offset >= 0 else 0
        for position, (index, _) in enumerate(sent):
            result.placed[index] = Placed(answer.leader_epoch, answer.base_offset + position * step)
        return []
    settled: set[int] = set()
    for known in answer.known:
        index = sent[known.index][0]
        settled.add(known.index)
        if known.conflict:
            result.faults[index] = key_reused()
        else:
            result.placed[index] = Placed(known.leader_epoch, known.offset)
    return [each for position, each in enumerate(sent) if position not in settled]


def _encode(messages: list[Outgoing]) -> bytearray:
    keys = [
        DedupKey(index, message.dedup_key, fingerprint_of(message.record))
        for index, message in enumerate(messages)
        if message.dedup_key is not None
    ]
    return encode_batch([message.record for message in messages], keys=keys or None)


def _without_twins(
    messages: list[tuple[int, Outgoing]], result: KeyedResult, twins: dict[int, int]
) -> list[tuple[int, Outgoing]]:
    """No key may stand twice in a batch: a second message with a key shares the first one's fate if the content is
    the same (`twins`: its index to the first's), and is at fault otherwise."""
    distinct: list[tuple[int, Outgoing]] = []
    firsts: dict[str, tuple[int, bytes]] = {}
    for index, message in messages:
        if message.dedup_key is not None:
            fingerprint = fingerprint_of(message.record)
            first, first_fingerprint = firsts.setdefault(message.dedup_key, (index, fingerprint))
            if first != index:
                if first_fingerprint == fingerprint:
                    twins[index] = first
                else:
                    result.faults[index] = key_reused()
                continue
        distinct.append((index, message))
    return distinct
