"""Sending to a queue."""

from collections.abc import Callable, Sequence

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.send import Message, Produce, dedup_id_of
from app.calls.send_result import Placed, SendResult
from app.gateway.batching.coalescer import Waiter
from app.services.send import SendService
from app.sqs.messages.digests import attributes_md5, body_md5
from app.sqs.messages.invalid import invalid
from app.sqs.messages.message_ids import sequence_number, uuid_of
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.messages.outgoing_record import sendable_of
from app.sqs.queue import Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock

BATCH_BYTES_MAX = 1024 * 1024

Translate = Callable[[ServerError], SqsError]
"""What a failure of Acklog's services is in SQS."""


class MessageSender:
    """Whatever SQS answers to a sender is made of what was sent and of where it is: nothing is kept beside the log."""

    def __init__(self, send: SendService, translate: Translate, clock: Clock) -> None:
        self._send = send
        self._translate = translate
        self._clock = clock

    async def send(self, queue: Queue, message: OutgoingMessage, principal: Principal) -> SentMessage:
        """Raises SqsError, ServerError."""
        sendable = sendable_of(queue, message, principal, self._clock.now_ms())
        result = await self._send.send(Produce(queue.topic.name, [sendable]), principal)
        if result.faults:
            raise self._fault(result.first_fault)
        return _sent(queue, message, _places_of(result)[0])

    def begin(self, queue: Queue, message: OutgoingMessage, principal: Principal, waiter: Waiter) -> bool:
        """As `send`, without a task: `waiter` is told where it was stored, or why not, and `placed` is the answer then.
        False where it is for `send` to do, with nothing begun. Raises SqsError, ServerError."""
        sendable = sendable_of(queue, message, principal, self._clock.now_ms())
        if dedup_id_of(sendable) is not None:
            return False
        # Strict: a right on trial that is missing would be counted here, and by `send`, to which it is left.
        return self._send.begin(Produce(queue.topic.name, [sendable]), principal.strict(), waiter) is not None

    def placed(self, queue: Queue, message: OutgoingMessage, placed: Placed) -> SentMessage:
        return _sent(queue, message, (placed.partition, placed.offset, False))

    async def send_batch(
        self, queue: Queue, messages: Sequence[OutgoingMessage], principal: Principal
    ) -> list[SentMessage | SqsError]:
        """In their order; one that is wrong hurts none of the others. Raises SqsError BATCH_REQUEST_TOO_LONG,
        ServerError."""
        size_bytes = sum(message.size_bytes for message in messages)
        if size_bytes > BATCH_BYTES_MAX:
            detail = f"Batch requests cannot be longer than {BATCH_BYTES_MAX} bytes. You have sent {size_bytes} bytes."
            raise SqsError(SqsErrorCode.BATCH_REQUEST_TOO_LONG, detail)
        outcomes: list[SentMessage | SqsError | None] = [None] * len(messages)
        sendable: list[Message] = []
        indexes: list[int] = []
        now_ms = self._clock.now_ms()
        for index, message in enumerate(messages):
            try:
                sendable.append(sendable_of(queue, message, principal, now_ms))
            except SqsError as fault:
                outcomes[index] = fault.with_traceback(None)
            else:
                indexes.append(index)
        if sendable:
            result = await self._send.send(Produce(queue.topic.name, sendable, is_batch=True), principal)
            places = _places_of(result)
            for number, index in enumerate(indexes):
                fault_of_it = result.faults.get(number)
                if fault_of_it is not None:
                    outcomes[index] = self._fault(fault_of_it)
                else:
                    outcomes[index] = _sent(queue, messages[index], places[number])
        return [outcome for outcome in outcomes if outcome is not None]

    def _fault(self, fault: ServerError) -> SqsError:
        if fault.code is ProblemCode.IDEMPOTENCY_KEY_REUSED:
            detail = "another message has this MessageDeduplicationId as its dedupId, and was not sent by a call of SQS"
            return invalid(f"One or more parameters are invalid. Reason: {detail}.")
        return self._translate(fault)


_Place = tuple[int, int, bool]
"""Partition, offset, and whether that is one of the schedule log."""


def _places_of(result: SendResult) -> dict[int, _Place]:
    """By the message's index in the request."""
    places: dict[int, _Place] = {}
    for indexes, first in result.runs:
        for number, index in enumerate(indexes):
            places[index] = (first.partition, first.offset + number, False)
    for indexes, kept, _ in result.scheduled:
        for number, index in enumerate(indexes):
            places[index] = (kept.partition, kept.offset + number, True)
    return places


def _sent(queue: Queue, message: OutgoingMessage, place: _Place) -> SentMessage:
    partition, offset, is_scheduled = place
    return SentMessage(
        message_id=uuid_of(queue.topic.id, partition, offset, is_scheduled=is_scheduled),
        body_md5=body_md5(message.body),
        attributes_md5=attributes_md5(message.attributes),
        system_attributes_md5=attributes_md5(message.system_attributes),
        sequence_number=sequence_number(offset) if queue.is_fifo else None,
    )
