"""The quotas of topics and groups: as options, and as they are shown. Those of tokens are in the server's own file."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.command.quantities import UNLIMITED, parse_size_bytes, size_text
from acklog.wire.limits import QUOTA_PER_SECOND_MAX

if TYPE_CHECKING:
    from acklog.catalog import GroupChanges, GroupSettings, TopicChanges, TopicConfig

QuotaMessagesOption = Annotated[
    str | None,
    typer.Option("--quota-messages", metavar="COUNT", help="Messages per second, by all gateways; or unlimited."),
]
QuotaBytesOption = Annotated[
    str | None,
    typer.Option("--quota-bytes", metavar="SIZE", help="Bytes of bodies per second: 500kB, 10MiB; or unlimited."),
]
QuotaRequestsOption = Annotated[
    str | None,
    typer.Option("--quota-requests", metavar="COUNT", help="Requests per second, by all gateways; or unlimited."),
]


def topic_quota_changes(messages: str | None, size: str | None, requests: str | None) -> "TopicChanges":
    """What the options name of what may be sent. Raises UsageError."""
    changes: TopicChanges = {}
    if messages is not None:
        changes["send_messages_per_second"] = parse_per_second(messages, field="--quota-messages")
    if size is not None:
        changes["send_bytes_per_second"] = parse_per_second(size, field="--quota-bytes")
    if requests is not None:
        changes["send_requests_per_second"] = parse_per_second(requests, field="--quota-requests")
    return changes


def group_quota_changes(messages: str | None, size: str | None, requests: str | None) -> "GroupChanges":
    """What the options name of what may be received. Raises UsageError."""
    changes: GroupChanges = {}
    if messages is not None:
        changes["receive_messages_per_second"] = parse_per_second(messages, field="--quota-messages")
    if size is not None:
        changes["receive_bytes_per_second"] = parse_per_second(size, field="--quota-bytes")
    if requests is not None:
        changes["receive_requests_per_second"] = parse_per_second(requests, field="--quota-requests")
    return changes


def topic_quota_rows(config: "TopicConfig") -> list[tuple[str, str]]:
    """What is shown of a topic that has some."""
    return _rows(config.send_messages_per_second, config.send_bytes_per_second, config.send_requests_per_second)


def group_quota_rows(settings: "GroupSettings") -> list[tuple[str, str]]:
    """What is shown of a group that has some."""
    return _rows(
        settings.receive_messages_per_second, settings.receive_bytes_per_second, settings.receive_requests_per_second
    )


def _rows(messages: int | None, size_bytes: int | None, requests: int | None) -> list[tuple[str, str]]:
    found = [
        f"{messages:,} messages" if messages is not None else "",
        size_text(size_bytes) if size_bytes is not None else "",
        f"{requests:,} requests" if requests is not None else "",
    ]
    text = ", ".join(filter(None, found))
    return [("quota", f"{text} per second")] if text else []


def parse_per_second(text: str, *, field: str) -> int | None:
    """None for no quota. Raises UsageError."""
    found = parse_size_bytes(text, field=field, may_be_unlimited=True)
    if found == UNLIMITED:
        return None
    if not 1 <= found <= QUOTA_PER_SECOND_MAX:
        raise UsageError(f"{text!r} is no quota", field=field, hint=f"It may be 1 to {QUOTA_PER_SECOND_MAX:,}.")
    return found
