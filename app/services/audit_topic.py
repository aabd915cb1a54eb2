"""The topic `__audit`: made when the first record comes, and written by Acklog alone."""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple

import structlog
from msgspec.structs import replace

from acklog.wire.record import Record
from app.calls.send_result import SendResult
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.appends import Appends
from app.services.catalog import Catalog
from app.services.keyed_batch import place_now, store_runs
from app.services.keyed_runs import Run, fingerprint_of, joined, keys_of
from cluster.catalog.topic_defaults import default_min_insync_replicas, default_replication_factor
from cluster.errors import ServerError
from cluster.model.internal_topics import AUDIT_TOPIC, audit_topic_config
from cluster.model.values import Encryption, Topic, TopicConfig
from cluster.ports.coordination import CoordinationError
from storage.rpc.messages import ACKS_ALL, ProduceResponse

AUDIT_PARTITION = 0
"""The only one, so that all records have one order."""

LOOK_INTERVAL_MS = 60_000
"""How often it is looked at whether the topic may have more replicas: nodes may have come since it was made."""

_logger = structlog.get_logger(__name__)


class StoredText(NamedTuple):
    """A record's JSON, and the idempotency key by which it is there once, however often it is sent."""

    key: str
    text: bytes


class _Wanted(NamedTuple):
    """What the settings say of the topic."""

    retention_ms: int
    retention_bytes: int
    encryption: Encryption


class AuditTopic:
    """`store` raises ServerError and CoordinationError: then some of the records may be stored."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, appends: Appends) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._appends = appends
        self._looked_ms: int | None = None
        self._applied: _Wanted | None = None
        self._tried: _Wanted | None = None

    async def store(self, texts: Sequence[StoredText]) -> None:
        """Durable on all replicas in sync when it returns."""
        settings = self._gateway.settings
        topic = await self._topic()
        deadline_ms = self._leaders.deadline_in(settings.request_timeout_ms)
        result = SendResult(topic, len(texts), True, ACKS_ALL, deadline_ms)

        def append(runs: list[Run]) -> Awaitable[ProduceResponse]:
            records, payload = joined(runs)
            batch = self._appends.encode(records, keys=keys_of(runs), payload=payload)
            return self._appends.append(topic.id, AUDIT_PARTITION, batch, ACKS_ALL, deadline_ms=deadline_ms)

        runs = [_run(index, each) for index, each in enumerate(texts)]
        await store_runs(append, place_now, AUDIT_PARTITION, runs, result, rounds_max=settings.send_rounds_max)
        if result.faults:
            raise result.first_fault

    async def _topic(self) -> Topic:
        topic = self._gateway.metadata.topic(AUDIT_TOPIC)
        if topic is None:
            return await self._made()
        now_ms = self._gateway.clock.monotonic_ms()
        is_due = self._looked_ms is None or now_ms - self._looked_ms >= LOOK_INTERVAL_MS
        wanted = self._wanted()
        if is_due or wanted not in (self._applied, self._tried):
            self._looked_ms, self._tried = now_ms, wanted
            await self._look_after(topic)
        return topic

    async def _made(self) -> Topic:
        factor = default_replication_factor(await self._catalog.nodes())
        wanted = self._wanted()
        config = audit_topic_config(min_insync_replicas=default_min_insync_replicas(factor), **wanted._asdict())
        topic = await self._gateway.topics.get_or_create(
            AUDIT_TOPIC, partitions=1, config=config, replication_factor=factor
        )
        if topic.config == config:
            self._applied = wanted
        return topic

    async def _look_after(self, topic: Topic) -> None:
        """Settings count from when this process was told them: two gateways that were told different things do not
        take turns. What cannot be changed now keeps no record waiting."""
        wanted = self._wanted()
        try:
            if self._applied != wanted:
                await self._apply(wanted)
            factor = default_replication_factor(await self._catalog.nodes())
            min_insync = default_min_insync_replicas(factor)
            if topic.replication_factor < factor:
                await self._gateway.topics.update(AUDIT_TOPIC, replication_factor=factor)
            elif topic.config.min_insync_replicas < min_insync and self._has_in_sync(topic, min_insync):
                await self._gateway.topics.update(
                    AUDIT_TOPIC, config=lambda config: replace(config, min_insync_replicas=min_insync)
                )
        except (ServerError, CoordinationError) as error:
            _logger.warning("audit_topic_not_changed", reason=str(error))

    async def _apply(self, wanted: _Wanted) -> None:
        def revised(config: TopicConfig) -> TopicConfig:
            return replace(config, **wanted._asdict())

        await self._gateway.topics.update(AUDIT_TOPIC, config=revised)
        self._applied = wanted

    def _has_in_sync(self, topic: Topic, replicas: int) -> bool:
        return all(len(state.isr) >= replicas for state in self._gateway.metadata.partitions(topic.id))

    def _wanted(self) -> _Wanted:
        settings = self._gateway.settings
        encryption = self._catalog.default_encryption()
        return _Wanted(settings.audit_retention_ms, settings.audit_retention_bytes, encryption)


def _run(index: int, stored: StoredText) -> Run:
    record = Record(stored.text)
    return Run([index], [record], stored.key, fingerprint_of(record))
