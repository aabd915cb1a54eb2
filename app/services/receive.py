"""Receiving: leases for a consumer, from the nodes that lead the topics' partitions."""

import asyncio

from acklog.wire.identifiers import parse_receipt
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.group_modes import check_keys_in_order, check_mode, check_takes_filters
from app.calls.patience import Patience
from app.calls.receive import IN_FLIGHT_LIMIT, LIMITS, ReceiveCommand, Received
from app.calls.same_namespace import check_same_namespace
from app.gateway.dependencies import Gateway
from app.gateway.metrics import Metrics
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.exclusive_receive import ExclusiveReceive, ExclusiveReceived
from app.services.membership import GroupMembership
from app.services.polls import EMPTY, SHUTTING_DOWN, Polls
from app.services.quotas import QuotaService
from app.services.settle import PlacedItem, SettleService
from app.services.waiting import WaitingRequests
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Group, GroupMode
from storage.rpc.membership_messages import JOIN
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse, SettleItem


class ReceiveService:
    def __init__(
        self,
        gateway: Gateway,
        catalog: Catalog,
        leaders: PartitionLeaders,
        settle: SettleService,
        waiting: WaitingRequests,
        metrics: Metrics,
        membership: GroupMembership,
        quotas: QuotaService,
    ) -> None:
        self._catalog = catalog
        self._settle = settle
        self._waiting = waiting
        self._metrics = metrics
        self._quotas = quotas
        self._polls = Polls(gateway, leaders, self._release_later)
        self._exclusive = ExclusiveReceive(gateway, membership, self._polls, waiting)
        self._releasing: dict[asyncio.Task[None], None] = {}

    async def receive(self, command: ReceiveCommand, principal: Principal, patience: Patience) -> Received:
        """Raises ServerError. When the client is gone the result is empty, and nothing stays leased but what it may ask
        for again."""
        _require_receive(command, principal)
        topics = [await self._catalog.topic(name, principal, Action.RECEIVE) for name in command.queues]
        group, is_created = await self._catalog.group_for_receive(command.group, principal, command.mode)
        check_mode(group, command.mode)
        check_keys_in_order(group, topics)
        if command.filter:
            check_takes_filters(group)
        for topic in topics:  # now: who waits for long is there all the time
            self._metrics.count_consumer_call("receive", topic.name, group.name)
        received = Received({topic.id: topic for topic in topics}, is_group_created=is_created)
        request = ReceiveRequest(
            [topic.id for topic in topics],
            group.id,
            command.consumer,
            command.max_messages,
            command.max_bytes,
            visibility_ms=command.visibility_ms,
            auto_ack=command.auto_ack,
            filter=command.filter,
            attempt_id=command.attempt_id,
        )
        if group.mode is GroupMode.EXCLUSIVE:
            response, received.member_epoch = await self._owned(request, group, command, principal, patience)
        elif command.member_epoch is not None:
            detail = f"the group is {group.mode.value!r}, and has no members"
            raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="memberEpoch")
        else:
            wait_ms = await self._quotas.admit_receive(
                request, group, principal, wait_ms=command.wait_ms, patience=patience
            )
            response = await self._shared(request, wait_ms, principal, patience)
        self._quotas.charge_received(response.messages, group, principal, command.consumer)
        received.messages, received.attempt = response.messages, response.attempt
        if not response.messages:
            received.limit = LIMITS.get(response.reason, "")
            received.reason = IN_FLIGHT_LIMIT if response.reason in LIMITS else response.reason or EMPTY
        if patience.is_gone:
            await self.release(received)
            received.messages = []
        self._count(received, group)
        return received

    def _count(self, received: Received, group: Group) -> None:
        for topic_id, topic in received.topics.items():
            is_only = len(received.topics) == 1
            messages = [each for each in received.messages if is_only or each.topic_id == topic_id]
            if messages:
                again = sum([each.attempt > 1 for each in messages])
                self._metrics.count_received(topic.name, group.name, len(messages), again=again)

    async def _owned(
        self, request: ReceiveRequest, group: Group, command: ReceiveCommand, principal: Principal, patience: Patience
    ) -> ExclusiveReceived:
        """A receive is a heartbeat, too: who is refused for a quota goes on being a member (rule R38)."""
        member_epoch = command.member_epoch or JOIN
        try:
            await self._quotas.admit_receive(request, group, principal, wait_ms=0, patience=patience)
        except ServerError as error:
            if error.code is ProblemCode.QUOTA_EXCEEDED:
                await self._exclusive.stay(group, request, member_epoch=member_epoch)
            raise
        return await self._exclusive.receive(
            group, request, principal, member_epoch=member_epoch, wait_ms=command.wait_ms, patience=patience
        )

    async def _shared(
        self, request: ReceiveRequest, wait_ms: int, principal: Principal, patience: Patience
    ) -> ReceiveResponse:
        if request.attempt_id:
            repeated = await self._polls.ask_for_repeated(request)
            if repeated.messages:
                return repeated
        response = await self._polls.ask(request)
        if response.messages or wait_ms <= 0:
            return response
        with self._waiting.one_more(principal):
            waited = await patience.wait(self._polls.wait(request, wait_ms))
        return waited or ReceiveResponse([], SHUTTING_DOWN)

    async def release(self, received: Received) -> None:
        """Give back the leases of an answer that could not be written; the attempts do not count. Where they have an
        attempt's id they stay: whoever did not get them comes again, and perhaps somebody did."""
        if received.attempt is None:
            await self._release(received.messages)

    def _release_later(self, messages: list[DeliveredMessage]) -> None:
        if messages:
            task = asyncio.get_running_loop().create_task(self._release(messages))
            self._releasing[task] = None
            task.add_done_callback(self._releasing.pop)

    async def _release(self, messages: list[DeliveredMessage]) -> None:
        deliveries = []
        for message in messages:
            receipt = parse_receipt(message.receipt)
            if receipt is not None:
                item = SettleItem(receipt.offset, receipt.generation, receipt.leader_epoch, receipt.attempt)
                deliveries.append(PlacedItem(receipt.topic_id, receipt.partition, receipt.group_id, item))
        if deliveries:
            self._metrics.count_released(len(deliveries))
            await self._settle.settle(deliveries, "release")


def _require_receive(command: ReceiveCommand, principal: Principal) -> None:
    """All that the call touches, before any of it is looked for: which of several topics there is shows nothing of the
    others. Raises ServerError FORBIDDEN, NAMESPACE_MISMATCH."""
    actions = (Action.RECEIVE, Action.SETTLE) if command.auto_ack else (Action.RECEIVE,)
    for action in actions:
        principal.require_on_group(action, command.group)
        for name in command.queues:
            principal.require_on_topic(action, name)
    for name in command.queues:
        check_same_namespace(command.group, name, field="group")
