"""Topics, groups and the totals as watchers are told of them. Pure."""

from collections import Counter

import msgspec

from app.events.traffic_book import GroupTraffic, TopicTraffic
from cluster.model.pauses import is_paused
from cluster.model.values import Group, Topic

_encode = msgspec.json.Encoder().encode


def topic_text(topic: Topic, traffic: TopicTraffic) -> bytes:
    """A rate is null until two looks were had."""
    return _encode(
        {
            "name": topic.name,
            "id": topic.id,
            "partitions": topic.partitions,
            "replicationFactor": topic.replication_factor,
            "messagesPerSecond": _rounded(traffic.messages_per_second),
            "bytesPerSecond": _rounded(traffic.bytes_per_second),
            "bytes": traffic.size_bytes,
        }
    )


def group_text(group: Group, topic: Topic, traffic: GroupTraffic) -> bytes:
    """The group in one topic. It is `paused` there where it is in all partitions."""
    return _encode(
        {
            "group": group.name,
            "topic": topic.name,
            "lag": traffic.lag,
            "inFlight": traffic.in_flight,
            "delayed": traffic.delayed,
            "blocked": traffic.blocked,
            "deadLettered": traffic.dead_lettered,
            "settledPerSecond": _rounded(traffic.settled_per_second),
            "deadLetteredPerSecond": _rounded(traffic.dead_lettered_per_second),
            "oldestAppendTime": None if traffic.oldest_append_ms < 0 else traffic.oldest_append_ms,
            "paused": bool(group.pauses)
            and all(is_paused(group.pauses, topic.id, number) for number in range(topic.partitions)),
        }
    )


def totals_text(
    counts: Counter[str],
    traffic: TopicTraffic,
    groups: GroupTraffic,
    *,
    round_ms: int | None,
    gateway: dict[str, float | None],
) -> bytes:
    """`gateway` is what went through this one."""
    return _encode(
        {
            **{
                name: counts[name]
                for name in (
                    "topics",
                    "groups",
                    "partitions",
                    "withoutLeader",
                    "belowMinInsync",
                    "underReplicated",
                    "moving",
                )
            },
            "lag": groups.lag,
            "messagesPerSecond": _rounded(traffic.messages_per_second),
            "bytesPerSecond": _rounded(traffic.bytes_per_second),
            "settledPerSecond": _rounded(groups.settled_per_second),
            "deadLetteredPerSecond": _rounded(groups.dead_lettered_per_second),
            "roundMs": round_ms,
            "gateway": {name: _rounded(rate) for name, rate in gateway.items()},
        }
    )


def _rounded(rate: float | None) -> float | None:
    """What cannot be seen is no change."""
    return None if rate is None else round(rate, 1)
