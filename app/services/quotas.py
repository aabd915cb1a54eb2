"""Which quotas a call meets, and what it takes of them.

What is sent is charged before it is stored, and stays charged if it is not. What is delivered or read is charged
afterwards, as nobody knows before how much it will be. Acknowledgements, extensions and heartbeats are never charged:
they make room (rule R38).
"""

from acklog.wire.names import SEPARATOR, namespace_of
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.patience import Patience
from app.calls.send import Produce, Sendable, record_of
from app.gateway.dependencies import Gateway
from app.gateway.namespace_traffic import READ, RECEIVE, SEND, NamespaceTraffic
from app.services.quota_limits import limits_of_read, limits_of_receive, limits_of_send
from app.services.waiting import WaitingRequests
from cluster.errors import ServerError
from cluster.model.namespace import Namespace
from cluster.model.values import Group, Topic
from storage.quota_use.quota_book import Charge, QuotaBook
from storage.quota_use.quota_limits import Measure, charges_of, only
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, RecordsResponse


class QuotaService:
    def __init__(self, gateway: Gateway, book: QuotaBook, waiting: WaitingRequests, use: NamespaceTraffic) -> None:
        self._clock = gateway.clock
        self._metadata = gateway.metadata
        self._use = use
        self._book = book
        self._waiting = waiting

    # --- sends -------------------------------------------------------------------------------------------------------

    def is_send_counted(self, topic: Topic, principal: Principal) -> bool:
        """Whether it is to be told of a send: asked with each."""
        return topic.config.has_quotas or principal.quotas is not None or SEPARATOR in topic.name

    def try_send_one(self, message: Sendable, topic: Topic, principal: Principal) -> bool:
        """Whether there is room for it at once; then it is charged."""
        size_bytes = len(record_of(message).body)
        limits = limits_of_send(topic, self._namespace(topic.name), principal)
        if limits and not self._book.try_take(charges_of(limits, messages=1, size_bytes=size_bytes)):
            return False
        self._count(topic.name, SEND, 1, size_bytes)
        return True

    async def send(self, produce: Produce, topic: Topic, principal: Principal) -> None:
        """Charge the messages of a request that are right. Raises ServerError QUOTA_EXCEEDED, with nothing charged."""
        limits = limits_of_send(topic, self._namespace(topic.name), principal)
        sizes = [len(record_of(each).body) for each in produce.messages if not isinstance(each, ServerError)]
        if limits:
            await self._book.take(charges_of(limits, messages=len(sizes), size_bytes=sum(sizes)))
        self._count(topic.name, SEND, len(sizes), sum(sizes))

    async def send_later(self, topic: Topic, principal: Principal) -> None:
        """Charge a request that says what is to be sent at its times: that counts when it is sent, by the quotas of the
        topic and its namespace. Raises ServerError QUOTA_EXCEEDED, with nothing charged."""
        limits = only(limits_of_send(topic, self._namespace(topic.name), principal), Measure.REQUESTS)
        if limits:
            await self._book.take(charges_of(limits))
        self._use.count_request(topic.name, SEND)

    # --- receives ----------------------------------------------------------------------------------------------------

    async def admit_receive(
        self, request: ReceiveRequest, group: Group, principal: Principal, *, wait_ms: int, patience: Patience
    ) -> int:
        """Return when something may be delivered, and narrow the request to that: how much is left of `wait_ms`, as who
        waits for messages waits for a quota as well.

        Raises ServerError QUOTA_EXCEEDED.
        """
        limits = limits_of_receive(group, self._namespace(group.name), principal, request.consumer)
        if not limits:
            self._use.count_request(group.name, RECEIVE)
            return wait_ms
        left_ms = await self._admitted(
            charges_of(limits, messages=request.max_messages, size_bytes=1),
            principal,
            wait_ms=wait_ms,
            patience=patience,
        )
        self._book.spend(charges_of(only(limits, Measure.REQUESTS)))
        for limit in only(limits, Measure.MESSAGES):
            request.max_messages = min(request.max_messages, self._book.room(limit.quota, limit.claimant))
        for limit in only(limits, Measure.BYTES):
            request.max_bytes = min(request.max_bytes, limit.quota.per_second)
        self._use.count_request(group.name, RECEIVE)
        return left_ms

    async def _admitted(self, charges: list[Charge], principal: Principal, *, wait_ms: int, patience: Patience) -> int:
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while True:
            left_ms = max(0, deadline_ms - self._clock.monotonic_ms())
            try:
                await self._book.admit(charges)
            except ServerError as error:
                pause_ms = error.retry_after_ms
                if error.code is not ProblemCode.QUOTA_EXCEEDED or pause_ms is None or pause_ms > left_ms:
                    raise
                with self._waiting.one_more(principal):
                    if not await patience.wait(self._paused(pause_ms)):
                        raise
            else:
                return left_ms

    async def _paused(self, pause_ms: int) -> bool:
        await self._clock.sleep(pause_ms)
        return True

    def charge_received(
        self, messages: list[DeliveredMessage], group: Group, principal: Principal, consumer: str
    ) -> None:
        limits = limits_of_receive(group, self._namespace(group.name), principal, consumer)
        if messages and (limits or SEPARATOR in group.name):
            size_bytes = sum(len(message.record.body) for message in messages)
            self._book.spend(charges_of(only(limits, Measure.MESSAGES), messages=len(messages)))
            self._book.charge(charges_of(only(limits, Measure.BYTES), size_bytes=size_bytes))
            self._use.count_messages(group.name, RECEIVE, len(messages), size_bytes)

    # --- reads of records --------------------------------------------------------------------------------------------

    async def admit_read(self, topic: Topic, principal: Principal) -> None:
        """Raises ServerError QUOTA_EXCEEDED."""
        limits = limits_of_read(self._namespace(topic.name), principal)
        if limits:
            await self._book.admit(charges_of(limits, messages=1, size_bytes=1))
            self._book.spend(charges_of(only(limits, Measure.REQUESTS)))
        self._use.count_request(topic.name, READ)

    def charge_read(self, response: RecordsResponse, topic: Topic, principal: Principal) -> None:
        if response.batches:
            messages = response.next_offset - response.offset
            self.charge_messages(messages, len(response.batches), topic, principal)

    def charge_messages(self, messages: int, size_bytes: int, topic: Topic, principal: Principal) -> None:
        """What was read."""
        limits = limits_of_read(self._namespace(topic.name), principal)
        charged = [each for each in limits if each.measure is not Measure.REQUESTS]
        if charged:
            self._book.charge(charges_of(charged, messages=messages, size_bytes=size_bytes))
        self._use.count_messages(topic.name, READ, messages, size_bytes)

    def _namespace(self, full_name: str) -> Namespace | None:
        """With quotas or without."""
        namespace = namespace_of(full_name)
        return self._metadata.namespaces.find(namespace) if namespace else None

    def _count(self, full_name: str, call: str, messages: int, size_bytes: int) -> None:
        self._use.count_request(full_name, call)
        self._use.count_messages(full_name, call, messages, size_bytes)
