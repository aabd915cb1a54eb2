"""Storing messages with idempotency keys in one partition, each at most once within the dedup window.

A key covers a run: a message with a dedupId is a run of its own; what a request with an Idempotency-Key puts into the
partition is one run, unless dedupIds stand in between. A run is stored whole or not at all, since it never leaves its
batch, and a batch holds whatever one request can bring.
"""

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from typing import NamedTuple

import msgspec

from acklog.wire.batch import DedupKey, encode_records
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.calls.send import TRACE_HEADERS, Outgoing
from cluster.errors import ServerError
from storage.rpc.messages import KeyedResult, ProduceResponse

FINGERPRINT_BYTES = 8
_MARK = "\n"  # what sets a request's keys apart: no dedupId may hold a control character
_encode_content = msgspec.msgpack.Encoder(order="deterministic").encode

Store = Callable[[list[Record], list[DedupKey], bytes | None], Awaitable[ProduceResponse]]
"""Appends one batch of records with their keys; where the records are encoded already, their payload is given."""


class Placed(NamedTuple):
    """Where a run begins; `offset` is -1 where `acks` 0 asked for no offset."""

    epoch: int
    offset: int


@dataclass(slots=True)
class KeyedRun:
    """Messages that are stored one behind the other, `indexes` by their places in the request.

    They are remembered by `key`, or not at all where it is None; `twins` are the places of later messages with the same
    key and content, which share the fate of this one. `payload` is what `encode_records` makes of the records, where
    that was needed already.
    """

    indexes: list[int]
    records: list[Record]
    key: str | None
    fingerprint: bytes = b""
    payload: bytes | None = None
    twins: list[int] = field(default_factory=list)


@dataclass(slots=True)
class StoredRuns:
    """Every index that was given is in one of the two; in `placed` with the place of the first of its line."""

    placed: list[tuple[list[int], Placed]] = field(default_factory=list)
    faults: dict[int, ServerError] = field(default_factory=dict)

    def place(self, run: KeyedRun, place: Placed) -> None:
        self.placed.append((run.indexes, place))
        self.placed.extend(([twin], place) for twin in run.twins)

    def fail(self, run: KeyedRun, fault: ServerError) -> None:
        self.faults.update(dict.fromkeys(run.indexes, fault))
        self.faults.update(dict.fromkeys(run.twins, fault))


def request_key(idempotency_key: str, mapping: int) -> str:
    """What the messages of a request are remembered by in each partition that they go to, by the topic's `mapping`: a
    later one brings other messages of the request together."""
    return f"{idempotency_key}{_MARK}{mapping}{_MARK}" if mapping else idempotency_key + _MARK


def named_by(message: Outgoing, mapping: int) -> Outgoing:
    """The message as a try by that mapping named it: a dedupId stays what it is, a request's key tells the mapping."""
    if message.dedup_key is None or not is_named_by_request(message):
        return message
    stem, _, _ = message.dedup_key.partition(_MARK)
    return msgspec.structs.replace(message, dedup_key=request_key(stem, mapping))


def request_run(indexes: list[int], records: list[Record], key: str) -> KeyedRun:
    """The run of what a request with the `request_key` puts into one partition."""
    if any(record.headers is not None for record in records):
        content = _encode_content([_without_trace(record) for record in records])
        return KeyedRun(indexes, records, key, _run_fingerprint(content))
    payload = encode_records(records)  # the same bytes as `_encode_content` makes: there is nothing to put in order
    return KeyedRun(indexes, records, key, _run_fingerprint(payload), payload)


def runs_of(indexes: Sequence[int], messages: Sequence[Outgoing], stored: StoredRuns) -> list[KeyedRun]:
    """The runs that a request's messages for one partition make; the same ones at every try.

    No key may stand twice in a batch: a second message with a dedupId becomes a twin of the first, or is at fault
    (noted in `stored`) where the contents differ; a request's runs behind the first are numbered.
    """
    runs: list[KeyedRun] = []
    firsts: dict[str, KeyedRun] = {}
    numbers: dict[str, int] = {}
    for key, line in _lines(indexes, messages):
        places = [index for index, _ in line]
        records = [record for _, record in line]
        if key is None:
            runs.append(KeyedRun(places, records, None))
        elif key.endswith(_MARK):
            number = numbers[key] = numbers.get(key, -1) + 1
            runs.append(request_run(places, records, f"{key}{number}" if number else key))
        else:
            run = KeyedRun(places, records, key, fingerprint_of(records[0]))
            first = firsts.setdefault(key, run)
            if first is run:
                runs.append(run)
            elif first.fingerprint == run.fingerprint:
                first.twins += places
            else:
                stored.fail(run, key_reused())
    return runs


