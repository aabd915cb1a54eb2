"""Receiving from a queue."""

from collections.abc import Callable
from typing import NamedTuple

from acklog.wire.limits import RECEIVE_BYTES_MAX, VISIBILITY_SECONDS_MAX, WAIT_SECONDS_MAX
from app.auth.principal import Principal
from app.calls.patience import Patience
from app.calls.receive import IN_FLIGHT_LIMIT, LIMITS, ReceiveCommand
from app.services.receive import ReceiveService
from app.sqs.messages.attribute_headers import attributes_of
from app.sqs.messages.deduplication import check_id
from app.sqs.messages.digests import attributes_md5, body_md5
from app.sqs.messages.invalid import invalid, invalid_value, not_for_this_kind
from app.sqs.messages.message_body import body_text
from app.sqs.messages.message_ids import uuid_of_delivered
from app.sqs.messages.name_filter import attribute_filter, wanted_system_attributes
from app.sqs.messages.receipt_handle import handle_text
from app.sqs.messages.received_message import ReceivedMessage, ReceivedMessages, ReceiveOptions
from app.sqs.messages.system_attributes import ArnOf, system_attributes_of
from app.sqs.queue import Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.ports.clock import Clock
from storage.rpc.messages import DeliveredMessage

MESSAGES_MAX = 10
NAMES_MAX = 1_000
"""Of attributes that are asked for: each is looked at for each attribute."""


class MessageReceiver:
    def __init__(self, receive: ReceiveService, arn_of: ArnOf, clock: Clock) -> None:
        self._receive = receive
        self._arn_of = arn_of
        self._clock = clock

    async def receive(
        self, queue: Queue, options: ReceiveOptions, principal: Principal, patience: Patience
    ) -> ReceivedMessages:
        """Raises SqsError, ServerError."""
        view = self._view(queue, options)
        wait_seconds = queue.wait_seconds if options.wait_seconds is None else options.wait_seconds
        command = ReceiveCommand(
            queues=(queue.topic.name,),
            group=queue.group.name,
            consumer="",
            max_messages=options.count_max,
            max_bytes=RECEIVE_BYTES_MAX,
            wait_ms=wait_seconds * 1000,
            visibility_ms=view.visibility_ms,
            auto_ack=False,
            attempt_id=options.attempt_id or "",
        )
        received = await self._receive.receive(command, principal, patience)
        if received.reason == IN_FLIGHT_LIMIT and received.limit == LIMITS[IN_FLIGHT_LIMIT]:
            _check_is_patient(queue, wait_seconds)
        now_ms = self._clock.now_ms()
        if received.attempt is not None:  # so that the handles are the same again
            now_ms, view = received.attempt.received_at_ms, view._replace(visibility_ms=received.attempt.visibility_ms)
        messages = [view.of(message, self._arn_of, now_ms) for message in received.messages]
        return ReceivedMessages(messages=messages, release=lambda: self._receive.release(received))

    def _view(self, queue: Queue, options: ReceiveOptions) -> "_View":
        """Raises SqsError."""
        if len(options.attribute_names) + len(options.system_attribute_names) > NAMES_MAX:
            raise invalid(f"One or more parameters are invalid. Reason: there are more than {NAMES_MAX} names.")
        _check_range(options.count_max, "MaxNumberOfMessages", 1, MESSAGES_MAX)
        _check_range(options.wait_seconds, "WaitTimeSeconds", 0, WAIT_SECONDS_MAX)
        _check_range(options.visibility_seconds, "VisibilityTimeout", 0, VISIBILITY_SECONDS_MAX)
        if options.attempt_id is not None:
            if not queue.is_fifo:
                raise not_for_this_kind(options.attempt_id, "ReceiveRequestAttemptId")
            check_id(options.attempt_id, "ReceiveRequestAttemptId")
        seconds = options.visibility_seconds
        return _View(
            queue,
            queue.group.settings.visibility_ms if seconds is None else seconds * 1000,
            wanted_system_attributes(options.system_attribute_names),
            attribute_filter(options.attribute_names),
        )


class _View(NamedTuple):
    """What of each message is told."""

    queue: Queue
    visibility_ms: int
    system_attributes: frozenset[str]
    is_asked_for: Callable[[str], bool]

    def of(self, message: DeliveredMessage, arn_of: ArnOf, now_ms: int) -> ReceivedMessage:
        attributes = attributes_of(message.record.headers)
        if attributes:
            attributes = {name: each for name, each in attributes.items() if self.is_asked_for(name)}
        system: dict[str, str] = {}
        if self.system_attributes:
            all_known = system_attributes_of(message, self.queue, arn_of, now_ms)
            system = {name: value for name, value in all_known.items() if name in self.system_attributes}
        body = body_text(message.record)
        return ReceivedMessage(
            message_id=uuid_of_delivered(message),
            receipt_handle=handle_text(
                message.receipt,
                epoch=message.leader_epoch,
                received_at_ms=now_ms,
                visibility_ms=self.visibility_ms,
            ),
            body=body,
            body_md5=body_md5(body),
            attributes_md5=attributes_md5(attributes),
            attributes=attributes,
            system_attributes=system,
        )


def _check_range(value: int | None, parameter: str, lowest: int, highest: int) -> None:
    if value is None or lowest <= value <= highest:
        return
    if lowest:
        raise invalid_value(value, parameter, f"Must be between {lowest} and {highest}, if provided.")
    raise invalid_value(value, parameter, f"Must be >= {lowest} and <= {highest}, if provided.")


def _check_is_patient(queue: Queue, wait_seconds: int) -> None:
    """Who waits, and who keeps an order, gets nothing while too much is in flight; others are told so."""
    if not queue.is_fifo and not wait_seconds:
        detail = "Too many messages of the queue are in flight: delete some, or wait until they are visible again."
        raise SqsError(SqsErrorCode.OVER_LIMIT, detail)
