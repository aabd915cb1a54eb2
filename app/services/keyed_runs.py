"""What of a request stands together in a partition, and the idempotency keys by which it is remembered.

A key covers a run: a message with a dedupId is a run of its own; what a request with an Idempotency-Key puts into the
partition is one run, unless dedupIds stand in between.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from typing import NamedTuple, cast

import msgspec

from acklog.wire.batch import DedupKey
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record, Schedule
from app.calls.send import (
    TRACE_HEADERS,
    Outgoing,
    Produce,
    Records,
    Sendable,
    dedup_id_of,
    is_later,
    is_same_by_name,
    is_told_when,
    record_of,
)
from app.calls.send_result import Placed, ScheduledPlace, SendResult
from cluster.errors import ServerError
from cluster.model.values import Topic

FINGERPRINT_BYTES = 8
ANY_CONTENT = b"any body"
"""In place of a fingerprint, of messages that are the same by their dedupId alone. Who goes by the content is refused
under one of these ids, and the other way round."""
_MARK = "\n"  # what sets a request's keys apart: no dedupId may hold a control character


class Timing(NamedTuple):
    """Which of a request's messages go to the same log, and are remembered together there: by the request's name, with
    a mark where the messages themselves say that they go apart from the others. `topic_delay_ms` is what their topic
    says of those that say nothing: so these have the name that they have in any topic, and a retry finds them whatever
    the topic said at the first try."""

    is_later: bool
    mark: str = ""
    topic_delay_ms: int = 0


_AS_EVER = Timing(is_later=False)
_LATER = Timing(is_later=True, mark="t")
_AT_ONCE = Timing(is_later=False, mark="0")
"""Where the topic says that the others wait."""

_encode_content = msgspec.msgpack.Encoder(order="deterministic").encode


@dataclass(slots=True)
class Run:
    """Messages that are stored one behind the other, `indexes` by their places in the request.

    They are remembered by `key`, or not at all where it is None; `twins` are the places of later messages with the same
    key and content, which share the fate of this one. `payload` is the msgpack of the records, where that was needed
    already.
    """

    indexes: list[int]
    records: Records
    key: str | None
    fingerprint: bytes = b""
    payload: bytes | None = None
    twins: list[int] = field(default_factory=list)

    def place(self, first: Placed, result: SendResult) -> None:
        result.place(self.indexes, first)
        for twin in self.twins:
            result.place([twin], first)

    def schedule(self, first: ScheduledPlace, result: SendResult) -> None:
        due = [_due_of(record, first.append_time_ms) for record in cast("list[Record]", self.records)]
        result.schedule(self.indexes, first, due)
        for twin in self.twins:
            result.schedule([twin], first, due[:1])

    def fail(self, fault: ServerError, result: SendResult) -> None:
        result.fail([*self.indexes, *self.twins], fault)

    def delay(self, delay_ms: int) -> None:
        """As the topic says, and not the producer: it changes nothing about whether the content is the same."""
        for record in cast("list[Record]", self.records):
            record.schedule = Schedule(delay_ms=delay_ms)
        self.payload = None

    def bind(self, produce: Produce) -> None:
        """What is seen later and names its partition stays there, whatever becomes of the topic's partitions meanwhile.
        It changes nothing about whether the content is the same."""
        for index, record in zip(self.indexes, cast("list[Record]", self.records), strict=True):
            message = produce.messages[index]
            if isinstance(message, Outgoing) and message.partition is not None and record.schedule is not None:
                record.schedule = msgspec.structs.replace(record.schedule, is_bound=True)  # others may share it
        self.payload = None

    def origin(self) -> str:
        """The same for all runs of a request, and different for any other."""
        stem, mark, _ = (self.key or _MARK).partition(_MARK)
        return stem + mark


def _due_of(record: Record, append_time_ms: int) -> int | None:
    """None where only the node knows."""
    schedule = record.schedule
    if append_time_ms < 0 or schedule is None:
        return None
    return schedule.at_ms if schedule.at_ms >= 0 else append_time_ms + schedule.delay_ms


def by_time(produce: Produce, indexes: list[int], topic: Topic) -> list[tuple[Timing, list[int]]]:
    """What of these messages of a request is to be seen when."""
    delay_ms = topic.config.delay_ms
    if not produce.has_later and not delay_ms:
        return [(_AS_EVER, indexes)]
    messages = produce.messages
    later = [index for index in indexes if is_later(messages[index])]
    if delay_ms:
        at_once = [index for index in indexes if is_told_when(messages[index]) and not is_later(messages[index])]
        others = [index for index in indexes if not is_told_when(messages[index])]
        found = [(_AT_ONCE, at_once), (Timing(is_later=True, topic_delay_ms=delay_ms), others), (_LATER, later)]
    else:
        found = [(_AS_EVER, [index for index in indexes if not is_later(messages[index])]), (_LATER, later)]
    return [(timing, some) for timing, some in found if some]


def name_at(name: str | None, timing: Timing) -> str | None:
    """What a request's messages of one partition are remembered by."""
    return None if name is None else name + timing.mark


