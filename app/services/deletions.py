"""Deleting a topic's oldest messages, for all groups: a call and a right of its own (rule R43)."""

from collections.abc import Awaitable

from app.auth.principal import Principal
from app.calls.deletions import DeleteCommand, DeletionItem, DeletionView, UndoneView
from app.calls.problem_item import problem_item
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from cluster.catalog.known_by_all import KnownByAll
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.needed_protocol import PROTOCOL_OF_DELETIONS
from cluster.model.values import Topic
from storage.rpc.deletion_messages import DeleteRequest, DeleteResponse
from storage.rpc.node_api import NodeApi


class DeletionService:
    """Needs the right to purge, also to see what it would come to: that names groups, and what they have not done."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._known_by_all = KnownByAll(gateway.metadata, timeout_ms=gateway.settings.request_timeout_ms)

    async def delete(self, name: str, command: DeleteCommand, principal: Principal) -> DeletionView:
        """Durable on return, and safe to repeat: it goes on from where it was. Raises ServerError TOPIC_NOT_FOUND,
        PARTITION_NOT_FOUND, NODES_TOO_OLD; and when it failed everywhere and alike, OFFSET_OUT_OF_RANGE,
        UNAVAILABLE."""
        topic = await self._catalog.topic(name, principal, Action.PURGE, field="topic")
        values = await self._values(topic, command, principal)
        if not command.is_dry_run:
            await self._known_by_all.require(PROTOCOL_OF_DELETIONS, "deletion of messages")
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def delete_one(partition: int) -> DeleteResponse:
            request = DeleteRequest(topic.id, partition, command.to, values[partition], dry_run=True)
            planned = await self._ask(request, deadline_ms)
            if command.is_dry_run:
                return planned
            # From here on the place is fixed: a second try does not take what was sent since the first.
            done = await self._ask(DeleteRequest(topic.id, partition, "offset", planned.log_start), deadline_ms)
            return DeleteResponse(done.log_start, planned.previous, planned.undone)

        numbers = sorted(values)
        items: list[DeletionItem] = []
        faults: list[ServerError] = []
        for partition, answer in zip(numbers, await ask_each(numbers, delete_one), strict=True):
            if isinstance(answer, ServerError):
                faults.append(answer)
                items.append(DeletionItem(partition, problem=problem_item(answer)))
            else:
                items.append(self._item(partition, answer, principal))
        if faults and len(faults) == len(numbers) and len({fault.code for fault in faults}) == 1:
            raise faults[0]
        deleted = sum(item.deleted for item in items if isinstance(item.deleted, int))
        return DeletionView(topic.name, command.is_dry_run, deleted, items, len(faults))

    async def _values(self, topic: Topic, command: DeleteCommand, principal: Principal) -> dict[int, int]:
        """Of each partition that it is about. Raises ServerError PARTITION_NOT_FOUND."""
        if isinstance(command.values, int):
            present = [number for number in range(topic.partitions) if not self._leaders.is_gone(topic.id, number)]
            return dict.fromkeys(present, command.values)
        await self._catalog.topic_with_partition(topic.name, max(command.values), principal, Action.PURGE)
        return command.values

    async def _ask(self, request: DeleteRequest, deadline_ms: int) -> DeleteResponse:
        def ask(node: NodeApi, _remaining_ms: int) -> Awaitable[DeleteResponse]:
            return node.delete(request)

        return await self._leaders.call(request.topic_id, request.partition, ask, deadline_ms=deadline_ms)

    def _item(self, partition: int, answer: DeleteResponse, principal: Principal) -> DeletionItem:
        """With the groups that the token is for."""
        named = [(self._gateway.metadata.group_by_id(each.group_id), each.undone) for each in answer.undone]
        groups = [
            UndoneView(group.name, undone)
            for group, undone in named
            if group is not None and principal.knows_group(group.name)
        ]
        return DeletionItem(
            partition,
            answer.log_start,
            answer.previous,
            answer.log_start - answer.previous,
            sorted(groups, key=lambda each: each.group),
        )
