"""What the calls of SQS ask for: ports, as they know neither protocol nor log. Each raises SqsError or ServerError."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from app.auth.principal import Principal
from app.calls.patience import Patience
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.messages.received_message import ReceivedMessages, ReceiveOptions
from app.sqs.queue import Queue
from app.sqs.queues.move_tasks import MoveTask
from app.sqs.sqs_error import SqsError
from cluster.model.action import Action


class QueueCatalog(Protocol):
    async def create(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str], principal: Principal
    ) -> Queue: ...
    async def delete(self, name: str, principal: Principal) -> None: ...
    async def find(self, name: str, principal: Principal, action: Action) -> Queue: ...
    def list_page(self, prefix: str, limit: int, after: str, principal: Principal) -> tuple[list[str], str | None]:
        """Names in their order, and what `after` is to be for the next page; None: there is none. "" is the first one.
        Raises SqsError INVALID_PARAMETER_VALUE of a limit or a place that is none."""
        ...

    async def attributes(self, name: str, wanted: Sequence[str], principal: Principal) -> dict[str, str]: ...
    async def set_attributes(self, name: str, attributes: Mapping[str, str], principal: Principal) -> None: ...
    async def tags(self, name: str, principal: Principal) -> dict[str, str]: ...
    async def tag(self, name: str, tags: Mapping[str, str], principal: Principal) -> None: ...
    async def untag(self, name: str, keys: Sequence[str], principal: Principal) -> None: ...
    async def add_permission(
        self, name: str, label: str, accounts: Sequence[str], actions: Sequence[str], principal: Principal
    ) -> None: ...
    async def remove_permission(self, name: str, label: str, principal: Principal) -> None: ...
    async def dead_letter_sources(
        self, name: str, limit: int, after: str, principal: Principal
    ) -> tuple[list[str], str | None]: ...
    async def purge(self, name: str, principal: Principal) -> None: ...
    async def start_move(
        self, source_arn: str, destination_arn: str | None, rate: int | None, principal: Principal
    ) -> str: ...
    async def cancel_move(self, handle: str, principal: Principal) -> int: ...
    async def moves(self, source_arn: str, limit: int, principal: Principal) -> Sequence[MoveTask]: ...


class QueueAddresses(Protocol):
    def url_of(self, name: str, request_base_url: str) -> str: ...
    def name_of_url(self, url: str) -> str: ...
    def require_owner(self, account: str) -> None:
        """Raises SqsError QUEUE_DOES_NOT_EXIST for another account's."""
        ...


class MessageTraffic(Protocol):
    async def send(self, queue: Queue, message: OutgoingMessage, principal: Principal) -> SentMessage: ...
    async def send_batch(
        self, queue: Queue, messages: list[OutgoingMessage], principal: Principal
    ) -> Sequence[SentMessage | SqsError]: ...
    async def receive(
        self, queue: Queue, options: ReceiveOptions, principal: Principal, patience: Patience
    ) -> ReceivedMessages: ...
    async def delete(self, queue: Queue, handles: Sequence[str], principal: Principal) -> Sequence[SqsError | None]: ...
    async def change_visibility(
        self, queue: Queue, changes: Sequence[tuple[str, int]], principal: Principal
    ) -> Sequence[SqsError | None]:
        """Each change is a receipt handle and seconds."""
        ...


class SqsServices(NamedTuple):
    queues: QueueCatalog
    names: QueueAddresses
    messages: MessageTraffic


class CallContext(NamedTuple):
    """Who calls, and by which URL: `base_url` is that of the server, as the caller knows it. `trace` are headers for
    messages that name no trace themselves."""

    principal: Principal
    base_url: str
    services: SqsServices
    trace: Mapping[str, str] = MappingProxyType({})

    def named(self, queue_url: str | None) -> str:
        """The queue's name. Where the URL is missing, the front door has refused the request already."""
        assert queue_url is not None, "told by the request or by its path"
        return self.services.names.name_of_url(queue_url)

    def url_of(self, name: str) -> str:
        return self.services.names.url_of(name, self.base_url)
