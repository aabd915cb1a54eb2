"""Receives that say in the span of their request what they got."""

from typing import Any

from acklog.wire.identifiers import MessageId
from acklog.wire.tracing import ATTEMPT, DESTINATION, GROUP, MESSAGE_COUNT, MESSAGE_ID, TRACES_MAX
from app.auth.principal import Principal
from app.calls.patience import Patience
from app.calls.receive import ReceiveCommand, Received
from app.services.receive import ReceiveService
from cluster.ports.tracing import Span, Tracer
from storage.rpc.messages import DeliveredMessage
from storage.rpc.traces import traces_of


class TracedReceiveService(ReceiveService):
    def __init__(self, *arguments: Any, tracer: Tracer) -> None:
        super().__init__(*arguments)
        self._tracer = tracer

    async def receive(self, command: ReceiveCommand, principal: Principal, patience: Patience) -> Received:
        span = self._tracer.current()
        if span is None:
            return await super().receive(command, principal, patience)
        queues = ",".join(command.queues)
        span.rename(f"receive {queues}")
        span.note({DESTINATION: queues, GROUP: command.group})
        received = await super().receive(command, principal, patience)
        span.note({MESSAGE_COUNT: len(received.messages)})
        if received.reason:
            span.note({"acklog.reason": received.reason})
        span.link(traces_of([message.record for message in received.messages]))
        _tell_of_messages(received.messages, span)
        return received


def _tell_of_messages(messages: list[DeliveredMessage], span: Span) -> None:
    if len(messages) == 1:
        span.note({MESSAGE_ID: _id_of(messages[0]), ATTEMPT: messages[0].attempt})
    again = [message for message in messages if message.attempt > 1]
    for message in again[:TRACES_MAX]:
        span.event("redelivery", {MESSAGE_ID: _id_of(message), ATTEMPT: message.attempt})


def _id_of(message: DeliveredMessage) -> str:
    return str(MessageId(message.topic_id, message.partition, message.leader_epoch, message.offset))
