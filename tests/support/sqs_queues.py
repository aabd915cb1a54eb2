"""Queues of SQS, put together by hand."""

from acklog.wire.identifiers import id_from_bits
from app.sqs.queue import FIFO_SUFFIX, Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.sqs_queue import SqsQueue, group_name_of
from cluster.model.values import Exhausted, FairBy, Group, GroupMode, GroupSettings, Topic, TopicConfig


def settings_of(name: str, **settings: object) -> tuple[GroupMode, GroupSettings]:
    is_fifo = name.endswith(FIFO_SUFFIX)
    common: dict[str, object] = {
        "retry_backoff_min_ms": 0,
        "retry_backoff_max_ms": 0,
        "retry_jitter": 0.0,
        "max_attempts": 1_000,
        "on_exhausted": Exhausted.RETRY,
        "fair_by": FairBy.NONE if is_fifo else FairBy.KEY,
    }
    mode = GroupMode.KEY_ORDERED if is_fifo else GroupMode.SHARED
    return mode, GroupSettings(**{**common, **settings})  # type: ignore[arg-type]


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
