"""Services behind the calls of SQS that remember what they were asked, and answer what a test wants."""

from collections.abc import Sequence
from typing import Any

from app.auth.callers import Callers
from app.auth.client_certificate import ClientCertificate
from app.auth.principal import Principal
from app.calls.patience import Patience
from app.calls.send_result import Placed
from app.gateway.batching.coalescer import Waiter
from app.http.exchange.http_services import HttpServices
from app.sqs.calls.sqs_services import SqsServices
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.messages.received_message import ReceivedMessage, ReceivedMessages, ReceiveOptions
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.front_door import SqsFrontDoor
from app.sqs.protocol.short_queue_calls import ROOT, ShortQueueCalls
from app.sqs.protocol.single_queue_sends import QueueSends, SingleQueueSends
from app.sqs.protocol.sqs_callers_port import CallerClaim
from app.sqs.queue import Queue
from app.sqs.queues.move_tasks import MoveTask, MoveTaskStatus
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.sqs_queue import SqsQueue, group_name_of
from cluster.model.values import Group, GroupMode, GroupSettings, Topic, TopicConfig

ACCOUNT = "000000000000"
PAIRS = dict[str, str]


def queue_named(name: str) -> Queue:
    topic = Topic("t1", name, 1, 1, 0, TopicConfig())
    group = Group("g1", group_name_of(name), 0, GroupMode.SHARED, GroupSettings())
    return Queue(SqsQueue(name, topic.id, group.id, 0, 0), topic, group)


class Asked:
    """`fault` is what each call fails with."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fault: Exception | None = None

    def note(self, *call: object) -> None:
        self.calls.append(call)
        if self.fault is not None:
            raise self.fault


class FakeQueues:
    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.names = ["a", "b"]
        self.next_place: str | None = "b"

    async def create(self, name: str, attributes: Any, tags: Any, principal: Principal) -> Queue:
        self._asked.note("create", name, dict(attributes), dict(tags))
        principal.require_on_topic(Action.MANAGE, name)
        return queue_named(name)

    async def delete(self, name: str, principal: Principal) -> None:
        self._asked.note("delete", name)
        principal.require_on_topic(Action.MANAGE, name)

    async def find(self, name: str, principal: Principal, action: Action) -> Queue:
        self._asked.note("find", name, action)
        principal.require_on_topic(action, name)
        if name == "none":
            raise SqsError(SqsErrorCode.QUEUE_DOES_NOT_EXIST, "The specified queue does not exist.")
        return queue_named(name)

    def standing(self, name: str) -> Queue | None:
        """None: each send waits for its queue to be found."""
        return None

    def list_page(self, prefix: str, limit: int, after: str, principal: Principal) -> tuple[list[str], str | None]:
        self._asked.note("list_page", prefix, limit, after)
        return self.names, self.next_place

    async def attributes(self, name: str, wanted: Sequence[str], principal: Principal) -> PAIRS:
        self._asked.note("attributes", name, list(wanted))
        return dict.fromkeys(wanted, "5")

    async def set_attributes(self, name: str, attributes: Any, principal: Principal) -> None:
        self._asked.note("set_attributes", name, dict(attributes))

    async def tags(self, name: str, principal: Principal) -> PAIRS:
        self._asked.note("tags", name)
        return {"team": "<mail>", "": ""}

    async def tag(self, name: str, tags: Any, principal: Principal) -> None:
        self._asked.note("tag", name, dict(tags))

    async def untag(self, name: str, keys: Sequence[str], principal: Principal) -> None:
        self._asked.note("untag", name, list(keys))

    async def add_permission(
        self, name: str, label: str, accounts: Sequence[str], actions: Sequence[str], principal: Principal
    ) -> None:
        self._asked.note("add_permission", name, label, list(accounts), list(actions))

    async def remove_permission(self, name: str, label: str, principal: Principal) -> None:
        self._asked.note("remove_permission", name, label)

    async def dead_letter_sources(
        self, name: str, limit: int, after: str, principal: Principal
    ) -> tuple[list[str], str | None]:
        self._asked.note("dead_letter_sources", name, limit, after)
        return self.names, self.next_place

    async def purge(self, name: str, principal: Principal) -> None:
        self._asked.note("purge", name)
        principal.require_on_topic(Action.PURGE, name)

    async def start_move(
        self, source_arn: str, destination_arn: str | None, rate: int | None, principal: Principal
    ) -> str:
        self._asked.note("start_move", source_arn, destination_arn, rate)
        return "task-1"

    async def cancel_move(self, handle: str, principal: Principal) -> int:
        self._asked.note("cancel_move", handle)
        return 7

    async def moves(self, source_arn: str, limit: int, principal: Principal) -> list[MoveTask]:
        self._asked.note("moves", source_arn, limit)
        return [MoveTask("h", MoveTaskStatus.RUNNING, source_arn, None, None, 2, 5, 99, None)]


class FakeNames:
    def url_of(self, name: str, request_base_url: str) -> str:
        return f"{request_base_url}/{ACCOUNT}/{name}"

    def name_of_url(self, url: str) -> str:
        start, _, name = url.rpartition("/")
        if not name or not start.endswith(f"/{ACCOUNT}"):
            raise SqsError(SqsErrorCode.INVALID_ADDRESS, "The address is not that of a queue.")
        return name

    def require_owner(self, account: str) -> None:
        if account != ACCOUNT:
            raise SqsError(SqsErrorCode.QUEUE_DOES_NOT_EXIST, "The specified queue does not exist.")


class FakeMessages:
    """`received` is what each receive gets; where `waits`, once its patience is at an end. `faults` are those of
    entries, by what is in them. `released` counts the answers whose leases went back."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.received: list[ReceivedMessage] = []
        self.waiting_for: Any = None
        self.faults: dict[str, SqsError] = {}
        self.released = 0

    async def send(self, queue: Queue, message: OutgoingMessage, principal: Principal) -> SentMessage:
        self._asked.note("send", queue.name, message)
        return SentMessage(message_id=f"id-of-{message.body}", body_md5="m", sequence_number="9")

    def begin_send(self, queue: Queue, message: OutgoingMessage, principal: Principal, waiter: Waiter) -> bool:
        return False

    def placed(self, queue: Queue, message: OutgoingMessage, placed: Placed) -> SentMessage:
        raise AssertionError("none is begun")

    async def send_batch(
        self, queue: Queue, messages: Sequence[OutgoingMessage], principal: Principal
    ) -> list[SentMessage | SqsError]:
        self._asked.note("send_batch", queue.name, list(messages))
        return [
            self.faults.get(each.body) or SentMessage(message_id=f"id-of-{each.body}", body_md5="m")
            for each in messages
        ]

    async def receive(
        self, queue: Queue, options: ReceiveOptions, principal: Principal, patience: Patience
    ) -> ReceivedMessages:
        self._asked.note("receive", queue.name, options)
        if self.waiting_for is not None:
            await patience.wait(self.waiting_for())

        async def release() -> None:
            self.released += 1

        return ReceivedMessages(messages=self.received, release=release)

    async def delete(self, queue: Queue, handles: Sequence[str], principal: Principal) -> list[SqsError | None]:
        self._asked.note("delete_messages", queue.name, list(handles))
        return [self.faults.get(each) for each in handles]

    async def change_visibility(
        self, queue: Queue, changes: Sequence[tuple[str, int]], principal: Principal
    ) -> list[SqsError | None]:
        self._asked.note("change_visibility", queue.name, list(changes))
        return [self.faults.get(handle) for handle, _ in changes]


