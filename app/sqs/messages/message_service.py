"""The messages of queues: sent, received, deleted, hidden for another time."""

from collections.abc import Sequence

from app.auth.principal import Principal
from app.calls.patience import Patience
from app.calls.send_result import Placed
from app.gateway.batching.coalescer import Waiter
from app.services.registry import Services
from app.sqs.messages.message_receiver import MessageReceiver
from app.sqs.messages.message_sender import MessageSender, Translate
from app.sqs.messages.message_settler import MessageSettler
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.messages.received_message import ReceivedMessages, ReceiveOptions
from app.sqs.messages.system_attributes import ArnOf
from app.sqs.queue import Queue
from app.sqs.sqs_error import SqsError


class MessageService:
    """Each call raises SqsError where it is itself at fault, and ServerError where Acklog's services do; what of a
    batch fails is told by what `translate` makes of that. Whose right it is, these services look at."""

    def __init__(self, services: Services, *, translate: Translate, arn_of: ArnOf) -> None:
        clock = services.gateway.clock
        self._sender = MessageSender(services.send, translate, clock)
        self._receiver = MessageReceiver(services.receive, arn_of, clock)
        self._settler = MessageSettler(services.settle, services.look, translate, clock)

    async def send(self, queue: Queue, message: OutgoingMessage, principal: Principal) -> SentMessage:
        return await self._sender.send(queue, message, principal)

    def begin_send(self, queue: Queue, message: OutgoingMessage, principal: Principal, waiter: Waiter) -> bool:
        return self._sender.begin(queue, message, principal, waiter)

    def placed(self, queue: Queue, message: OutgoingMessage, placed: Placed) -> SentMessage:
        return self._sender.placed(queue, message, placed)

    async def send_batch(
        self, queue: Queue, messages: Sequence[OutgoingMessage], principal: Principal
    ) -> list[SentMessage | SqsError]:
        return await self._sender.send_batch(queue, messages, principal)

    async def receive(
        self, queue: Queue, options: ReceiveOptions, principal: Principal, patience: Patience
    ) -> ReceivedMessages:
        return await self._receiver.receive(queue, options, principal, patience)

    async def delete(self, queue: Queue, handles: Sequence[str], principal: Principal) -> list[SqsError | None]:
        return await self._settler.delete(queue, handles, principal)

    async def change_visibility(
        self, queue: Queue, changes: Sequence[tuple[str, int]], principal: Principal
    ) -> list[SqsError | None]:
        return await self._settler.change_visibility(queue, changes, principal)
