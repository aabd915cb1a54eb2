"""Queues made and taken away, step by step. A gateway that ends between two steps leaves what the next one completes.

Made: claimed, then its topic and its group are made, or taken over, then the claim names them. Taken away: its topic,
without which it is none any more, then its group, then its entry. Each step does nothing to what it is not about.
"""

from collections.abc import Mapping

from acklog.wire.problems import ProblemCode
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from app.sqs.queue import FIFO_SUFFIX, Queue
from app.sqs.queues import queue_plan
from app.sqs.queues.attribute_rules import invalid_attribute, kept_attributes
from app.sqs.queues.queue_names import QueueNames, no_queue
from app.sqs.queues.redrive_policy import redrive_policy_of
from app.sqs.queues.standing_queue import standing_queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.catalog.topic_defaults import default_replication_factor
from cluster.errors import ServerError
from cluster.model.sqs_queue import SqsQueue, group_name_of
from cluster.model.values import Group, GroupSettings, Topic, TopicConfig

ATTEMPTS_MAX = 10
"""Rounds of looking, claiming and completing, while others make and delete the same queue."""

_MAY_BE_DONE = frozenset(
    {ProblemCode.UNAVAILABLE, ProblemCode.CONFLICT, ProblemCode.OUTCOME_UNKNOWN, ProblemCode.TIMED_OUT}
)
"""Whoever tries again may have more luck: the claim stays."""


class QueueMaker:
    """Attributes are as `read_attributes` gives them. Calls raise ServerError, too."""

    def __init__(self, gateway: Gateway, catalog: Catalog, names: QueueNames) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._names = names

    async def make(self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> tuple[Queue, bool]:
        """The queue, and whether this call began it: else it is as it was, or as somebody else began it."""
        begun: set[str] = set()
        for _ in range(ATTEMPTS_MAX):
            stored = await self._gateway.queues.find(name)
            queue = standing_queue(stored, self._gateway.metadata)
            if queue is not None:
                return queue, queue.stored.id in begun
            if stored is not None and not stored.is_claim:
                await self._take_away_group(stored)  # its topic is gone, or another one has the name
            if stored is None or not stored.is_claim:
                stored, is_own = await self._gateway.queues.claim(name, attributes, tags, instead_of=stored)
                if is_own:
                    begun.add(stored.id)
            if stored.is_claim:
                await self._complete(stored)
        raise _busy(name)

    async def take_away(self, name: str) -> None:
        """With its messages. Raises SqsError QUEUE_DOES_NOT_EXIST, also for what was only begun."""
        for _ in range(ATTEMPTS_MAX):
            stored = await self._gateway.queues.find(name)
            if stored is None:
                raise no_queue()
            if not stored.is_claim:
                await self._gateway.topics.delete(name, topic_id=stored.topic_id)
                await self._take_away_group(stored)
                await self._gateway.queues.remove(stored)
                return
            if await self._gateway.queues.remove(stored):
                raise no_queue()  # else it was completed just now
        raise _busy(name)

    async def _take_away_group(self, stored: SqsQueue) -> None:
        await self._gateway.groups.delete(group_name_of(stored.name), group_id=stored.group_id)

    async def _complete(self, claim: SqsQueue) -> None:
        try:
            topic = await self._topic(claim)
            group = await self._group(claim)
        except (ServerError, SqsError) as error:
            if isinstance(error, SqsError) or error.code not in _MAY_BE_DONE:
                await self._gateway.queues.remove(claim)  # nobody could complete it
            raise
        kept = kept_attributes({}, claim.attributes)
        await self._gateway.queues.complete(claim, topic_id=topic.id, group_id=group.id, attributes=kept)

    async def _topic(self, claim: SqsQueue) -> Topic:
        """Made, or taken over with its messages. Raises SqsError INVALID_ATTRIBUTE_VALUE, INVALID_PARAMETER_VALUE."""
        is_fifo = claim.name.endswith(FIFO_SUFFIX)
        given = claim.attributes
        existing = await self._catalog.latest_topic(claim.name)
        if existing is None:
            factor = default_replication_factor(await self._catalog.nodes())
            default = self._gateway.settings.partitions_default
            existing = await self._gateway.topics.get_or_create(
                claim.name,
                partitions=queue_plan.partitions_of(given, is_fifo=is_fifo, default=default),
                config=queue_plan.new_topic_config(self._catalog.default_config(factor), given),
                replication_factor=factor,
            )
        if existing.config.is_compacted:
            detail = f"The topic {claim.name!r} is compacted: a queue would lose messages."
            raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
        check_scope(existing, given.get("DeduplicationScope"), is_fifo=is_fifo)

        def revised(config: TopicConfig) -> TopicConfig:
            return queue_plan.changed_topic_config(config, given) if self._is_still(claim) else config

        if revised(existing.config) == existing.config:
            return existing
        return await self._gateway.topics.update(claim.name, config=revised)

    async def _group(self, claim: SqsQueue) -> Group:
        """Raises SqsError QUEUE_NAME_EXISTS where another group has its name that cannot be the queue's."""
        name, is_fifo = group_name_of(claim.name), claim.name.endswith(FIFO_SUFFIX)
        mode, target = queue_plan.mode_of(is_fifo=is_fifo), self.dead_letter_topic(claim.attributes)
        sources = None if target is None else (claim.name,)

        def revised(settings: GroupSettings) -> GroupSettings:
            if not self._is_still(claim):
                return settings
            return queue_plan.new_group_settings(settings, claim.attributes, is_fifo=is_fifo, dead_letter_topic=target)

        wanted = queue_plan.new_group_settings(
            GroupSettings(), claim.attributes, is_fifo=is_fifo, dead_letter_topic=target
        )
        await self._catalog.latest_group(name)
        group = await self._gateway.groups.get_or_create(name, mode=mode, settings=wanted, dead_letter_sources=sources)
        if group.mode is not mode:
            detail = f"There is a group {name!r} of the mode {group.mode.value}: delete it first."
            raise SqsError(SqsErrorCode.QUEUE_NAME_EXISTS, detail)
        if revised(group.settings) == group.settings:
            return group
        return await self._gateway.groups.update(name, settings=revised, dead_letter_sources=sources)

    def dead_letter_topic(self, attributes: Mapping[str, str]) -> str | None:
        """Of the redrive policy, where one is named."""
        text = attributes.get("RedrivePolicy", "")
        return self._names.name_of_arn(redrive_policy_of(text).target_arn) if text else None

    def _is_still(self, claim: SqsQueue) -> bool:
        """Who completes a claim late must not undo what was set since somebody else has."""
        return self._gateway.metadata.queues.find(claim.name) == claim


def _busy(name: str) -> ServerError:
    detail = f"Others make and delete the queue {name!r} at the same time."
    return ServerError(ProblemCode.CONFLICT, detail, retry_after_ms=1_000)


def check_scope(topic: Topic, scope: str | None, *, is_fifo: bool) -> None:
    """Raises SqsError INVALID_ATTRIBUTE_VALUE."""
    if is_fifo and scope != "messageGroup" and topic.partitions > 1:
        reason = f"the topic has {topic.partitions} partitions, and the scope queue takes one."
        raise invalid_attribute("DeduplicationScope", reason)
