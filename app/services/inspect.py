"""Looking at one message; nothing is leased."""

from acklog.wire.identifiers import MessageId, parse_message_id
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.inspect import FailureReasonView, GroupState, InspectedView
from app.calls.message_view import MessageView, view_of
from app.calls.receive import LIMITS
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.quotas import QuotaService
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Topic
from storage.rpc.inspect_messages import InspectRequest, MessageInGroup


class InspectService:
    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, quotas: QuotaService) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._quotas = quotas

    async def look(self, text: str, principal: Principal) -> InspectedView:
        """Raises ServerError INVALID_MESSAGE_ID, TOPIC_NOT_FOUND, PARTITION_NOT_FOUND, MESSAGE_NOT_FOUND,
        MESSAGE_EXPIRED, QUOTA_EXCEEDED."""
        principal.require_somewhere(Action.RECEIVE)
        message_id = parse_message_id(text)
        if message_id is None:
            raise ServerError(ProblemCode.INVALID_MESSAGE_ID, "is not a messageId from Acklog", field="messageId")
        place = message_id.topic_id, message_id.partition
        for fault in (await self._catalog.look_for([place])).values():
            raise fault
        topic = self._catalog.topic_at(place, principal, Action.RECEIVE, field="messageId")
        await self._quotas.admit_read(topic, principal)
        return await self._inspect(message_id, topic, principal)

    async def _inspect(self, message_id: MessageId, topic: Topic, principal: Principal) -> InspectedView:
        topic_id, partition, epoch, offset = message_id
        request = InspectRequest(topic_id, partition, offset, epoch)
        response = await self._leaders.call(
            topic_id,
            partition,
            lambda node, _remaining_ms: node.inspect(request),
            deadline_ms=self._leaders.deadline_in(self._gateway.settings.request_timeout_ms),
        )
        self._quotas.charge_messages(1, len(response.record.body), topic, principal)
        view = view_of(
            response.record,
            message_id=str(message_id),
            queue=topic.name,
            partition=partition,
            offset=offset,
            append_time_ms=response.append_time_ms,
            topic_ttl_ms=topic.config.ttl_ms,
        )
        fields = {name: getattr(view, name) for name in MessageView.__struct_fields__}
        return InspectedView(**fields, groups=self._group_states(response.groups, principal))

    def _group_states(self, groups: list[MessageInGroup], principal: Principal) -> list[GroupState]:
        """Those of deleted groups, which the node forgets a little later, are left out, and those of others."""
        named = [(self._catalog.group_name(group.group_id), group) for group in groups]
        return [
            self._group_state(name, group) for name, group in named if name is not None and principal.knows_group(name)
        ]

    def _group_state(self, name: str, group: MessageInGroup) -> GroupState:
        reasons = [FailureReasonView(*each) for each in group.reasons]
        state = GroupState(
            name,
            group.state,
            group.attempts,
            consumer=group.consumer,
            last_consumer=group.last_consumer,
            reasons=reasons,
            limit=LIMITS.get(group.limit, ""),
        )
        if group.unreadable >= 0:
            state.behind_unreadable = group.unreadable
        if group.until_ms >= 0:
            state.until = self._gateway.clock.now_ms() + group.until_ms
        return state
