"""What can be done with queues of SQS, apart from their messages."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from app.auth.principal import Principal
from app.services.confirmations import Confirmations
from app.services.registry import Services
from app.sqs.queue import FIFO_SUFFIX, Queue
from app.sqs.queues import queue_plan
from app.sqs.queues.access_policy import with_permission, without_permission
from app.sqs.queues.attribute_rules import (
    first_difference,
    invalid_policy,
    kept_attributes,
    read_attributes,
    read_changes,
)
from app.sqs.queues.attribute_table import COUNTS
from app.sqs.queues.dead_letter_queues import DeadLetterQueues
from app.sqs.queues.move_tasks import MoveTask, MoveTasks, check_listed, check_rate, no_task, task_handle_of
from app.sqs.queues.page_tokens import check_page_limit, page_of
from app.sqs.queues.queue_counts import QueueCounts
from app.sqs.queues.queue_maker import QueueMaker, check_scope
from app.sqs.queues.queue_names import QueueNames, check_new_name, no_queue
from app.sqs.queues.queue_purge import QueuePurge
from app.sqs.queues.queue_tags import checked_tags, with_tags, without_tags
from app.sqs.queues.shown_attributes import check_wanted, shown_attributes
from app.sqs.queues.standing_queue import standing_queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.sqs_queue import SqsQueue, group_name_of, is_queue_name

_OF_BOTH = frozenset({Action.MANAGE, Action.PURGE, Action.SETTLE})


class QueueService:
    """Calls raise SqsError, and ServerError: FORBIDDEN by the name alone, before anybody looks whether there is such a
    queue, and what Acklog's own services raise. Names are as clients give them."""

    def __init__(self, services: Services, names: QueueNames) -> None:
        gateway = services.gateway
        self._gateway = gateway
        self._metadata = gateway.metadata
        self._confirmations = Confirmations(gateway)
        self.names = names
        self._maker = QueueMaker(gateway, services.catalog, names)
        self._counts = QueueCounts(services.groups, services.scheduled)
        self._purge = QueuePurge(gateway, services.scheduled, services.seeks)
        self._moves = MoveTasks(services.redrives, names)
        self._dead_letters = DeadLetterQueues(gateway.metadata, names)

    # --- queues ------------------------------------------------------------------------------------------------------

    async def create(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str], principal: Principal
    ) -> Queue:
        """The queue, durable; the one that there is, where it has these attributes. Raises SqsError QUEUE_NAME_EXISTS,
        and what `set_attributes` does."""
        _require(principal, Action.MANAGE, name)
        check_new_name(name, is_fifo=attributes.get("FifoQueue", "").lower() == "true")
        given = read_attributes(attributes, is_fifo=name.endswith(FIFO_SUFFIX))
        kept_attributes({}, given)
        checked_tags(tags, name)
        await self._check_redrive(name, given, principal)
        queue, is_new = await self._maker.make(name, given, tags)
        if not is_new:
            different = first_difference(given, shown_attributes(queue, self.names))
            if different is not None:
                detail = f"A queue already exists with the same name and a different value for attribute {different}"
                raise SqsError(SqsErrorCode.QUEUE_NAME_EXISTS, detail)
        return queue

    async def delete(self, name: str, principal: Principal) -> None:
        """With its messages, for all groups of its topic."""
        _require(principal, Action.MANAGE, name)
        if not is_queue_name(name):
            raise no_queue()
        await self._maker.take_away(name)

    async def find(self, name: str, principal: Principal, action: Action) -> Queue:
        """In memory, as a rule. Raises SqsError QUEUE_DOES_NOT_EXIST."""
        _require(principal, action, name)
        return await self._found(name)

    def standing(self, name: str) -> Queue | None:
        """What this gateway knows of; whoever finds nothing asks `find`. Nobody's right is looked at."""
        return standing_queue(self._metadata.queues.find(name), self._metadata)

    def list_page(self, prefix: str, limit: int, after: str, principal: Principal) -> tuple[list[str], str | None]:
        """Those that the principal may look at; and what is to be `after` for the next page, if there is more. "" is
        before the first one. Raises SqsError INVALID_PARAMETER_VALUE."""
        check_page_limit(limit)
        principal.require_somewhere(Action.LOOK)
        return page_of(
            (
                stored.name
                for stored in self._metadata.queues.all()
                if stored.name.startswith(prefix)
                and principal.may_on_topic(Action.LOOK, stored.name)
                and standing_queue(stored, self._metadata) is not None
            ),
            limit,
            after,
        )

    # --- attributes --------------------------------------------------------------------------------------------------

    async def attributes(self, name: str, wanted: Sequence[str], principal: Principal) -> dict[str, str]:
        """Those of the wanted ones that the queue has. Raises SqsError INVALID_ATTRIBUTE_NAME."""
        queue = await self.find(name, principal, Action.LOOK)
        chosen = check_wanted(wanted)
        shown = shown_attributes(queue, self.names)
        if chosen & COUNTS:
            shown |= await self._counts.of(queue, chosen, principal)
        return {each: shown[each] for each in shown if each in chosen}

    async def set_attributes(self, name: str, attributes: Mapping[str, str], principal: Principal) -> None:
        """Raises SqsError INVALID_ATTRIBUTE_NAME, INVALID_ATTRIBUTE_VALUE, INVALID_PARAMETER_VALUE."""
        queue = await self.find(name, principal, Action.MANAGE)
        given = read_changes(attributes, is_fifo=queue.is_fifo)
        kept_attributes(queue.stored.attributes, given)
        if "DeduplicationScope" in given:
            check_scope(queue.topic, given["DeduplicationScope"], is_fifo=queue.is_fifo)
        await self._check_redrive(name, given, principal)
        await self._change_topic_and_group(queue, given)
        now_ms = self._gateway.clock.now_ms()

        def revised(stored: SqsQueue) -> SqsQueue:
            return replace(stored, attributes=kept_attributes(stored.attributes, given), modified_at_ms=now_ms)

        await self._update(queue, revised)

    async def _change_topic_and_group(self, queue: Queue, given: Mapping[str, str]) -> None:
        """Raises ServerError TOPIC_NOT_FOUND, GROUP_NOT_FOUND: the queue is gone, also where it was made anew."""
        if queue_plan.changed_topic_config(queue.topic.config, given) != queue.topic.config:
            await self._gateway.topics.update(
                queue.name,
                topic_id=queue.topic.id,
                config=lambda config: queue_plan.changed_topic_config(config, given),
            )
        target = self._maker.dead_letter_topic(given)
        sources = (queue.name,) if target is not None else None
        if given.keys() & {"VisibilityTimeout", "RedrivePolicy"}:
            await self._gateway.groups.update(
                queue.group.name,
                group_id=queue.group.id,
                settings=lambda settings: queue_plan.changed_group_settings(settings, given, dead_letter_topic=target),
                dead_letter_sources=sources if "RedrivePolicy" in given else UNSET,
            )

    async def _check_redrive(self, name: str, given: Mapping[str, str], principal: Principal) -> None:
        """Letters are messages: who says where they go could read them there."""
        text = given.get("RedrivePolicy")
        if not text:
            return
        principal.require_on_topic(Action.RECEIVE, name)
        target_name = self._maker.dead_letter_topic(given)
        if target_name is None:
            raise invalid_policy("RedrivePolicy", text, "Dead letter target does not exist.")
        principal.require_on_topic(Action.MANAGE, target_name)
        try:
            target = await self._found(target_name)
        except SqsError:
            raise invalid_policy("RedrivePolicy", text, "Dead letter target does not exist.") from None
        self._dead_letters.check_target(name, target, text)

    # --- tags, and the policy ----------------------------------------------------------------------------------------

    async def tags(self, name: str, principal: Principal) -> dict[str, str]:
        return dict((await self.find(name, principal, Action.LOOK)).stored.tags)

    async def tag(self, name: str, tags: Mapping[str, str], principal: Principal) -> None:
        queue = await self.find(name, principal, Action.MANAGE)
        await self._update(queue, lambda stored: replace(stored, tags=with_tags(stored.tags, tags, name)))

    async def untag(self, name: str, keys: Sequence[str], principal: Principal) -> None:
        queue = await self.find(name, principal, Action.MANAGE)
        await self._update(queue, lambda stored: replace(stored, tags=without_tags(stored.tags, keys)))

    async def add_permission(
        self, name: str, label: str, accounts: Sequence[str], actions: Sequence[str], principal: Principal
    ) -> None:
        queue = await self.find(name, principal, Action.MANAGE)
        arn = self.names.arn_of(name)
        await self._update_policy(queue, lambda policy: with_permission(policy, label, accounts, actions, arn=arn))

    async def remove_permission(self, name: str, label: str, principal: Principal) -> None:
        queue = await self.find(name, principal, Action.MANAGE)
        await self._update_policy(queue, lambda policy: without_permission(policy, label))

    async def _update_policy(self, queue: Queue, change: Callable[[str], str]) -> None:
        now_ms = self._gateway.clock.now_ms()
        written: str | None = None

        def revised(stored: SqsQueue) -> SqsQueue:
            nonlocal written
            policy = stored.attributes.get("Policy", "")
            if policy == written:
                return stored  # by this call, which did not hear of it
            written = change(policy)
            left = {key: text for key, text in stored.attributes.items() if key != "Policy"}
            attributes = {**left, "Policy": written} if written else left
            return replace(stored, attributes=attributes, modified_at_ms=now_ms)

        await self._update(queue, revised)

    # --- dead letters, and emptying ----------------------------------------------------------------------------------

    async def dead_letter_sources(
        self, name: str, limit: int, after: str, principal: Principal
    ) -> tuple[list[str], str | None]:
        """As `list_page`: queues whose messages go there that were received too often."""
        check_page_limit(limit)
        await self.find(name, principal, Action.LOOK)
        sources = self._dead_letters.sources_of(name)
        return page_of((each for each in sources if principal.may_on_topic(Action.LOOK, each)), limit, after)

    async def purge(self, name: str, principal: Principal) -> None:
        """Raises SqsError PURGE_QUEUE_IN_PROGRESS."""
        await self._purge.purge(await self.find(name, principal, Action.PURGE))

    async def start_move(
        self, source_arn: str, destination_arn: str | None, rate: int | None, principal: Principal
    ) -> str:
        """The handle of the task. Raises SqsError INVALID_PARAMETER_VALUE, RESOURCE_NOT_FOUND, UNSUPPORTED_OPERATION,
        OVER_LIMIT."""
        check_rate(rate)
        source = await self._by_arn(source_arn, "SourceArn", principal, Action.RECEIVE)
        if not self._dead_letters.sources_of(source.name):
            detail = "Source queue must be configured as a Dead Letter Queue."
            raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
        destination = None
        if destination_arn is not None:
            destination = await self._by_arn(destination_arn, "DestinationArn", principal, Action.SEND)
            self._dead_letters.check_destination(source, destination)
        return await self._moves.start(source, destination, rate, principal)

    async def cancel_move(self, handle: str, principal: Principal) -> int:
        """How many messages were moved. Raises SqsError INVALID_PARAMETER_VALUE, RESOURCE_NOT_FOUND,
        UNSUPPORTED_OPERATION."""
        task = task_handle_of(handle)
        principal.require_on_topic(Action.SEND, task.queue_name)
        try:
            source = await self._found(task.queue_name)
        except SqsError:
            raise no_task() from None
        return await self._moves.cancel(source, task, principal)

    async def moves(self, source_arn: str, limit: int, principal: Principal) -> list[MoveTask]:
        """The newest first. Raises SqsError INVALID_PARAMETER_VALUE, RESOURCE_NOT_FOUND."""
        check_listed(limit)
        source = await self._by_arn(source_arn, "SourceArn", principal, Action.LOOK)
        return await self._moves.list(source, limit, principal)

    # --- looking up --------------------------------------------------------------------------------------------------

    async def _found(self, name: str) -> Queue:
        """Another gateway may have made it a moment ago. Raises SqsError QUEUE_DOES_NOT_EXIST."""
        if not is_queue_name(name):
            raise no_queue()
        queue = standing_queue(self._metadata.queues.find(name), self._metadata)
        if queue is None:
            await self._confirmations.confirm(keys.sqs_queue(name), f"what there is of the queue {name!r}")
            queue = standing_queue(self._metadata.queues.find(name), self._metadata)
        if queue is None:
            raise no_queue()
        return queue

    async def _by_arn(self, arn: str, parameter: str, principal: Principal, action: Action) -> Queue:
        if not self.names.is_arn(arn):
            detail = (
                f"You must use this format to specify the {parameter}: "
                "arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
            )
            raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
        name = self.names.name_of_arn(arn)
        try:
            if name is None:
                raise no_queue()
            return await self.find(name, principal, action)
        except SqsError:
            detail = f"The resource that you specified for the {parameter} parameter doesn't exist."
            raise SqsError(SqsErrorCode.RESOURCE_NOT_FOUND, detail) from None

    async def _update(self, queue: Queue, revise: Callable[[SqsQueue], SqsQueue]) -> None:
        """Raises SqsError QUEUE_DOES_NOT_EXIST, where it was deleted meanwhile."""
        if await self._gateway.queues.update(queue.stored, revise) is None:
            raise no_queue()


def _require(principal: Principal, action: Action, name: str) -> None:
    """Who is denied it on the queue's group has it not by the topic, where it is done to the group as well."""
    principal.require_on_topic(action, name)
    if action in _OF_BOTH and is_queue_name(name):
        principal.require_on_group(action, group_name_of(name))
