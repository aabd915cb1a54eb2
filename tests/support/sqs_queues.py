"""Queues of SQS, put together by hand, and who uses them."""

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from acklog.wire.identifiers import id_from_bits
from app.auth.principal import ANYONE, Principal
from app.processes.cluster_gateway import ClusterGateway
from app.services.registry import Services
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.message_service import MessageService
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.messages.received_message import ReceivedMessage, ReceiveOptions
from app.sqs.queue import FIFO_SUFFIX, Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.sqs_queue import SqsQueue, group_name_of
from cluster.model.values import Exhausted, FairBy, Group, GroupMode, GroupSettings, Topic, TopicConfig
from tests.support.cluster import Cluster

_Result = TypeVar("_Result")


class Patient:
    """A caller who waits for whatever it is."""

    is_gone = False

    async def wait(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        return await work


class QueueUser:
    """Of the queues of a cluster, through its first gateway."""

    def __init__(self, cluster: Cluster, principal: Principal = ANYONE) -> None:
        self.cluster = cluster
        self.principal = principal
        self.gateway: ClusterGateway = cluster.gateways[0]
        self.services = Services(self.gateway.gateway)
        self.messages = MessageService(self.services, translate=translated, arn_of=arn_of)

    async def queue(
        self,
        name: str = "orders",
        *,
        partitions: int = 1,
        config: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        **attributes: str,
    ) -> Queue:
        cluster = self.cluster
        topic = await cluster.topic(name, replicas=len(cluster.nodes), partitions=partitions, **(config or {}))
        mode, group_settings = settings_of(name, **(settings or {}))
        group = await self.gateway.gateway.groups.create(group_name_of(name), mode=mode, settings=group_settings)
        views = [each.metadata for each in (*cluster.nodes.values(), *cluster.gateways)]
        await cluster.until(lambda: all(view.group_by_id(group.id) for view in views))
        return joined(topic, group, **attributes)

    async def send(self, queue: Queue, body: str, **fields: Any) -> SentMessage:
        return await self.messages.send(queue, OutgoingMessage(body=body, **fields), self.principal)

    async def send_all(self, queue: Queue, *messages: OutgoingMessage) -> list[SentMessage | SqsError]:
        return await self.messages.send_batch(queue, messages, self.principal)

    async def receive(self, queue: Queue, count_max: int = 10, **options: Any) -> Sequence[ReceivedMessage]:
        """With all that there is to know of them, unless it is said."""
        options = {"system_attribute_names": ["All"], "attribute_names": ["All"], **options}
        asked = ReceiveOptions(count_max=count_max, **options)
        return (await self.messages.receive(queue, asked, self.principal, Patient())).messages

    async def delete(self, queue: Queue, *handles: str) -> list[SqsError | None]:
        return await self.messages.delete(queue, handles, self.principal)

    async def hide(self, queue: Queue, handle: str, seconds: int) -> SqsError | None:
        [fault] = await self.messages.change_visibility(queue, [(handle, seconds)], self.principal)
        return fault


def text(value: str, data_type: str = "String") -> MessageAttribute:
    return MessageAttribute(data_type=data_type, string_value=value)


def bodies(messages: Sequence[ReceivedMessage]) -> list[str]:
    return [message.body for message in messages]


def settings_of(name: str, **settings: Any) -> tuple[GroupMode, GroupSettings]:
    """Of a queue's group that has no redrive policy, unless it is said."""
    is_fifo = name.endswith(FIFO_SUFFIX)
    common: dict[str, Any] = {
        "retry_backoff_min_ms": 0,
        "retry_backoff_max_ms": 0,
        "retry_jitter": 0.0,
        "max_attempts": 1_000,
        "on_exhausted": Exhausted.RETRY,
        "fair_by": FairBy.NONE if is_fifo else FairBy.KEY,
    }
    return GroupMode.KEY_ORDERED if is_fifo else GroupMode.SHARED, GroupSettings(**{**common, **settings})


def queue_of(name: str = "orders", *, config: TopicConfig | None = None, **attributes: str) -> Queue:
    """Of a topic and a group that there are nowhere else."""
    topic = Topic(id_from_bits(7), name, 1, 1, 0, config or TopicConfig())
    mode, settings = settings_of(name)
    return joined(topic, Group(id_from_bits(8), group_name_of(name), 0, mode, settings), **attributes)


def joined(topic: Topic, group: Group, **attributes: str) -> Queue:
    return Queue(SqsQueue(topic.name, topic.id, group.id, 0, 0, attributes), topic, group)


def translated(fault: ServerError) -> SqsError:
    """For tests of what is no failure of the server."""
    return SqsError(SqsErrorCode.INTERNAL_FAILURE, f"{fault.code.name}: {fault.detail}")


def arn_of(name: str) -> str:
    return f"arn:aws:sqs:us-east-1:000000000000:{name}"
