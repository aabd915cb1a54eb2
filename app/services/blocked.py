"""Messages whose attempts are used up, in groups that block: looking at them, and deciding about them."""

from collections.abc import Awaitable

from acklog.wire.identifiers import MessageId
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.blocked import (
    BlockedCommand,
    BlockedDecided,
    BlockedKey,
    BlockedListing,
    BlockedPlace,
    BlockedView,
    UnaskedPartition,
)
from app.calls.problem_item import problem_item
from app.calls.same_namespace import check_same_namespace
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from app.services.groups import PARTITIONS_ASKED_MAX
from app.services.node_lag import answer_of_node
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Topic
from storage.rpc.messages import BlockedItem, BlockedRequest, BlockedResponse
from storage.rpc.node_api import NodeApi

_OF_WHAT_IS_NAMED = frozenset({ProblemCode.NOT_BLOCKED, ProblemCode.MESSAGE_NOT_FOUND})


class BlockedService:
    """Looking needs that right, deciding the one to seek: it passes over messages, or has them come again. Keys are
    shown to whoever may receive from the topic."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders

    async def listed(self, name: str, topic_names: list[str], limit: int, principal: Principal) -> BlockedListing:
        """The first ones, by topic, partition and offset; of all topics where none is named. Raises ServerError
        GROUP_NOT_FOUND, TOPIC_NOT_FOUND, INVALID_FIELD."""
        principal.require_progress_of(name)
        for each in topic_names:
            check_same_namespace(name, each, field="topic")
        group = await self._catalog.group(name)
        topics = [await self._catalog.topic(each, principal, Action.LOOK, field="topic") for each in topic_names]
        if not topic_names:
            topics = self._catalog.topics_beside(group, principal, Action.LOOK)
        places = [(topic, number) for topic in topics for number in self._numbers(topic)]
        if len(places) > PARTITIONS_ASKED_MAX:
            detail = f"there are {len(places)} partitions, at most {PARTITIONS_ASKED_MAX} at a time: name topics"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="topic")
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def ask(place: tuple[Topic, int]) -> BlockedResponse:
            topic, number = place
            request = BlockedRequest(topic.id, number, group.id, "list", 0, limit=limit)
            return await self._leaders.call(
                topic.id,
                number,
                lambda node, _remaining_ms: answer_of_node(
                    node.blocked(request), self._gateway.metadata, group_id=group.id
                ),
                deadline_ms=deadline_ms,
            )

        listing = BlockedListing(group.name, [], 0, [])
        for (topic, number), answer in zip(places, await ask_each(places, ask), strict=True):
            if isinstance(answer, ServerError):
                listing.unknown.append(UnaskedPartition(topic.name, number, problem_item(answer)))
                continue
            listing.count += answer.count
            room = limit - len(listing.keys)
            listing.keys += [_view(topic, number, item, principal) for item in answer.messages[:room]]
        return listing

    async def release(self, name: str, command: BlockedCommand, principal: Principal) -> BlockedDecided:
        """They wait at once, and their attempts begin anew. Raises ServerError GROUP_NOT_FOUND, TOPIC_NOT_FOUND,
        PARTITION_NOT_FOUND, MESSAGE_NOT_FOUND, NOT_BLOCKED, CONFLICT."""
        return await self._decide(name, "release", command, principal)

    async def skip(self, name: str, command: BlockedCommand, principal: Principal) -> BlockedDecided:
        """They are done. Raises ServerError as `release` does."""
        return await self._decide(name, "skip", command, principal)

    async def _decide(self, name: str, action: str, command: BlockedCommand, principal: Principal) -> BlockedDecided:
        principal.require_on_group(Action.SEEK, name)
        if isinstance(command, BlockedPlace | BlockedKey):
            check_same_namespace(name, command.topic, field="topic")
        group = await self._catalog.group(name)
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)
        topic, requests = await self._requests(group.id, action, command, principal)
        check_same_namespace(name, topic.name, field="messageId")

        async def decide(request: BlockedRequest) -> BlockedResponse:
            def call(node: NodeApi, _remaining_ms: int) -> Awaitable[BlockedResponse]:
                return answer_of_node(node.blocked(request), self._gateway.metadata, group_id=group.id)

            return await self._leaders.change_once(request.topic_id, request.partition, call, deadline_ms=deadline_ms)

        decided: list[BlockedView] = []
        faults: list[ServerError] = []
        for request, answer in zip(requests, await ask_each(requests, decide), strict=True):
            if isinstance(answer, ServerError):
                faults.append(answer)
            else:
                decided += [_view(topic, request.partition, item, principal) for item in answer.messages]
        if faults and not decided:
            fault = next((fault for fault in faults if fault.code is not ProblemCode.NOT_BLOCKED), faults[0])
            if fault.code in _OF_WHAT_IS_NAMED:
                fault.field = _field_of(command)
            raise fault
        return BlockedDecided(group.name, decided)

    async def _requests(
        self, group_id: str, action: str, command: BlockedCommand, principal: Principal
    ) -> tuple[Topic, list[BlockedRequest]]:
        """A request for each partition that may have what is meant."""
        if isinstance(command, BlockedPlace):
            topic = await self._catalog.topic_with_partition(command.topic, command.partition, principal, Action.SEEK)
            return topic, [BlockedRequest(topic.id, command.partition, group_id, action, command.offset)]
        if isinstance(command, BlockedKey):
            topic = await self._catalog.topic(command.topic, principal, Action.SEEK, field="topic")
            return topic, [
                BlockedRequest(topic.id, number, group_id, action, key=command.key) for number in self._numbers(topic)
            ]
        topic = await self._topic_of(command, principal)
        return topic, [BlockedRequest(topic.id, command.partition, group_id, action, command.offset, command.epoch)]

    async def _topic_of(self, message: MessageId, principal: Principal) -> Topic:
        place = message.topic_id, message.partition
        for fault in (await self._catalog.look_for([place])).values():
            raise fault
        return self._catalog.topic_at(place, principal, Action.SEEK, field="messageId")

    def _numbers(self, topic: Topic) -> list[int]:
        """Its partitions without those that are gone: nobody leads them."""
        return [number for number in range(topic.partitions) if not self._leaders.is_gone(topic.id, number)]


def _field_of(command: BlockedCommand) -> str:
    """What names the message."""
    if isinstance(command, BlockedPlace):
        return "offset"
    return "key" if isinstance(command, BlockedKey) else "messageId"


def _view(topic: Topic, partition: int, item: BlockedItem, principal: Principal) -> BlockedView:
    message = None
    if item.leader_epoch >= 0:
        message = str(MessageId(topic.id, partition, item.leader_epoch, item.offset))
    key = item.key if principal.may_on_topic(Action.RECEIVE, topic.name) else None
    return BlockedView(topic.name, partition, item.offset, message, key, item.attempts, item.since_ms)
