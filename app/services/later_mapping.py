"""Sends that meet a change of their topic's partitions, placed anew by the mapping that is there now.

A leader that has heard of the change takes nothing more that the mapping of before has put into its partition, whoever
sends it (`storage/node/partition/mapping_gate`). Nothing of it is stored then, so it may be sent to where it belongs
now. That is done once: who meets a second change on the way is told.
"""

import asyncio
from collections.abc import Mapping

from acklog.wire.problems import ProblemCode
from acklog.wire.record import PlainRecord, Record
from app.calls.send import Message, Outgoing, Produce, dedup_id_of
from app.calls.send_result import SendResult
from app.gateway.batching.coalescer import Coalescer, Waiter, tell_all
from app.gateway.batching.flight import Flight, MappingOverError
from app.gateway.partition_choice import partition_of_key
from app.services.catalog import Catalog
from cluster.errors import ServerError
from cluster.model.values import Topic

LATER_RETRY_MS = 100


async def topic_after(mapping: int, topic_id: str, catalog: Catalog) -> Topic:
    """The topic with a later mapping than this one, of which some leader has heard. Raises ServerError TOPIC_NOT_FOUND,
    UNAVAILABLE."""
    topic = catalog.by_id(topic_id)
    if topic.mapping <= mapping:
        await catalog.latest_topic(topic.name)
        topic = catalog.by_id(topic_id)
    if topic.mapping <= mapping:
        detail = f"it is not known here yet how the partitions of {topic.name!r} have changed"
        raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=LATER_RETRY_MS)
    return topic


class SinglesAnew:
    """Single messages that shared a batch. Each has a key: it was what put them there."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, flight: Flight, waiting: list[Waiter], error: MappingOverError, coalescer: Coalescer) -> None:
        task = asyncio.get_running_loop().create_task(self._place(flight, waiting, error, coalescer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _place(
        self, flight: Flight, waiting: list[Waiter], error: MappingOverError, coalescer: Coalescer
    ) -> None:
        try:
            topic = await topic_after(flight.mapping, flight.topic_id, self._catalog)
            places: dict[int, tuple[list[Record | PlainRecord], list[Waiter]]] = {}
            for record, waiter in zip(flight.records(), waiting, strict=True):
                assert record.key is not None
                records, waiters = places.setdefault(partition_of_key(record.key, topic), ([], []))
                records.append(record)
                waiters.append(waiter)
        except ServerError:
            tell_all(waiting, error)  # which says as well that nothing is stored, and that it may be sent again
        except BaseException as broken:
            tell_all(waiting, broken)
            raise
        else:
            for partition, (records, waiters) in places.items():
                coalescer.send_anew(flight, records, waiters, partition, topic.mapping)


def is_to_be_placed_anew(result: SendResult) -> bool:
    return any(isinstance(fault, MappingOverError) for fault in result.faults.values())


def to_place_anew(produce: Produce, result: SendResult) -> set[int]:
    """The places of what the change kept out, and of whatever else has a name and is not stored: a client that tries
    again brings all of that together, and the same runs are to be made of it now."""
    return {
        index
        for index, fault in result.faults.items()
        if isinstance(fault, MappingOverError) or _has_name(produce.messages[index], produce.idempotency_key)
    }


def bring_back(produce: Produce, records: Mapping[int, Record], count: int) -> None:
    """Have these messages again in a request that was cleared. What stands in the places of the others is not looked
    at: they are not to be sent."""
    produce.messages = [(b"", None)] * count
    for index, record in records.items():
        produce.messages[index] = Outgoing(record)


def _has_name(message: Message, idempotency_key: str | None) -> bool:
    if isinstance(message, ServerError):
        return False
    return idempotency_key is not None or dedup_id_of(message) is not None
