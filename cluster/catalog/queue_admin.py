"""Queues of SQS in the coordination store: claimed, completed, changed and removed.

A queue is made of a topic and a group, which nobody can write together with it. So who makes one claims its name first,
with all that it is to be; whoever finds a claim completes it, and only what the claim says. Each step names the queue
that it is about by its id: one that comes late does nothing to another queue of the same name.
"""

import asyncio
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogChanger, CatalogSettings, NothingToWrite, Step, Write
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.sqs_queue import SqsQueue
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, Delete, KeyValue, Operation, Put, absent, unchanged
from cluster.ports.entropy import Entropy


class QueueAdmin:
    """Every call returns once the metadata view shows its effect, and raises ServerError: UNAVAILABLE, CONFLICT,
    OUTCOME_UNKNOWN, TIMED_OUT beside what it names."""

    def __init__(
        self,
        store: CoordinationStore,
        metadata: MetadataView,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: CatalogSettings | None = None,
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or CatalogSettings()
        self._changer = CatalogChanger(store, metadata, clock, self._settings)
        self._one_claim = asyncio.Lock()  # so that the view's count is exact when it is checked

    async def find(self, name: str) -> SqsQueue | None:
        """As the store has it; the view shows all that it is made of, if that is there."""
        item = await self._changer.read_shown(keys.sqs_queue(name))
        return None if item is None else decode(SqsQueue, item.value)

    async def claim(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str], *, instead_of: SqsQueue | None
    ) -> tuple[SqsQueue, bool]:
        """What there is of the queue now, and whether it is the claim of this call: where there was nothing, or the
        queue that it is to replace. Raises ServerError TOO_MANY_TOPICS."""
        key, now_ms = keys.sqs_queue(name), self._clock.now_ms()
        wanted = SqsQueue(
            name, "", "", now_ms, now_ms, dict(attributes), dict(tags), id=id_from_bits(self._entropy.bits64())
        )
        found = wanted

        async with self._one_claim:
            leaving = await self._leaving()

            def decide(item: KeyValue | None) -> Step:
                nonlocal found
                before = None if item is None else decode(SqsQueue, item.value)
                if item is not None and before is not None:
                    if instead_of is None or before.id != instead_of.id:
                        found = before
                        return NothingToWrite()
                    found = wanted
                    return Write([unchanged(item)], [Put(key, encode(wanted))])
                found = wanted
                self._check_room(leaving)
                operations: list[Operation] = [Put(key, encode(wanted))]
                if leaving is None or leaving.key == key:
                    return Write([absent(key)], operations)
                return Write([absent(key), unchanged(leaving)], [*operations, Delete(leaving.key)])

            await self._changer.change(key, decide)
        return found, found.id == wanted.id

    async def complete(
        self, claim: SqsQueue, *, topic_id: str, group_id: str, attributes: Mapping[str, str]
    ) -> SqsQueue | None:
        """The queue, whoever has completed it; None where there is something else now, or nothing."""

        def completed(queue: SqsQueue) -> SqsQueue:
            if not queue.is_claim:
                return queue
            return replace(queue, topic_id=topic_id, group_id=group_id, attributes=dict(attributes))

        return await self.update(claim, completed)

    async def update(self, queue: SqsQueue, revise: Callable[[SqsQueue], SqsQueue]) -> SqsQueue | None:
        """The queue as revised; None where it is not there any more. `revise` gets it as it is stored when it is
        changed; what it raises is raised."""
        updated: SqsQueue | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal updated
            before = None if item is None else decode(SqsQueue, item.value)
            updated = None
            if item is None or before is None or before.id != queue.id:
                return NothingToWrite()
            updated = revise(before)
            if updated == before:
                return NothingToWrite()
            return Write([unchanged(item)], [Put(item.key, encode_instead(updated, item.value))])

        await self._changer.change(keys.sqs_queue(queue.name), decide)
        return updated

    async def remove(self, queue: SqsQueue) -> bool:
        """Whether nothing of it is left here: a claim that somebody has completed meanwhile stays. Its topic and its
        group are gone already, or stay."""
        is_left = False

        def decide(item: KeyValue | None) -> Step:
            nonlocal is_left
            found = None if item is None else decode(SqsQueue, item.value)
            is_left = False
            if item is None or found is None or found.id != queue.id:
                return NothingToWrite()
            is_left = found.is_claim is not queue.is_claim
            return NothingToWrite() if is_left else Write([unchanged(item)], [Delete(item.key)])

        await self._changer.change(keys.sqs_queue(queue.name), decide)
        return not is_left

    def _check_room(self, leaving: KeyValue | None) -> None:
        if len(self._metadata.queues) >= self._settings.queues_max and leaving is None:
            detail = f"There are {self._settings.queues_max} queues already, the limit."
            raise ServerError(ProblemCode.TOO_MANY_TOPICS, detail)

    async def _leaving(self) -> KeyValue | None:
        """Who gives way to one more, where somebody has to: a queue whose topic is gone, as it is stored."""
        if len(self._metadata.queues) < self._settings.queues_max:
            return None
        for queue in self._metadata.queues.all():
            if not queue.is_claim and self._metadata.topic_by_id(queue.topic_id) is None:
                item = await self._changer.read(keys.sqs_queue(queue.name))
                if item is not None and decode(SqsQueue, item.value) == queue:
                    return item
        return None
