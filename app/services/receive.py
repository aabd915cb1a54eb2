"""Receiving: leases for a consumer, from the nodes that lead the topics' partitions."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from acklog.wire.identifiers import parse_receipt
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal, Scope
from app.client_watch import ClientWatch
from app.dependencies import Gateway
from app.metrics import Metrics
from app.parsing.receive import ReceiveCommand
from app.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.settle import Delivery, SettleService
from app.services.waiting import WaitingRequests
from cluster.errors import AcklogError
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse, SettleItem

SHUTTING_DOWN = "SHUTTING_DOWN"
EMPTY = "EMPTY"
# With several nodes a request waits at one after the other: nothing that another one leased is ever left behind.
WAIT_SLICE_MS = 500


@dataclass(slots=True)
class Received:
    """`queues` maps topic ids to names. `reason` says why there are no messages."""

    queues: dict[str, str]
    messages: list[DeliveredMessage] = field(default_factory=list)
    reason: str = ""
    is_group_created: bool = False


class ReceiveService:
    def __init__(
        self,
        gateway: Gateway,
        catalog: Catalog,
        leaders: PartitionLeaders,
        settle: SettleService,
        waiting: WaitingRequests,
        metrics: Metrics,
    ) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._settle = settle
        self._waiting = waiting
        self._metrics = metrics
        self._turn = 0

    async def receive(self, command: ReceiveCommand, principal: Principal, watch: ClientWatch) -> Received:
        """Raises AcklogError. When the client is gone the result is empty, and nothing stays leased."""
        principal.require(Scope.READ)
        topics = [self._catalog.topic(name, principal) for name in command.queues]
        group, is_created = await self._catalog.group_for_receive(command.group)
        received = Received({topic.id: topic.name for topic in topics}, is_group_created=is_created)
        request = ReceiveRequest(
            [topic.id for topic in topics],
            group.id,
            command.consumer,
            command.max_messages,
            command.max_bytes,
            visibility_ms=command.visibility_ms,
            auto_ack=command.auto_ack,
        )
        response = await self._poll(request, wait_ms=0)
        if not response.messages and command.wait_ms > 0:
            with self._waiting.one_more():
                waited = await watch.wait(self._poll_until(request, command.wait_ms))
            response = waited or ReceiveResponse([], SHUTTING_DOWN)
        received.messages = response.messages
        received.reason = "" if response.messages else response.reason or EMPTY
        if watch.is_gone:
            await self.release(received)
            received.messages = []
        for topic_id, count in Counter(message.topic_id for message in received.messages).items():
            self._metrics.count_received(received.queues[topic_id], group.name, count)
        return received

    async def release(self, received: Received) -> None:
        """Give back the leases of an answer that could not be written; the attempts do not count."""
        deliveries = []
        for message in received.messages:
            receipt = parse_receipt(message.receipt)
            if receipt is not None:
                item = SettleItem(receipt.offset, receipt.generation, receipt.leader_epoch, receipt.attempt)
                deliveries.append(Delivery(receipt.topic_id, receipt.partition, receipt.group_id, item))
        if deliveries:
            self._metrics.count_released(len(deliveries))
            await self._settle.settle(deliveries, "release")

    async def _poll_until(self, request: ReceiveRequest, wait_ms: int) -> ReceiveResponse:
        deadline_ms = self._leaders.deadline_in(wait_ms)
        while True:
            remaining_ms = deadline_ms - self._gateway.clock.monotonic_ms()
            response = await self._poll(request, wait_ms=max(0, remaining_ms))
            if response.messages or remaining_ms <= 0 or response.reason == SHUTTING_DOWN:
                return response

    async def _poll(self, request: ReceiveRequest, *, wait_ms: int) -> ReceiveResponse:
        """Ask each node once, from another one on each time; the last one may wait."""
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)
        nodes = await self._leaders.wait_for_leaders(request.topic_ids, deadline_ms=deadline_ms)
        self._turn += 1
        messages: list[DeliveredMessage] = []
        reasons: list[str] = []
        failure: AcklogError | None = None
        for position in range(len(nodes)):
            node_id = nodes[(self._turn + position) % len(nodes)]
            is_last = position == len(nodes) - 1
            may_wait_ms = 0 if messages or not is_last else wait_ms if len(nodes) == 1 else min(wait_ms, WAIT_SLICE_MS)
            try:
                response = await self._ask(node_id, _narrowed(request, messages, may_wait_ms))
            except AcklogError as error:
                failure = error
                continue
            messages.extend(response.messages)
            reasons.append(response.reason)
            if len(messages) >= request.max_messages or _bytes_left(request, messages) <= 0:
                break
        if failure is not None and not messages and not reasons:
            raise failure
        return ReceiveResponse(messages, next((reason for reason in reasons if reason and reason != EMPTY), EMPTY))

    async def _ask(self, node_id: int, request: ReceiveRequest) -> ReceiveResponse:
        limit_ms = request.wait_ms + self._gateway.settings.request_timeout_ms
        try:
            async with asyncio.timeout(limit_ms / 1000):
                return await self._gateway.nodes.client(node_id).receive(request)
        except TimeoutError:
            raise AcklogError(ProblemCode.TIMED_OUT, "a node did not answer within the deadline") from None


def _narrowed(request: ReceiveRequest, messages: list[DeliveredMessage], wait_ms: int) -> ReceiveRequest:
    """The request for what `messages` leave room for."""
    return ReceiveRequest(
        request.topic_ids,
        request.group_id,
        request.consumer,
        request.max_messages - len(messages),
        _bytes_left(request, messages),
        wait_ms,
        request.visibility_ms,
        request.auto_ack,
    )


def _bytes_left(request: ReceiveRequest, messages: list[DeliveredMessage]) -> int:
    return request.max_bytes - sum(len(message.record.body) for message in messages)