def received_message(number: int = 1, **others: Any) -> ReceivedMessage:
    return ReceivedMessage(
        message_id=f"id-{number}",
        receipt_handle=f"receipt-{number}",
        body_md5="m",
        **{"body": f"body {number}", **others},
    )


ATTRIBUTES = {
    "size": MessageAttribute(data_type="Number", string_value="7"),
    "photo": MessageAttribute(data_type="Binary.png", binary_value=b"\x00\xff"),
}


class BearerClaims:
    """By a bearer token or a certificate, as the rest of the API."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def claim_of(
        self,
        method: str,
        raw_path: bytes,
        raw_query: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        *,
        certificate: ClientCertificate | None = None,
    ) -> CallerClaim:
        authorization = next((value for name, value in headers if name == b"authorization"), None)

        def judged(_body: bytes) -> Principal:
            try:
                return self._callers.of(None if authorization is None else authorization.decode("latin-1"), certificate)
            except ServerError as error:
                raise sqs_error_of(error) from None

        judged(b"")
        return judged


class FakeSqs:
    """Everything behind the front door."""

    def __init__(self) -> None:
        self.asked = Asked()
        self.queues = FakeQueues(self.asked)
        self.messages = FakeMessages(self.asked)
        self._names = FakeNames()
        self.services = SqsServices(self.queues, self._names, self.messages)

    def front_door(self, http: HttpServices) -> SqsFrontDoor:
        claims = BearerClaims(http.callers)
        single_sends = SingleQueueSends(http, QueueSends(self.queues, self._names, self.messages))
        short_way = ShortQueueCalls(http, self.services, claims, single_sends)
        return SqsFrontDoor(http, self.services, claims, {(b"POST", ROOT): short_way})
