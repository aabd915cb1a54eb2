"""What `GET /messages` takes."""

from functools import lru_cache

from acklog.wire import limits
from acklog.wire.names import DEFAULT_GROUP, default_group_of
from acklog.wire.problems import ProblemCode
from app.calls.filters import filter_of
from app.calls.names import check_consumer
from app.calls.receive import ReceiveCommand
from app.http.parsing import query
from cluster.errors import ServerError
from cluster.model.values import GroupMode

MEMBER_EPOCH_MAX = (1 << 53) - 1
QUERIES_KEPT_MAX = 256
"""Which were parsed last: a worker asks the same again and again. Each is no longer than a URL may be."""

RECEIVE_QUERY = query.QueryTable(
    (
        query.name("queue", "the topic; may repeat", values_max=limits.RECEIVE_TOPICS_MAX),
        query.name("topic", "another word for queue", values_max=limits.RECEIVE_TOPICS_MAX),
        query.name(
            "group", f"who reads: each group gets every message (default: {DEFAULT_GROUP!r}, of the topic's namespace)"
        ),
        query.text("consumer", limits.CONSUMER_NAME_LENGTH_MAX, "a label of the worker", length_min=0),
        query.integer(
            "max",
            1,
            limits.RECEIVE_MESSAGES_MAX,
            "messages at most",
            default=limits.RECEIVE_MESSAGES_DEFAULT,
        ),
        query.integer(
            "maxBytes",
            1,
            limits.RECEIVE_BYTES_MAX,
            "bytes of messages at most; one message is returned even if it is larger",
            default=limits.RECEIVE_BYTES_DEFAULT,
        ),
        query.number("waitSeconds", 0, limits.WAIT_SECONDS_MAX, "how long to wait for the first message (default 0)"),
        query.number(
            "visibilitySeconds",
            0,
            limits.VISIBILITY_SECONDS_MAX,
            "how long the messages are leased (default: the group's setting)",
        ),
        query.switch("autoAck", "the messages are done as soon as they are returned"),
        query.choice(
            "mode",
            tuple(mode.value for mode in GroupMode),
            "how the group shares a topic: chosen when it is created, and checked from then on (default: shared)",
        ),
        query.integer(
            "memberEpoch",
            1,
            MEMBER_EPOCH_MAX,
            "in an exclusive group: the member's epoch, as it was told; who leaves it out is a member by receiving",
        ),
        query.text("tags", limits.FILTER_BYTES_MAX, "only messages with one of these tags: a,b (shared groups)"),
        query.text(
            "filter",
            limits.FILTER_BYTES_MAX,
            "only what matches, by tags, key and headers (shared groups); the rest stays for others",
        ),
    )
)


@lru_cache(maxsize=QUERIES_KEPT_MAX)
def parse_receive(query_string: bytes) -> ReceiveCommand:
    """Raises ServerError."""
    arguments = RECEIVE_QUERY.parse(query_string)
    queues = list(dict.fromkeys(arguments.texts("queue") + arguments.texts("topic")))
    if not queues:
        raise ServerError(ProblemCode.MISSING_FIELD, "queue is required", field="queue")
    if len(queues) > limits.RECEIVE_TOPICS_MAX:
        detail = f"may be given {limits.RECEIVE_TOPICS_MAX} times at most"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="queue")
    consumer = arguments.text("consumer") or ""
    check_consumer(consumer)
    visibility_seconds = arguments.number("visibilitySeconds")
    group, mode = arguments.text("group"), arguments.text("mode")
    return ReceiveCommand(
        queues=tuple(queues),
        group=default_group_of(queues[0]) if group is None else group,
        consumer=consumer,
        max_messages=arguments.integer("max") or limits.RECEIVE_MESSAGES_DEFAULT,
        max_bytes=arguments.integer("maxBytes") or limits.RECEIVE_BYTES_DEFAULT,
        wait_ms=round((arguments.number("waitSeconds") or 0) * 1000),
        visibility_ms=None if visibility_seconds is None else round(visibility_seconds * 1000),
        auto_ack=arguments.switch("autoAck"),
        mode=None if mode is None else GroupMode(mode),
        member_epoch=arguments.integer("memberEpoch"),
        filter=filter_of(arguments.text("filter"), arguments.text("tags")),
    )
