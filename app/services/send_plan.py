"""The plan of a send: which of its messages go to which partition, and under which keys they are remembered there."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from itertools import starmap
from typing import NamedTuple

from acklog.wire.problems import ProblemCode
from acklog.wire.record import PlainRecord, Record
from app.calls.send import Message, Outgoing, Produce, Sendable, deciding_key, record_of
from app.calls.send_result import SendResult
from app.gateway.batching.coalescer import ANY_PARTITION
from app.gateway.partition_choice import partition_of_key, places_of_keys
from app.services.keyed_runs import Run, by_time, name_at, request_name, request_run, runs_of
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import ANY_MAPPING

CheckPartition = Callable[[Topic, int], None]
"""Raises ServerError where the partition is not there, or takes no messages."""

ChooseKeyless = Callable[[Topic, int], int]
"""Where messages without a key go, which have so many bytes together."""


class Part(NamedTuple):
    """What goes to one partition: runs that share a batch. `mapping` is the topic's, or ANY_MAPPING where none of them
    went there by a key; `is_later`: of messages that are to be seen later."""

    partition: int
    runs: list[Run]
    mapping: int
    is_later: bool = False

    @property
    def is_keyed(self) -> bool:
        return len(self.runs) > 1 or self.runs[0].key is not None


class SendPlanner:
    def __init__(self, check_partition: CheckPartition, choose_keyless: ChooseKeyless) -> None:
        self._check_partition = check_partition
        self._choose_keyless = choose_keyless

    def parts(self, produce: Produce, result: SendResult, found: AbstractSet[int]) -> list[Part]:
        """What goes where. What cannot be stored is noted in `result`; what is stored already, at the places `found`,
        is left out. Messages without a key stay together, and all of a partition stay in the request's order."""
        keys = None if found else produce.plain_keys()
        config = result.topic.config
        if keys is not None and not config.delay_ms and not (config.is_compacted and None in keys):
            return self._parts_of_plain(produce, keys, result.topic)
        name = request_name(produce, result.topic.mapping)
        places = self._places(produce, result, found)
        parts = []
        is_named = name is not None or places.has_names
        for partition, indexes in places.by_partition.items():
            mapping = result.topic.mapping if is_named else places.mapping_of(partition, result.topic)
            for timing, some in by_time(produce, indexes, result.topic):
                if is_named:
                    runs = runs_of(produce, some, name_at(name, timing), result, found)
                else:
                    runs = [_unnamed_run(produce, some)]
                if timing.topic_delay_ms:
                    for run in runs:
                        run.delay(timing.topic_delay_ms)
                if timing.is_later and produce.has_choices:
                    for run in runs:
                        run.bind(produce)
                if runs:
                    parts.append(Part(partition, runs, mapping, timing.is_later))
        return parts

    def placed_by(self, message: Sendable, partition: int, topic: Topic) -> int:
        """The mapping that `partition_of` went by; ANY_MAPPING where it was no key that decided."""
        is_chosen = isinstance(message, Outgoing) and message.partition is not None
        return ANY_MAPPING if is_chosen or partition == ANY_PARTITION else topic.mapping

    def partition_of(self, message: Sendable, topic: Topic, idempotency_key: str | None = None) -> int:
        """The message's own choice, else by what decides for it, else ANY_PARTITION.

        Raises ServerError PARTITION_NOT_FOUND, PARTITION_DECOMMISSIONED, MISSING_FIELD (a compacted topic goes by
        keys).
        """
        if isinstance(message, tuple) and message[1] is not None:  # nearly all
            return partition_of_key(message[1], topic)
        if topic.config.is_compacted and record_of(message).key is None:
            detail = f"is needed: {topic.name!r} keeps the last message of each key"
            raise ServerError(ProblemCode.MISSING_FIELD, detail, field="key")
        if isinstance(message, Outgoing) and message.partition is not None:
            self._check_partition(topic, message.partition)
            return message.partition
        key = deciding_key(message, idempotency_key)
        return ANY_PARTITION if key is None else partition_of_key(key, topic)

    def _parts_of_plain(self, produce: Produce, keys: list[str | None], topic: Topic) -> list[Part]:
        """In a loop per batch, where others take one per message."""
        messages: list[PlainRecord] = produce.messages  # type: ignore[assignment]
        places = places_of_keys(keys, topic)
        keyless = places.pop()
        only_keyless = -1
        if keyless:
            if produce.idempotency_key is None:
                chosen = self._choose_keyless(topic, sum([len(messages[index][0]) for index in keyless]))
            else:
                chosen = partition_of_key(produce.idempotency_key, topic)
            only_keyless = -1 if places[chosen] or produce.idempotency_key is not None else chosen
            places[chosen] = sorted(places[chosen] + keyless)
        name = request_name(produce, topic.mapping)
        parts = []
        for partition, indexes in enumerate(places):
            if indexes:
                records = list(map(messages.__getitem__, indexes))
                if name is None:
                    run = Run(indexes, records, None)
                else:
                    run = request_run(indexes, list(starmap(Record, records)), name)
                parts.append(Part(partition, [run], ANY_MAPPING if partition == only_keyless else topic.mapping))
        return parts

    def _places(self, produce: Produce, result: SendResult, found: AbstractSet[int]) -> "_Places":
        """Of the messages, and of those of `found` that part others."""
        topic = result.topic
        places: dict[int, list[int]] = {}
        keyless: list[int] = []
        keyless_bytes = 0
        has_names = False
        only_keyless = -1
        for index, message in enumerate(produce.messages):
            if isinstance(message, Outgoing):
                key = message.record.key if message.partition is None else None
                dedup_id = message.dedup_id
                has_names = has_names or dedup_id is not None
            elif isinstance(message, tuple):
                key, dedup_id = message[1], None
            else:
                result.fail([index], message)
                continue
            if found and index in found and dedup_id is None:
                continue
            if key is not None:
                partition = partition_of_key(key, topic)
            else:
                try:
                    partition = self.partition_of(message, topic, produce.idempotency_key)
                except ServerError as fault:
                    if index not in found:
                        note_misplaced(fault, index, result)
                    continue
                if partition == ANY_PARTITION:
                    keyless.append(index)
                    keyless_bytes += _body_bytes(message)
                    continue
            if partition in places:
                places[partition].append(index)
            else:
                places[partition] = [index]
        if keyless:
            chosen = self._choose_keyless(topic, keyless_bytes)
            only_keyless = -1 if chosen in places else chosen
            places[chosen] = sorted(places.get(chosen, []) + keyless)
        return _Places(places, has_names, only_keyless)


