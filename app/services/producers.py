"""Producers with a name: who opened it last sends, and nobody else does (docs/guarantees.md)."""

import asyncio

import structlog

from acklog.wire.identifiers import id_from_bits
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.names import check_plain_name
from app.calls.producers import OpenFields, ProducerView
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.confirmations import Confirmations
from app.services.fan_out import ask_each
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.fenced_producer import fenced
from cluster.model.values import NamedProducer, Topic
from storage.rpc.messages import KnownKeysRequest
from storage.rpc.node_api import NodeApi
from storage.rpc.producer_epoch import ProducerEpoch

logger = structlog.get_logger(__name__)


class ProducerService:
    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders) -> None:
        self._gateway = gateway
        self._metadata = gateway.metadata
        self._producers = gateway.producers
        self._catalog = catalog
        self._leaders = leaders
        self._confirmations = Confirmations(gateway)
        self._noting: dict[str, asyncio.Task[None]] = {}

    async def open(self, topic_name: str, name: str, fields: OpenFields, principal: Principal) -> ProducerView:
        """Whoever had the name until now is fenced when this returns: no leader begins to append anything of an earlier
        epoch. Where that cannot be made sure of, this fails, and the name may be open all the same.

        Raises ServerError: INVALID_NAME, TOO_MANY_PRODUCERS, NODES_TOO_OLD, UNAVAILABLE, and as a send about its topic.
        """
        principal.require_somewhere(Action.SEND)
        check_plain_name(name, field="producer")
        topic, _ = await self._catalog.topic_for_send(topic_name, principal, is_wanted=lambda _: True, field="topic")
        instance = fields.instance_id or id_from_bits(self._gateway.entropy.bits64())
        producer = await self._producers.open(topic, name, instance)
        await self._have_leaders_know(topic, ProducerEpoch(producer.id, producer.epoch))
        return ProducerView(topic.name, name, producer.id, producer.epoch)

    async def check(self, topic: Topic, claim: ProducerEpoch) -> None:
        """As this gateway knows it; the leaders are strict. What is unknown is asked for at the store.

        Raises ServerError PRODUCER_FENCED, PRODUCER_UNKNOWN, UNAVAILABLE.
        """
        producer = self._find(topic, claim)
        if producer is None or producer.epoch < claim.epoch:
            question = f"whether {topic.name!r} has the producer {claim.producer_id} in epoch {claim.epoch}"
            await self._confirmations.confirm_all(keys.producers_of(topic.id), question)
            producer = self._find(topic, claim)
        if producer is None or producer.epoch < claim.epoch:
            detail = f"{topic.name!r} has no producer {claim.producer_id} in epoch {claim.epoch}: open its name first"
            raise ServerError(ProblemCode.PRODUCER_UNKNOWN, detail, field="Producer-Id")
        if producer.epoch > claim.epoch:
            raise fenced(producer, claim.epoch)
        if producer.id not in self._noting and self._producers.is_use_due(producer):
            self._noting[producer.id] = asyncio.get_running_loop().create_task(self._note_use(producer))

    def _find(self, topic: Topic, claim: ProducerEpoch) -> NamedProducer | None:
        producer = self._metadata.producers.find(claim.producer_id)
        return producer if producer is not None and producer.topic_id == topic.id else None

    async def _note_use(self, producer: NamedProducer) -> None:
        """Beside the send, which needs no store. What fails is done again with a later one."""
        try:
            await self._producers.note_use(producer)
        except ServerError as error:
            logger.info("producer_use_not_noted", producer=producer.name, reason=str(error))
        finally:
            del self._noting[producer.id]

    async def _have_leaders_know(self, topic: Topic, claim: ProducerEpoch) -> None:
        """Who begins to lead later knows the opening by itself: its leadership was written after it. That is also why a
        partition without a leader need not be asked. Raises ServerError."""
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def ask(partition: int) -> None:
            async def know(node: NodeApi, remaining_ms: int) -> None:
                await node.known_keys(KnownKeysRequest(topic.id, partition, [], 0, topic.mapping, remaining_ms, claim))

            await self._leaders.call(topic.id, partition, know, deadline_ms=deadline_ms)

        led = [state.partition for state in self._metadata.partitions(topic.id) if state.leader >= 0]
        for answer in await ask_each(led, ask):
            is_gone = isinstance(answer, ServerError) and answer.code is ProblemCode.MESSAGE_EXPIRED
            if isinstance(answer, ServerError) and not is_gone:
                raise answer