def request_name(produce: Produce, mapping: int) -> str | None:
    """What the messages of a request are remembered by in each partition that they go to, by the topic's `mapping`: a
    later one brings other messages of the request together. None: they are not, but for those with a dedupId."""
    key = produce.idempotency_key
    if key is None:
        return None
    return f"{key}{_MARK}{mapping}{_MARK}" if mapping else key + _MARK


def request_run(indexes: list[int], records: list[Record], key: str) -> Run:
    """The run of what a request with the `request_name` puts into one partition."""
    if any(record.headers is not None for record in records):
        content = _encode_content([_without_trace(record).content() for record in records])
        return Run(indexes, records, key, _run_fingerprint(content))
    # The same bytes as `_encode_content` makes, as there is nothing to put in order; what is missing at the end of a
    # record counts as nil.
    payload = _encode_content([record.content() for record in records])
    return Run(indexes, records, key, _run_fingerprint(payload), payload)


def runs_of(
    produce: Produce, indexes: Sequence[int], name: str | None, result: SendResult, found: AbstractSet[int]
) -> list[Run]:
    """The runs that a request's messages for one partition make, without the messages whose places are in `found`; the
    same ones at every try. `name` is the `request_name`.

    No key may stand twice in a batch: a second message with a dedupId becomes a twin of the first, or is at fault where
    the contents differ; a request's runs behind the first are numbered.

    Those in `found` are messages with a dedupId. They take part in making the runs all the same, as they part those of
    their request: else these would be other ones once they are stored.
    """
    runs: list[Run] = []
    firsts: dict[str, Run] = {}
    count = 0
    for key, line in _lines(produce, indexes, name):
        places = [index for index, _ in line]
        records = [record_of(message) for _, message in line]
        if key is None:
            runs.append(Run(places, records, None))
        elif key == name:
            runs.append(request_run(places, records, f"{key}{count}" if count else key))
            count += 1
        else:
            is_by_name = is_same_by_name(line[0][1])
            run = Run(places, records, key, ANY_CONTENT if is_by_name else fingerprint_of(records[0]))
            first = firsts.setdefault(key, run)
            if first is run:
                runs.append(run)
            elif first.fingerprint == run.fingerprint:
                first.twins += places
            elif found.isdisjoint(places):
                run.fail(key_reused(), result)
    return _without(found, runs) if found else runs


def _without(found: AbstractSet[int], made: list[Run]) -> list[Run]:
    runs = []
    for run in made:
        places = [*run.indexes, *run.twins]
        if found.isdisjoint(places):
            runs.append(run)
        elif left := [place for place in places if place not in found]:
            runs.append(replace(run, indexes=left[:1], twins=left[1:]))
    return runs


def keys_of(runs: list[Run]) -> list[DedupKey]:
    """What the window is told of the runs, which stand one behind the other."""
    keys = []
    position = 0
    for run in runs:
        if run.key is not None:
            keys.append(DedupKey(position, run.key, run.fingerprint, len(run.records)))
        position += len(run.records)
    return keys


def joined(runs: list[Run]) -> tuple[Records, bytes | None]:
    """The records of runs that stand one behind the other, and their payload where that has been made."""
    if len(runs) == 1:
        return runs[0].records, runs[0].payload
    return [record for run in runs for record in cast("list[Record]", run.records)], None


def fingerprint_of(record: Record) -> bytes:
    """What tells two contents sent with one dedupId apart. The trace headers stay out: a retry has a span of its
    own."""
    bare = _without_trace(record)
    return blake2b(_encode_content(bare.content()), digest_size=FINGERPRINT_BYTES).digest()


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


def _lines(
    produce: Produce, indexes: Sequence[int], name: str | None
) -> list[tuple[str | None, list[tuple[int, Sendable]]]]:
    """What stands together in the log: neighbours with the request's key, or with none. Never two dedupIds."""
    lines: list[tuple[str | None, list[tuple[int, Sendable]]]] = []
    before: str | None = ""
    for index in indexes:
        message = produce.messages[index]
        assert not isinstance(message, ServerError), "it goes to no partition"
        dedup_id = dedup_id_of(message)
        key = name if dedup_id is None else dedup_id
        if key == before and dedup_id is None:
            lines[-1][1].append((index, message))
        else:
            lines.append((key, [(index, message)]))
        before = key
    return lines
