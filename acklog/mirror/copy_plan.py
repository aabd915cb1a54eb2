"""What is sent of a page of the source's log. Without I/O."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from acklog.messages import OutgoingMessage, StoredMessage
from acklog.mirror.mirror_path import HOPS_MAX, headers_with, path_of
from acklog.wire.identifiers import MessageId, parse_message_id
from acklog.wire.limits import HEADERS_MAX, TTL_SECONDS_MAX, TTL_SECONDS_MIN


@dataclass(frozen=True, slots=True)
class CopyRules:
    """Of one topic. `target_topic_ids` are all topics that the target has. Where the target is compacted, messages need
    a key; where its messages are delayed, copies say that they are not."""

    target_topic_ids: Set[str]
    needs_keys: bool = False
    is_delaying: bool = False


@dataclass(slots=True)
class CopyPlan:
    """`copies` go out in this order, `sources` say of which messages they are copies. `came_back` counts messages that
    had been in the target before. `refused` is the first message that the target cannot take, and why; nothing behind
    it is in the plan. Everything below `next_offset` is dealt with when the copies are stored."""

    next_offset: int
    copies: list[OutgoingMessage] = field(default_factory=list)
    sources: list[MessageId] = field(default_factory=list)
    came_back: int = 0
    refused: tuple[int, str] | None = None


def plan_copies(
    messages: Sequence[StoredMessage], next_offset: int, rules: CopyRules, *, copies_max: int, now_ms: int
) -> CopyPlan:
    """`next_offset` is that of the page that the messages are of."""
    plan = CopyPlan(next_offset)
    for message in messages:
        if len(plan.copies) == copies_max:
            plan.next_offset = message.offset
            return plan
        path = path_of(message.headers)
        if any(each.topic_id in rules.target_topic_ids for each in path):
            plan.came_back += 1
            continue
        source = parse_message_id(message.message_id)
        why = _why_refused(message, len(path), rules) if source is not None else "its id is none that is known here"
        if why or source is None:
            plan.refused = (message.offset, why)
            plan.next_offset = message.offset
            return plan
        plan.copies.append(_copy_of(message, rules, now_ms))
        plan.sources.append(source)
    return plan


def _why_refused(message: StoredMessage, hops: int, rules: CopyRules) -> str:
    """ "" for a message that the target can take."""
    if hops >= HOPS_MAX:
        return f"it has been copied {hops} times, the limit is {HOPS_MAX}"
    if len(headers_with(message.headers, message.message_id)) > HEADERS_MAX:
        return f"with the header that a copy has beside its own it has more than {HEADERS_MAX} headers"
    if rules.needs_keys and message.key is None:
        return "it has no key, and the target's topic is compacted"
    return ""


def _copy_of(message: StoredMessage, rules: CopyRules, now_ms: int) -> OutgoingMessage:
    is_json = message.content_type is None and message.base64_body is None
    body: Any = message.json_body if is_json else message.body_bytes
    ttl_s = None
    if message.expires_at_ms is not None:
        # What has expired is copied all the same: of a compacted topic it is its key's last message.
        ttl_s = min(max((message.expires_at_ms - now_ms) / 1000, TTL_SECONDS_MIN), TTL_SECONDS_MAX)
    return OutgoingMessage(
        body,
        message.key,
        headers_with(message.headers, message.message_id),
        message.tags or None,
        message.timestamp_ms,
        message.partition,
        content_type=message.content_type,
        delay_seconds=0 if rules.is_delaying else None,
        ttl_seconds=ttl_s,
    )
