"""Backups and restores: what of a topic no other call gives, and filling one that is being restored."""

from collections.abc import Sequence

from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.copies import (
    FinishFields,
    PartitionStateView,
    RestoredPartition,
    RestoreFields,
    RestoreGroupsFields,
    RestoreProgress,
    RestoreView,
)
from app.calls.topics import TopicFields, TopicView
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders, Try
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from app.services.topics import TopicService, topic_view
from cluster.catalog.known_by_all import KnownByAll
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.needed_protocol import PROTOCOL_OF_RESTORES
from cluster.model.restored_topic import check_restored_by
from cluster.model.values import Topic
from storage.rpc.copy_messages import BATCHES, GROUPS, STATE, CopyRequest, CopyResponse
from storage.rpc.deletion_messages import DeleteRequest, DeleteResponse
from storage.rpc.node_api import NodeApi


class CopyService:
    """What is restored is replicated, acknowledged and synced as what is sent."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, topics: TopicService) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._topics = topics
        self._known_by_all = KnownByAll(gateway.metadata, timeout_ms=gateway.settings.request_timeout_ms)

    # --- backup ------------------------------------------------------------------------------------------------------

    async def state(self, name: str, partition: int, principal: Principal) -> PartitionStateView:
        """Raises ServerError TOPIC_NOT_FOUND, PARTITION_NOT_FOUND, TOPIC_RESTORING, NODES_TOO_OLD, UNAVAILABLE."""
        topic = await self._catalog.topic_with_partition(name, partition, principal, Action.RECEIVE)
        await self._known_by_all.require(PROTOCOL_OF_RESTORES, "backups")
        groups = {
            group.id: group.name
            for group in self._gateway.metadata.groups()
            if principal.may_on_group(Action.LOOK, group.name)
        }
        request = CopyRequest(topic.id, partition, STATE, group_ids={each: each for each in groups})
        found = await self._ask(request)
        return PartitionStateView(
            topic.name,
            topic.id,
            partition,
            found.log_start,
            found.high_watermark,
            found.leader_epoch,
            {group_id: groups[group_id] for group_id in found.group_ids if group_id in groups},
            found.state,
        )

    # --- restore -----------------------------------------------------------------------------------------------------

    async def begin(self, name: str, fields: RestoreFields, principal: Principal) -> tuple[RestoreView, bool]:
        """The topic that the restore fills, and whether it was made just now. Raises ServerError TOPIC_EXISTS where
        there is one that another restore fills, or none does, and as `TopicService.create` does."""
        principal.require_on_topic(Action.MANAGE, name)
        principal.require_on_topic(Action.SEND, name)
        await self._known_by_all.require(PROTOCOL_OF_RESTORES, "restores")
        existing = await self._catalog.latest_topic(name)
        is_new = existing is None
        if existing is None:
            topic_fields = fitted(fields, nodes=await self._catalog.nodes())
            await self._topics.create(name, topic_fields, principal, restore_id=fields.restore_id)
            existing = await self._catalog.latest_topic(name)
        if existing is None or existing.restore_id != fields.restore_id or existing.partitions != fields.partitions:
            detail = f"there is a topic {name!r} that this restore did not make: give it up, or choose another name"
            raise ServerError(ProblemCode.TOPIC_EXISTS, detail, field="topic")
        return await self._view(existing), is_new

    async def look(self, name: str, principal: Principal) -> RestoreView:
        """Raises ServerError TOPIC_NOT_FOUND, UNAVAILABLE."""
        return await self._view(await self._catalog.restored_topic(name, principal, Action.MANAGE))

    async def append(
        self,
        name: str,
        partition: int,
        restore_id: str,
        content: bytes,
        *,
        log: str,
        fill_to: int,
        principal: Principal,
    ) -> RestoreProgress:
        """How far the partition is then. Raises ServerError TOPIC_NOT_RESTORING, INVALID_FIELD, RESTORE_CONFLICT, and
        as a send does."""
        topic = await self._restored(name, partition, restore_id, principal, Action.SEND)
        timeout_ms = self._gateway.settings.request_timeout_ms
        request = CopyRequest(topic.id, partition, BATCHES, restore_id, content, log, fill_to, timeout_ms=timeout_ms)
        return _progress(partition, await self._change(request))

    async def restore_groups(
        self, name: str, partition: int, fields: RestoreGroupsFields, principal: Principal
    ) -> RestoreProgress:
        """Raises ServerError GROUP_NOT_FOUND, TOPIC_NOT_RESTORING, INVALID_FIELD."""
        topic = await self._restored(name, partition, fields.restore_id, principal, Action.MANAGE)
        group_ids: dict[str, str] = {}
        for id_there, group_name in fields.groups.items():
            principal.require_on_group(Action.SEEK, group_name)
            group_ids[id_there] = (await self._catalog.group(group_name, field="groups")).id
        request = CopyRequest(topic.id, partition, GROUPS, fields.restore_id, fields.state, group_ids=group_ids)
        return _progress(partition, await self._change(request))

    async def finish(self, name: str, fields: FinishFields, principal: Principal) -> TopicView:
        """The topic is whole and served. Raises ServerError TOPIC_NOT_RESTORING, and RESTORE_CONFLICT where a partition
        does not end where it should, or is left out."""
        topic = await self._restored(name, 0, fields.restore_id, principal, Action.MANAGE)
        wanted = {each.partition: each for each in fields.partitions}
        if sorted(wanted) != list(range(topic.partitions)) or len(wanted) != len(fields.partitions):
            detail = f"must name each partition of {name!r} once, 0 to {topic.partitions - 1}"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partitions")
        for each, found in zip(fields.partitions, await self._progress(topic, sorted(wanted)), strict=True):
            if found.end != wanted[found.partition].end:
                detail = f"partition {found.partition} ends at {found.end}, not at {wanted[found.partition].end}"
                raise ServerError(
                    ProblemCode.RESTORE_CONFLICT, detail, field="partitions", extra={"log_end": found.end}
                )
            if each.log_start > each.end:
                detail = f"partition {each.partition} cannot begin behind its end"
                raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partitions")
        await self._begin_at(topic, [each for each in fields.partitions if each.log_start])
        whole = await self._gateway.topics.finish_restore(name, fields.restore_id, decommissioned=fields.decommissioned)
        return topic_view(whole)

    # --- pieces ------------------------------------------------------------------------------------------------------

    async def _restored(
        self, name: str, partition: int, restore_id: str, principal: Principal, action: Action
    ) -> Topic:
        topic = await self._catalog.restored_topic(name, principal, action)
        self._catalog.check_partition(topic, partition)
        check_restored_by(topic, restore_id)
        return topic

    async def _begin_at(self, topic: Topic, partitions: Sequence[RestoredPartition]) -> None:
        """What the backup did not have is not shown, and its files are freed."""
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def delete(each: RestoredPartition) -> DeleteResponse:
            request = DeleteRequest(topic.id, each.partition, "offset", each.log_start)

            async def ask(node: NodeApi, _remaining_ms: int) -> DeleteResponse:
                return await node.delete(request)

            return await self._leaders.call(topic.id, each.partition, ask, deadline_ms=deadline_ms)

        for answer in await ask_each(partitions, delete):
            if isinstance(answer, ServerError):
                raise answer

    async def _view(self, topic: Topic) -> RestoreView:
        found = await self._progress(topic, range(topic.partitions)) if topic.is_restoring else []
        return RestoreView(topic.name, topic.id, topic.restore_id, topic.is_restoring, found)

    async def _progress(self, topic: Topic, partitions: Sequence[int]) -> list[RestoreProgress]:
        async def look(partition: int) -> RestoreProgress:
            return _progress(partition, await self._ask(CopyRequest(topic.id, partition, STATE)))

        found: list[RestoreProgress] = []
        for answer in await ask_each(partitions, look):
            if isinstance(answer, ServerError):
                raise answer
            found.append(answer)
        return found

    async def _ask(self, request: CopyRequest) -> CopyResponse:
        async def ask(node: NodeApi, _remaining_ms: int) -> CopyResponse:
            return await node.copy(request)

        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)
        return await self._leaders.call(request.topic_id, request.partition, ask, deadline_ms=deadline_ms)

    async def _change(self, request: CopyRequest) -> CopyResponse:
        async def ask(node: NodeApi, _attempt: Try) -> CopyResponse:
            return await node.copy(request)

        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)
        return await self._leaders.change(request.topic_id, request.partition, ask, deadline_ms=deadline_ms)


def _progress(partition: int, found: CopyResponse) -> RestoreProgress:
    return RestoreProgress(partition, found.high_watermark, found.schedule_end)


def fitted(fields: RestoreFields, *, nodes: int) -> TopicFields:
    """The topic as it was, with no more replicas than there are nodes: what a cluster had comes back on one machine."""
    factor = None if fields.replication_factor is None else min(fields.replication_factor, nodes)
    config = fields.config
    if factor is not None and config is not None and isinstance(config.min_insync_replicas, int):
        config = replace(config, min_insync_replicas=min(config.min_insync_replicas, factor))
    return TopicFields(fields.partitions, factor, config)
