"""What is asked of namespaces, and how they are shown."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from acklog.wire import limits
from app.calls.quotas import PerSecond
from app.calls.setting_changes import applied
from cluster.model.namespace import NamespaceSettings

_Count = Annotated[int, Meta(ge=0, le=limits.NAMESPACE_COUNT_MAX)]


class NamespaceSettingsFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """What there may be in a namespace; what is left out stays as it is, or is not limited in a new one. What is null
    is limited no more with `PATCH`, and is as left out with `PUT`."""

    topics_max: Annotated[
        _Count | UnsetType | None, Meta(description="topics at most, those of dead letters among them")
    ] = UNSET
    partitions_max: Annotated[
        _Count | UnsetType | None, Meta(description="partitions at most, of all its topics together")
    ] = UNSET
    groups_max: Annotated[_Count | UnsetType | None, Meta(description="groups at most")] = UNSET
    schedules_max: Annotated[
        _Count | UnsetType | None, Meta(description="recurring schedules at most, of all its topics together")
    ] = UNSET
    producers_max: Annotated[
        _Count | UnsetType | None,
        Meta(
            description="named producers at most, of all its topics together; with one more, one unused for long goes"
        ),
    ] = UNSET
    requests_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: sends, receives and reads of records per second, of all its topics together"),
    ] = UNSET
    messages_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: messages per second that are sent, delivered or read, of all its topics together"),
    ] = UNSET
    bytes_per_second: Annotated[
        PerSecond | UnsetType | None,
        Meta(description="a quota: bytes per second that are sent, delivered or read, of all its topics together"),
    ] = UNSET

    def applied_to(self, settings: NamespaceSettings) -> NamespaceSettings:
        return applied(self, settings, defaults=NamespaceSettings())


class NamespaceFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT` and of `PATCH /namespaces/{namespace}`. Null is as left out."""

    settings: NamespaceSettingsFields | None = None


class NamespaceView(msgspec.Struct, rename="camel"):
    """`topics`, `partitions`, `groups`, `schedules` and `producers` count what there is in it."""

    name: str
    id: str
    created_at: int
    settings: NamespaceSettings
    topics: int
    partitions: int
    groups: int
    schedules: int
    producers: int


class NamespaceListing(msgspec.Struct, omit_defaults=True):
    """`next` is there when there is more: ask again with `after` set to it."""

    namespaces: list[NamespaceView]
    next: str | None = None
