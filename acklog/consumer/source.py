"""Where a consumer's messages come from, and as what it asks for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from acklog.client.member_calls import MemberSubscription
from acklog.client.message_calls import group_of
from acklog.consumer.consumer_settings import ConsumerOptions, ConsumerSettings
from acklog.consumer.lanes import Lanes, Line, key_lane
from acklog.consumer.partition_lanes import PartitionLanes
from acklog.errors import InvalidArgument
from acklog.members import TopicPartition

Mode = Literal["shared", "keyOrdered", "exclusive"]
OnPartitions = Callable[[Sequence[TopicPartition]], None]


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is this worker's: a label that a look at a message shows, and in an exclusive group whose partitions are
    whose. `mode` None: that of the group. `message_filter` takes only what matches, and leaves the rest to others."""

    topics: Sequence[str]
    group: str
    name: str | None
    auto_ack: bool
    mode: Mode | None = None
    message_filter: str | None = None


@dataclass(frozen=True, slots=True)
class MemberSource(Source):
    """Of a member of an exclusive group, which goes by its `name`."""

    subscription: MemberSubscription = field(default_factory=MemberSubscription)
    on_assigned: OnPartitions | None = None
    on_revoked: OnPartitions | None = None

    @property
    def member(self) -> str:
        return self.name or ""


class MemberOptions(TypedDict, total=False):
    """What goes with `mode="exclusive"`.

    `patterns` are shell patterns of more topics, those that come later too. `rack` and `session_timeout_s` (how long it
    may be silent before its partitions are others'; the group's setting) are the member's. A `static` one is known by
    its `consumer` name: who comes back under it within the session timeout has its partitions as if nothing had been.
    `on_assigned` and `on_revoked` are called with the partitions that come and go, before the first message of theirs
    and after the last.
    """

    patterns: Sequence[str]
    rack: str
    session_timeout_s: float | None
    static: bool
    on_assigned: OnPartitions | None
    on_revoked: OnPartitions | None


_MEMBER_OPTIONS = frozenset(MemberOptions.__annotations__)


class ConsumerArguments(ConsumerOptions, MemberOptions, total=False):
    """All that `client.consumer(...)` takes by name."""

    message_filter: str | None


def source_and_settings(
    topics: str | Sequence[str],
    *,
    group: str | None,
    mode: Mode | None,
    consumer: str | None,
    auto_ack: bool,
    arguments: ConsumerArguments,
    own_name: Callable[[], str],
) -> tuple[Source, ConsumerSettings]:
    """`own_name` makes a name that nobody else has. Raises InvalidArgument."""
    options: MemberOptions = {name: arguments[name] for name in _MEMBER_OPTIONS if name in arguments}  # type: ignore
    others = {name: value for name, value in arguments.items() if name not in _MEMBER_OPTIONS}
    message_filter: str | None = others.pop("message_filter", None)  # type: ignore[assignment]
    settings = ConsumerSettings(**others)  # type: ignore[arg-type]
    names = [topics] if isinstance(topics, str) else list(topics)
    group = group_of(names, group)
    if mode in {"keyOrdered", "exclusive"} and auto_ack:
        raise InvalidArgument("with auto_ack nothing keeps an order: it is for shared groups", field="auto_ack")
    if mode in {"keyOrdered", "exclusive"} and message_filter is not None:
        detail = "what does not match would be in front of what does: give the group a filter, or share it"
        raise InvalidArgument(detail, field="message_filter")
    if mode == "exclusive":
        return _member_source(names, group, consumer, options, own_name), settings
    if options:
        name = next(iter(options))
        raise InvalidArgument(f'{name} is for members of exclusive groups: mode="exclusive"', field=name)
    if mode not in {None, "shared", "keyOrdered"}:
        raise InvalidArgument(f"mode is {mode!r}, it may be shared, keyOrdered or exclusive", field="mode")
    return Source(names, group, consumer, auto_ack, mode, message_filter), settings


def _member_source(
    topics: Sequence[str], group: str, consumer: str | None, options: MemberOptions, own_name: Callable[[], str]
) -> MemberSource:
    is_static = options.get("static", False)
    if is_static and consumer is None:
        raise InvalidArgument("a static member has a name of its own: give consumer=...", field="consumer")
    subscription = MemberSubscription(
        topics=topics,
        patterns=list(options.get("patterns", ())),
        rack=options.get("rack", ""),
        session_timeout_s=options.get("session_timeout_s"),
        is_static=is_static,
        instance=own_name(),
    )
    return MemberSource(
        topics,
        group,
        consumer or own_name(),
        False,
        "exclusive",
        subscription=subscription,
        on_assigned=options.get("on_assigned"),
        on_revoked=options.get("on_revoked"),
    )


def lanes_of(source: Source) -> Line | Lanes:
    """How what was received waits."""
    if source.mode == "exclusive":
        return PartitionLanes()
    return Lanes(key_lane) if source.mode == "keyOrdered" else Line()
