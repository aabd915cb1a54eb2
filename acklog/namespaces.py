"""Namespaces as the API describes them. Times are in milliseconds since 1970."""

from typing import TypedDict

import msgspec
from msgspec import field


class NamespaceSettings(msgspec.Struct, rename="camel"):
    """What all topics and groups of a namespace may be together, with their recurring schedules and named producers;
    None is no limit. Quotas are per second."""

    topics_max: int | None = None
    partitions_max: int | None = None
    groups_max: int | None = None
    schedules_max: int | None = None
    producers_max: int | None = None
    requests_per_second: int | None = None
    messages_per_second: int | None = None
    bytes_per_second: int | None = None


class Namespace(msgspec.Struct, rename="camel"):
    """`topics`, `partitions`, `groups`, `schedules` and `producers` count what there is in it."""

    name: str
    id: str
    settings: NamespaceSettings
    topics: int
    partitions: int
    groups: int
    created_at_ms: int = field(name="createdAt")
    schedules: int = 0
    producers: int = 0


class NamespacePage(msgspec.Struct):
    namespaces: list[Namespace]
    next: str | None = None


class NamespaceChanges(TypedDict, total=False):
    """Settings by name; None takes a limit away."""

    topics_max: int | None
    partitions_max: int | None
    groups_max: int | None
    schedules_max: int | None
    producers_max: int | None
    requests_per_second: int | None
    messages_per_second: int | None
    bytes_per_second: int | None