def runs_without(
    found: AbstractSet[int], indexes: Sequence[int], messages: Sequence[Outgoing], stored: StoredRuns
) -> list[KeyedRun]:
    """The runs of `runs_of`, without the messages whose places are in `found`.

    Those are messages with a dedupId. They take part in making the runs all the same, as they part those of their
    request: else these would be other ones once they are stored.
    """
    made = runs_of(indexes, messages, stored)
    if not found:
        return made
    runs = []
    for run in made:
        places = [*run.indexes, *run.twins]
        if found.isdisjoint(places):
            runs.append(run)
        elif left := [place for place in places if place not in found]:
            runs.append(replace(run, indexes=left[:1], twins=left[1:]))
    for index in found & stored.faults.keys():
        del stored.faults[index]
    return runs


def is_named_by_request(message: Outgoing) -> bool:
    """Whether its name is that of its request, and no dedupId."""
    return message.dedup_key is not None and message.dedup_key.endswith(_MARK)


async def store_runs(store: Store, runs: list[KeyedRun], stored: StoredRuns, *, rounds_max: int) -> None:
    """Store what of `runs` (at least one) the window does not know. What it knows gets its first ids, and the rest is
    sent again without it.

    The failure of `store` is the fault of each message that has no result by then.
    """
    try:
        for _ in range(rounds_max):
            answer = await _store(store, runs)
            if not answer.known:
                _place_all(answer, runs, stored)
                return
            runs = without_known(answer.known, runs, stored)
            if not runs:
                return
    except ServerError as error:
        failure = error
    else:
        # Others keep sending the same keys: each round found new ones among them.
        failure = ServerError(ProblemCode.CONFLICT, "others are sending the same idempotency keys", retry_after_ms=100)
    for run in runs:
        stored.fail(run, failure)


def fingerprint_of(record: Record) -> bytes:
    """What tells two contents sent with one dedupId apart. The trace headers stay out: a retry has a span of its
    own."""
    bare = _without_trace(record)
    content = (bare.body, bare.key, bare.headers, bare.tags, bare.timestamp_ms, bare.content_type)
    return blake2b(_encode_content(content), digest_size=FINGERPRINT_BYTES).digest()


def key_reused() -> ServerError:
    return ServerError(
        ProblemCode.IDEMPOTENCY_KEY_REUSED, "the idempotency key was used with another content in this partition"
    )


def _run_fingerprint(content: bytes) -> bytes:
    # Of a long content, SHA-256 costs a third of BLAKE2b where the processor has instructions for it.
    return sha256(content).digest()[:FINGERPRINT_BYTES]


def _without_trace(record: Record) -> Record:
    headers = record.headers
    if headers is None:
        return record
    headers = {name: value for name, value in headers.items() if name not in TRACE_HEADERS} or None
    return msgspec.structs.replace(record, headers=headers)


def _lines(indexes: Sequence[int], messages: Sequence[Outgoing]) -> list[tuple[str | None, list[tuple[int, Record]]]]:
    """What stands together in the log: neighbours with the request's key, or with none. Never two dedupIds."""
    lines: list[tuple[str | None, list[tuple[int, Record]]]] = []
    before: str | None = ""
    for index, message in zip(indexes, messages, strict=True):
        key = message.dedup_key
        if key == before and (key is None or key.endswith(_MARK)):
            lines[-1][1].append((index, message.record))
        else:
            lines.append((key, [(index, message.record)]))
        before = key
    return lines


def _place_all(answer: ProduceResponse, sent: list[KeyedRun], stored: StoredRuns) -> None:
    offset = answer.base_offset
    for run in sent:
        stored.place(run, Placed(answer.leader_epoch, offset))
        if offset >= 0:  # `acks` 0 asked for no offsets
            offset += len(run.records)


def without_known(results: list[KeyedResult], sent: list[KeyedRun], stored: StoredRuns) -> list[KeyedRun]:
    """Note in `stored` what the window knows; returns the runs that it does not know."""
    known = {each.index: each for each in results}
    left = []
    refused: set[str] = set()
    position = 0
    for run in sent:
        found = known.get(position)
        position += len(run.records)
        if found is None:
            left.append(run)
        elif not found.conflict:
            stored.place(run, Placed(found.leader_epoch, found.offset))
        else:
            stored.fail(run, key_reused())
            refused.add(_origin(run))
    # Another request has the key. It may have made fewer runs than this one, whose others would then be new.
    for run in left:
        if _origin(run) in refused:
            stored.fail(run, key_reused())
    return [run for run in left if _origin(run) not in refused]


def _origin(run: KeyedRun) -> str:
    """The same for all runs of a request, and different for any other."""
    stem, mark, _ = (run.key or _MARK).partition(_MARK)
    return stem + mark


def _store(store: Store, runs: list[KeyedRun]) -> Awaitable[ProduceResponse]:
    if len(runs) == 1:
        [run] = runs
        return store(run.records, keys_of(runs), run.payload)
    return store([record for run in runs for record in run.records], keys_of(runs), None)


def keys_of(runs: list[KeyedRun]) -> list[DedupKey]:
    """What the window is told of the runs, which stand one behind the other."""
    keys = []
    position = 0
    for run in runs:
        if run.key is not None:
            keys.append(DedupKey(position, run.key, run.fingerprint, len(run.records)))
        position += len(run.records)
    return keys
