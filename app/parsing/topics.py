"""What `PUT` and `PATCH /topics/{topic}` and the listings take."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from app.parsing import query
from app.parsing.json_text import check_utf8, decode
from app.parsing.setting_changes import applied
from cluster.model import RetentionMode, TopicConfig

LISTING_DEFAULT = 1000
LISTING_MAX = 10_000
_MS_MAX = 1 << 53  # what every JSON reader can hold exactly

_Limit = Annotated[int, Meta(ge=-1, le=_MS_MAX)]


class TopicConfigFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Settings of a topic; what is left out keeps its value, or gets the default in a new topic. What is null goes back
    to its default with `PATCH`, and is as left out with `PUT`."""

    retention: Annotated[
        RetentionMode | UnsetType | None,
        Meta(description="time: by age and size alone; untilAcked: also what every group that reads it has done"),
    ] = UNSET
    retention_ms: Annotated[
        _Limit | UnsetType | None,
        Meta(description="messages are removed this long after their append time; -1: never for their age"),
    ] = UNSET
    retention_bytes: Annotated[
        _Limit | UnsetType | None,
        Meta(description="the oldest messages of a partition beyond this size are removed; -1: any size"),
    ] = UNSET
    segment_bytes: Annotated[
        Annotated[int, Meta(ge=1024 * 1024, le=1024 * 1024 * 1024)] | UnsetType | None,
        Meta(
            description="size of a file of a partition; messages are removed by whole files. A change holds on "
            "a node from its next start on"
        ),
    ] = UNSET
    dedup_window_ms: Annotated[
        Annotated[int, Meta(ge=0, le=limits.DEDUP_WINDOW_MS_MAX)] | UnsetType | None,
        Meta(description="how long an idempotency key is remembered, per partition"),
    ] = UNSET
    min_insync_replicas: Annotated[
        Annotated[int, Meta(ge=1, le=limits.REPLICAS_MAX)] | UnsetType | None,
        Meta(description="replicas that must have a message before it counts; default: 2 of 3 or more, else 1"),
    ] = UNSET
    max_replica_lag_ms: Annotated[
        Annotated[int, Meta(ge=100, le=3_600_000)] | UnsetType | None,
        Meta(description="a replica that has not caught up for so long is in sync no more"),
    ] = UNSET

    def applied_to(self, config: TopicConfig, *, defaults: TopicConfig) -> TopicConfig:
        return applied(self, config, defaults=defaults)


class TopicFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT` and of `PATCH /topics/{topic}`. Null is as left out."""

    partitions: Annotated[int, Meta(ge=1, le=limits.PARTITIONS_MAX)] | None = None
    replication_factor: Annotated[
        Annotated[int, Meta(ge=1, le=limits.REPLICAS_MAX)] | None,
        Meta(description="nodes that hold each partition; default: 3 where there are three nodes, else one on each"),
    ] = None
    config: TopicConfigFields | None = None


_decoder = msgspec.json.Decoder(TopicFields)

LISTING_QUERY = query.QueryTable(
    (
        query.integer("limit", 1, LISTING_MAX, "entries at most", default=LISTING_DEFAULT),
        query.text("after", limits.NAME_LENGTH_MAX, "only names behind this one: `next` of the page before"),
    )
)

UPDATE_QUERY = query.QueryTable(
    (
        query.switch(
            "allowDataLoss", "the change may delete messages: shorter retention and smaller files need this word"
        ),
    )
)


def parse_update(query_string: bytes) -> bool:
    """Whether the change may delete messages. Raises AcklogError."""
    return UPDATE_QUERY.parse(query_string).value("allowDataLoss") is True


def parse_topic(body: bytes) -> TopicFields:
    """An empty body means a topic with every default. Raises AcklogError."""
    if not body:
        return TopicFields()
    check_utf8(body)
    return decode(_decoder, body)


def parse_listing(query_string: bytes) -> tuple[int, str]:
    """(how many, after which name). Raises AcklogError."""
    arguments = LISTING_QUERY.parse(query_string)
    return arguments.integer("limit") or LISTING_DEFAULT, arguments.text("after") or ""
