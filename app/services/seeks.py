"""Sending a group elsewhere in a topic: to a place in the log, or to where another group is."""

from collections.abc import Awaitable

from acklog.wire.identifiers import MessageId
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.groups import ProgressView, SeekCommand, SeekItem, SeekView
from app.calls.position_copy import CopiedItem, CopyFields, CopyView
from app.calls.problem_item import problem_item
from app.calls.same_namespace import check_same_namespace
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from app.services.groups import GroupService
from app.services.node_lag import answer_of_node
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Group, Topic
from storage.rpc.inspect_messages import InspectRequest
from storage.rpc.messages import SeekRequest, SeekResponse
from storage.rpc.node_api import NodeApi


class SeekService:
    """Needs the right to seek, on the group and the topic. A dry run says what it would come to, and leaves it."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, groups: GroupService) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._groups = groups

    async def seek(self, name: str, command: SeekCommand, principal: Principal) -> SeekView:
        """Set the group's progress, or only say where it would be. Raises ServerError when it failed everywhere and
        alike: what failed here may have been done there."""
        principal.require_on_group(Action.SEEK, name)
        check_same_namespace(name, command.topic, field="topic")
        group = await self._catalog.group(name)
        if command.partition is None:
            topic = await self._catalog.topic(command.topic, principal, Action.SEEK, field="topic")
            numbers = [number for number in range(topic.partitions) if not self._leaders.is_gone(topic.id, number)]
        else:
            topic = await self._catalog.topic_with_partition(command.topic, command.partition, principal, Action.SEEK)
            numbers = [command.partition]
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)
        if command.message is not None:
            await self._look_for(command.message, topic, deadline_ms)

        async def seek_one(partition: int) -> SeekResponse:
            request = SeekRequest(topic.id, partition, group.id, command.to, command.value, command.is_dry_run)
            return await self._seek(group, request, deadline_ms)

        items: list[SeekItem] = []
        faults: list[ServerError] = []
        for partition, answer in zip(numbers, await ask_each(numbers, seek_one), strict=True):
            if isinstance(answer, ServerError):
                faults.append(answer)
                items.append(SeekItem(partition, problem=problem_item(answer)))
            else:
                items.append(SeekItem(partition, answer.offset, answer.previous))
        _raise_if_all_alike(faults, len(numbers))
        return SeekView(group.name, topic.name, command.is_dry_run, items, len(faults))

    async def copy(self, name: str, fields: CopyFields, principal: Principal) -> CopyView:
        """Let the group go on where another one is, partition by partition; where that one has not read, it stays.
        Raises ServerError when it failed everywhere and alike, as `seek` does."""
        principal.require_on_group(Action.SEEK, name)
        principal.require_progress_of(fields.from_group)
        for topic in fields.topics or []:
            principal.require_on_topic(Action.LOOK, topic)
            principal.require_on_topic(Action.SEEK, topic)
        check_same_namespace(name, fields.from_group, field="from")
        group = await self._catalog.group(name)
        if fields.from_group == name:
            raise ServerError(ProblemCode.INVALID_FIELD, "is the group itself", field="from")
        await self._catalog.group(fields.from_group, field="from")
        found = (await self._groups.offsets(fields.from_group, fields.topics or [], principal, field="topics")).offsets
        # Where none is named, all that it may see is meant as far as it may seek there.
        left_out = {each.topic for each in found if not principal.may_on_topic(Action.SEEK, each.topic)}
        found = [each for each in found if each.topic not in left_out]
        ids = {
            each.topic: (await self._catalog.topic(each.topic, principal, Action.SEEK, field="topics")).id
            for each in found
        }
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def copy_one(other: ProgressView) -> SeekResponse:
            if other.progress is None:
                raise ServerError(ProblemCode.UNAVAILABLE, f"where {fields.from_group!r} is cannot be asked now")
            offset = other.progress
            request = SeekRequest(ids[other.topic], other.partition, group.id, "offset", offset, fields.dry_run)
            return await self._seek(group, request, deadline_ms)

        items: list[CopiedItem] = []
        faults: list[ServerError] = []
        for other, answer in zip(found, await ask_each(found, copy_one), strict=True):
            item = CopiedItem(other.topic, other.partition)
            if isinstance(answer, ServerError):
                faults.append(answer)
                item.problem = problem_item(answer)
            else:
                item.offset, item.previous, item.done_above = answer.offset, answer.previous, other.done_above or 0
            items.append(item)
        _raise_if_all_alike(faults, len(found))
        view = CopyView(group.name, fields.from_group, fields.dry_run, items, len(faults))
        if left_out:
            view.left_out = sorted(left_out)
        return view

    async def _seek(self, group: Group, request: SeekRequest, deadline_ms: int) -> SeekResponse:
        """A seek that is relative may not be made twice, and no seek brings back what was done since the first try."""

        def seek(node: NodeApi, _remaining_ms: int) -> Awaitable[SeekResponse]:
            return answer_of_node(node.seek(request), self._gateway.metadata, group_id=group.id)

        return await self._leaders.change_once(request.topic_id, request.partition, seek, deadline_ms=deadline_ms)

    async def _look_for(self, message: MessageId, topic: Topic, deadline_ms: int) -> None:
        """Raises ServerError INVALID_FIELD (it is of another topic), MESSAGE_NOT_FOUND, MESSAGE_EXPIRED."""
        if message.topic_id != topic.id:
            raise ServerError(ProblemCode.INVALID_FIELD, f"it is no message of {topic.name!r}", field="to.messageId")
        request = InspectRequest(message.topic_id, message.partition, message.offset, message.epoch)
        await self._leaders.call(
            message.topic_id,
            message.partition,
            lambda node, _remaining_ms: node.inspect(request),
            deadline_ms=deadline_ms,
        )


def _raise_if_all_alike(faults: list[ServerError], count: int) -> None:
    if faults and len(faults) == count and len({fault.code for fault in faults}) == 1:
        raise faults[0]
