"""Sending: from checked messages to a result for each of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from acklog.wire.problems import ProblemCode
from acklog.wire.record import PlainRecord, Record
from app.auth.principal import Principal
from app.calls.send import Outgoing, Produce, Sendable, dedup_id_of, is_later
from app.calls.send_result import SendResult
from app.gateway.batching.coalescer import Coalescer, Waiter, of_one_form
from app.gateway.batching.flight import Flight, MappingOverError
from app.gateway.dependencies import Gateway
from app.gateway.keyless_partitions import KeylessPartitions
from app.gateway.metrics import Metrics
from app.gateway.routing import PartitionLeaders
from app.services.appends import Appends, seen_at_once, seen_later
from app.services.catalog import Catalog
from app.services.claimed_origins import check_claims, refuse_claims
from app.services.delayed_sends import PROTOCOL_WHAT, TTL_WHAT, settle_times
from app.services.earlier_sends import NOTHING, EarlierSends
from app.services.keyed_batch import place_later, place_now, store_runs
from app.services.keyed_runs import Run, joined, keys_of
from app.services.later_mapping import SinglesAnew, bring_back, is_to_be_placed_anew, to_place_anew, topic_after
from app.services.parts_under_way import PartsUnderWay
from app.services.producers import ProducerService
from app.services.quotas import QuotaService
from app.services.send_plan import Part, SendPlanner, can_take_some, highest_partition, note_misplaced
from cluster.catalog.known_by_all import KnownByAll
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.needed_protocol import PROTOCOL_OF_DELAYS, PROTOCOL_OF_TTL
from cluster.model.values import Topic
from storage.rpc.messages import ProduceResponse
from storage.rpc.producer_epoch import ProducerEpoch

FAULTS_PER_TURN = 2_000


class SendService:
    def __init__(
        self,
        gateway: Gateway,
        catalog: Catalog,
        leaders: PartitionLeaders,
        appends: Appends,
        producers: ProducerService,
        quotas: QuotaService,
        metrics: Metrics,
    ) -> None:
        settings = gateway.settings
        self._settings = settings
        self._clock = gateway.clock
        self._metadata = gateway.metadata
        self._known_by_all = KnownByAll(gateway.metadata, timeout_ms=settings.request_timeout_ms)
        self._catalog = catalog
        self._leaders = leaders
        self._appends = appends
        self._producers = producers
        self._quotas = quotas
        self._earlier = EarlierSends(gateway, leaders)
        self._metrics = metrics
        self._keyless = KeylessPartitions(leaders.has_leader, topics_max=settings.keyless_topics_max)
        self._planner = SendPlanner(catalog.check_partition_takes_messages, self._keyless.choose)
        self._singles_anew = SinglesAnew(catalog)
        self._coalescer = Coalescer(
            self._begin,
            messages_max=settings.coalesced_messages_max,
            bytes_max=settings.coalesced_bytes_max,
            in_flight_max=settings.coalesced_batches_in_flight_max,
            any_in_flight_max=settings.keyless_batches_in_flight_max,
            wait_ms=settings.coalescing_wait_ms,
            destination_of=appends.destination,
            choose=self._choose_for_keyless,
            place_anew=self._place_singles_anew,
            deadline=self._deadline_ms,
        )

    async def send(self, produce: Produce, principal: Principal) -> SendResult:
        """Store what can be stored. It takes what is in `produce`: the caller must not use it again. Raises ServerError
        where the request as a whole is at fault."""
        settle_times(produce, self._clock.now_ms())
        if produce.has_later:
            self._known_by_all.check(PROTOCOL_OF_DELAYS, PROTOCOL_WHAT)
        if produce.has_ttl:
            self._known_by_all.check(PROTOCOL_OF_TTL, TTL_WHAT)
        refuse_claims(produce, principal, self._metadata)
        topic, is_created = await self._topic_for(produce, principal)
        if self._quotas.is_send_counted(topic, principal):
            await self._quotas.send(produce, topic, principal)
        topic = await self._catalog.grown(topic, highest_partition(produce))
        result = SendResult(
            topic, len(produce.messages), produce.is_batch, produce.acks, self._deadline_ms(), is_created
        )
        found = await self._earlier.find(produce, result) if topic.earlier_mappings else NOTHING
        alone = None if topic.config.delay_ms else _one_without_name(produce)
        if alone is not None:
            await self._send_alone(alone, result)
        else:
            await self._send_parts(produce, found, result)
            if result.faults and is_to_be_placed_anew(result):
                await self._send_anew(produce, result)
        self._count(result)
        return result

    def begin(self, single: Produce, principal: Principal, waiter: Waiter) -> Topic | None:
        """Have one message without an idempotency key stored, durably as `acks` all asks, without a task; `waiter` is
        told where, or why not.

        The topic that it goes to; None, with nothing begun, where it does not exist or delays, for a message that is to
        be seen later, and where a quota has no room now. Raises ServerError where the request is at fault.
        """
        topic = self._catalog.existing(single.queue, principal, Action.SEND)
        if topic is None or topic.config.delay_ms:
            return None
        message = single.messages[0]
        if isinstance(message, ServerError):
            raise message
        if isinstance(message, Outgoing):
            if message.record.schedule is not None:
                return None
            if message.record.ttl_ms is not None:
                self._known_by_all.check(PROTOCOL_OF_TTL, TTL_WHAT)
            if message.record.headers:
                check_claims(message.record.headers, principal, self._metadata)
        partition = self._planner.partition_of(message, topic)
        mapping = self._planner.placed_by(message, partition, topic)
        if self._quotas.is_send_counted(topic, principal) and not self._quotas.try_send_one(message, topic, principal):
            return None
        self._coalescer.enqueue(topic.id, partition, single.acks, _stored_as(message), waiter, mapping)
        return topic

    async def _send_alone(self, message: Sendable, result: SendResult) -> None:
        """In a batch with the messages of other requests."""
        try:
            partition = self._planner.partition_of(message, result.topic)
        except ServerError as fault:
            note_misplaced(fault, 0, result)
            return
        try:
            mapping = self._planner.placed_by(message, partition, result.topic)
            placed = await self._coalescer.add(result.topic.id, partition, result.acks, _stored_as(message), mapping)
        except ServerError as fault:
            result.fail([0], fault)
        else:
            result.place([0], placed)

    async def _send_parts(self, produce: Produce, found: AbstractSet[int], result: SendResult) -> None:
        """`found` are stored already. What a change of the topic's partitions kept out is in `produce` afterwards."""
        parts = self._planner.parts(produce, result, found)
        if len(result.faults) > FAULTS_PER_TURN:
            await asyncio.sleep(0)  # telling of them takes as long again
        under_way = PartsUnderWay(result)
        flights = [self._flight(part, under_way) for part in parts if not (part.is_keyed or part.is_later)]
        producer = produce.producer
        waits: list[Awaitable[None]] = [
            self._store_runs(part, producer, result) for part in parts if part.is_keyed or part.is_later
        ]
        # Freed before the disk is waited for: the next request's records take their places, which the processor's
        # cache still has. What says more of where it goes than its record does is kept.
        is_kept = bool(waits) or produce.has_choices
        parts.clear()
        if not is_kept:
            produce.clear()
        if flights:
            waits.append(under_way.all_done)
        for flight in flights:
            self._appends.begin(flight)
        if len(waits) == 1:
            await waits[0]
        else:
            await asyncio.gather(*waits)
        if under_way.to_place_anew and not is_kept:
            bring_back(produce, under_way.to_place_anew, result.count)

    async def _send_anew(self, produce: Produce, result: SendResult) -> None:
        """By the mapping that there is now, what a change of the topic's partitions kept out: once. As for a further
        try of the client, what has a name is looked for first."""
        again = to_place_anew(produce, result)
        try:
            topic = await topic_after(result.topic.mapping, result.topic.id, self._catalog)
            anew = replace(result, topic=topic, runs=[], scheduled=[], faults={})
            found = await self._earlier.find(produce, anew, set(range(result.count)) - again)
        except ServerError:
            return  # nothing more is stored by it, and each message's fault says what is so
        await self._send_parts(produce, found, anew)
        result.replace(again, anew)

    def _flight(self, part: Part, under_way: PartsUnderWay) -> Flight:
        [run] = part.runs
        flight = under_way.add(part.partition, run.indexes, part.mapping)
        flight.batch = self._appends.encode(run.records)
        return flight

    async def _store_runs(self, part: Part, producer: ProducerEpoch | None, result: SendResult) -> None:
        topic = result.topic
        call, place = (seen_later, place_later) if part.is_later else (seen_at_once, place_now)

        def store(runs: list[Run]) -> Awaitable[ProduceResponse]:
            records, payload = joined(runs)
            batch = self._appends.encode(records, keys=keys_of(runs), payload=payload)
            return self._appends.append(
                topic.id,
                part.partition,
                batch,
                result.acks,
                deadline_ms=result.deadline_ms,
                mapping=part.mapping,
                producer=producer,
                call=call,
            )

        await store_runs(store, place, part.partition, part.runs, result, rounds_max=self._settings.send_rounds_max)

    def _begin(self, flight: Flight, records: list[Record | PlainRecord]) -> None:
        flight.batch = self._appends.encode(of_one_form(records))
        self._appends.begin(flight)

    def _place_singles_anew(self, flight: Flight, waiting: list[Waiter], error: MappingOverError) -> None:
        self._singles_anew.begin(flight, waiting, error, self._coalescer)

    def _choose_for_keyless(self, topic_id: str, size_bytes: int, is_busy: Callable[[int], bool]) -> int:
        """Where a batch of single messages without a key goes. Raises ServerError TOPIC_NOT_FOUND."""
        return self._keyless.choose(self._catalog.by_id(topic_id), size_bytes, is_busy)

    def _deadline_ms(self) -> int:
        """Until when a message that comes now has to be stored."""
        return self._leaders.deadline_in(self._settings.request_timeout_ms)

    def _count(self, result: SendResult) -> None:
        if result.count > len(result.faults):  # the topic may be one that was not made
            self._metrics.count_sent(result.topic.name, result.count - len(result.faults))
        for code, count in Counter([fault.code.name for fault in result.faults.values()]).items():
            self._metrics.count_refused(code, count)

    async def _topic_for(self, produce: Produce, principal: Principal) -> tuple[Topic, bool]:
        """The topic, and whether it was created just now: not for a request of which it can take nothing. Raises
        ServerError."""
        acks = produce.acks

        def is_wanted(topic: Topic) -> bool:
            return acks <= topic.replication_factor and can_take_some(produce, topic)

        if produce.producer is None:
            topic, is_created = await self._catalog.topic_for_send(produce.queue, principal, is_wanted=is_wanted)
        else:  # it was opened for a topic
            topic, is_created = await self._catalog.topic(produce.queue, principal, Action.SEND), False
            await self._producers.check(topic, produce.producer)
        topic = await self._catalog.with_replicas(topic, acks)
        if acks > topic.replication_factor:
            detail = f"is {acks}, the topic has {topic.replication_factor} replica(s)"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="acks")
        return topic, is_created


def _one_without_name(produce: Produce) -> Sendable | None:
    """The only message of a request, if it is right and has no idempotency key."""
    message = produce.messages[0]
    if len(produce.messages) > 1 or produce.idempotency_key is not None or isinstance(message, ServerError):
        return None
    return message if dedup_id_of(message) is None and not is_later(message) else None


def _stored_as(message: Sendable) -> Record | PlainRecord:
    return message.record if isinstance(message, Outgoing) else message