class _Places(NamedTuple):
    """`has_names`: some message has a dedupId. `only_keyless` is a partition to which no key or wish brought any, -1:
    there is none."""

    by_partition: dict[int, list[int]]
    has_names: bool
    only_keyless: int

    def mapping_of(self, partition: int, topic: Topic) -> int:
        return ANY_MAPPING if partition == self.only_keyless else topic.mapping


def _unnamed_run(produce: Produce, indexes: list[int]) -> Run:
    messages = produce.messages
    return Run(indexes, [record_of(messages[index]) for index in indexes], None)  # type: ignore[arg-type]


def note_misplaced(fault: ServerError, index: int, result: SendResult) -> None:
    """The message cannot go to the partition that it names."""
    if result.is_batch:
        fault.field = f"messages[{index}].{fault.field}"
    result.fail([index], fault)


def highest_partition(produce: Produce) -> int:
    """Of those that the messages name; -1 where they name none."""
    if produce.plain_keys() is not None:
        return -1
    numbers = [each.partition for each in produce.messages if isinstance(each, Outgoing) and each.partition is not None]
    return max(numbers, default=-1)


def can_take_some(produce: Produce, topic: Topic) -> bool:
    """Whether a topic that is yet to be made would store any of the messages."""
    return any(_can_take(each, topic) for each in produce.messages)


def _can_take(message: Message, topic: Topic) -> bool:
    if isinstance(message, Outgoing):
        return message.partition is None or message.partition < topic.partitions
    return not isinstance(message, ServerError)


def _body_bytes(message: Sendable) -> int:
    return len(message.record.body) if isinstance(message, Outgoing) else len(message[0])
