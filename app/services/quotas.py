"""Which quotas a call meets, and what it takes of them.

What is sent is charged before it is stored, and stays charged if it is not. What is delivered or read is charged
afterwards, as nobody knows before how much it will be. Acknowledgements, extensions and heartbeats are never charged:
they make room (rule R38).
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.patience import Patience
from app.calls.send import Produce, Sendable, record_of
from app.gateway.dependencies import Gateway
from app.gateway.quotas.quota_book import Charge, QuotaBook
from app.services.waiting import WaitingRequests
from cluster.errors import ServerError
from cluster.model.quotas import Quota, quota_of
from cluster.model.values import Group, Topic
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, RecordsResponse


class _Measure(Enum):
    REQUESTS = "requests"
    MESSAGES = "messages"
    BYTES = "bytes"


class _Limit(NamedTuple):
    """A quota that a call meets, and who claims it there."""

    quota: Quota
    claimant: str
    measure: _Measure


def is_send_limited(topic: Topic, principal: Principal) -> bool:
    """Asked with every send."""
    return topic.config.has_quotas or principal.quotas is not None


class QuotaService:
    def __init__(self, gateway: Gateway, book: QuotaBook, waiting: WaitingRequests) -> None:
        self._clock = gateway.clock
        self._book = book
        self._waiting = waiting

    # --- sends -------------------------------------------------------------------------------------------------------

    def try_send_one(self, message: Sendable, topic: Topic, principal: Principal) -> bool:
        """Whether there is room for it at once; then it is charged."""
        size_bytes = len(record_of(message).body)
        return self._book.try_take(_charges(_of_send(topic, principal), messages=1, size_bytes=size_bytes))

    async def send(self, produce: Produce, topic: Topic, principal: Principal) -> None:
        """Charge the messages of a request that are right. Raises ServerError QUOTA_EXCEEDED, with nothing charged."""
        limits = _of_send(topic, principal)
        if limits:
            sizes = [len(record_of(each).body) for each in produce.messages if not isinstance(each, ServerError)]
            await self._book.take(_charges(limits, messages=len(sizes), size_bytes=sum(sizes)))

    # --- receives ----------------------------------------------------------------------------------------------------

    async def admit_receive(
        self, request: ReceiveRequest, group: Group, principal: Principal, *, wait_ms: int, patience: Patience
    ) -> int:
        """Return when something may be delivered, and narrow the request to that: how much is left of `wait_ms`, as who
        waits for messages waits for a quota as well.

        Raises ServerError QUOTA_EXCEEDED.
        """
        limits = _of_receive(group, principal, request.consumer)
        if not limits:
            return wait_ms
        left_ms = await self._admitted(
            _charges(limits, messages=request.max_messages, size_bytes=1),
            principal,
            wait_ms=wait_ms,
            patience=patience,
        )
        self._book.spend(_charges(_only(limits, _Measure.REQUESTS)))
        for limit in _only(limits, _Measure.MESSAGES):
            request.max_messages = min(request.max_messages, self._book.room(limit.quota, limit.claimant))
        for limit in _only(limits, _Measure.BYTES):
            request.max_bytes = min(request.max_bytes, limit.quota.per_second)
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
        limits = _of_receive(group, principal, consumer)
        if limits and messages:
            self._book.spend(_charges(_only(limits, _Measure.MESSAGES), messages=len(messages)))
            size_bytes = sum(len(message.record.body) for message in messages)
            self._book.charge(_charges(_only(limits, _Measure.BYTES), size_bytes=size_bytes))

    # --- reads of records --------------------------------------------------------------------------------------------

    async def admit_read(self, principal: Principal) -> None:
        """Raises ServerError QUOTA_EXCEEDED."""
        limits = _of_token(principal)
        if limits:
            await self._book.admit(_charges(limits, messages=1, size_bytes=1))
            self._book.spend(_charges(_only(limits, _Measure.REQUESTS)))

    def charge_read(self, response: RecordsResponse, principal: Principal) -> None:
        if response.batches:
            messages = response.next_offset - response.offset
            self.charge_messages(messages, len(response.batches), principal)

    def charge_messages(self, messages: int, size_bytes: int, principal: Principal) -> None:
        """What was read."""
        limits = [each for each in _of_token(principal) if each.measure is not _Measure.REQUESTS]
        if limits:
            self._book.charge(_charges(limits, messages=messages, size_bytes=size_bytes))


def _of_send(topic: Topic, principal: Principal) -> list[_Limit]:
    config, claimant = topic.config, principal.name
    found = [
        (config.send_messages_per_second, "sendMessagesPerSecond", _Measure.MESSAGES),
        (config.send_bytes_per_second, "sendBytesPerSecond", _Measure.BYTES),
        (config.send_requests_per_second, "sendRequestsPerSecond", _Measure.REQUESTS),
    ]
    limits = [
        _Limit(quota_of("topic", topic.id, topic.name, setting, per_second), claimant, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]
    return limits + _of_token(principal)


def _of_receive(group: Group, principal: Principal, consumer: str) -> list[_Limit]:
    """Of a group's quota each consumer has its share; those without a name have their token's."""
    settings, claimant = group.settings, consumer or principal.name
    found = [
        (settings.receive_messages_per_second, "receiveMessagesPerSecond", _Measure.MESSAGES),
        (settings.receive_bytes_per_second, "receiveBytesPerSecond", _Measure.BYTES),
        (settings.receive_requests_per_second, "receiveRequestsPerSecond", _Measure.REQUESTS),
    ]
    limits = [
        _Limit(quota_of("group", group.id, group.name, setting, per_second), claimant, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]
    return limits + _of_token(principal)


def _of_token(principal: Principal) -> list[_Limit]:
    quotas, name = principal.quotas, principal.name
    if quotas is None:
        return []
    found = [
        (quotas.requests_per_second, "requestsPerSecond", _Measure.REQUESTS),
        (quotas.messages_per_second, "messagesPerSecond", _Measure.MESSAGES),
        (quotas.bytes_per_second, "bytesPerSecond", _Measure.BYTES),
    ]
    return [
        _Limit(quota_of("token", name, name, setting, per_second), name, measure)
        for per_second, setting, measure in found
        if per_second is not None
    ]


def _only(limits: Sequence[_Limit], measure: _Measure) -> list[_Limit]:
    return [limit for limit in limits if limit.measure is measure]


def _charges(limits: Sequence[_Limit], *, messages: int = 0, size_bytes: int = 0) -> list[Charge]:
    """What one request takes that has so many messages, of so many bytes together."""
    units = {_Measure.REQUESTS: 1, _Measure.MESSAGES: messages, _Measure.BYTES: size_bytes}
    return [Charge(limit.quota, limit.claimant, units[limit.measure]) for limit in limits]
