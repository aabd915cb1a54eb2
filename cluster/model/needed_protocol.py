"""Which version of the protocol between nodes all of them have to speak before something is begun.

What is new on disk, or decides about delivery, is begun only when every registered node knows it: one that does not
would refuse it, or do the wrong thing. The numbers are those of `storage.rpc.handshake`.
"""

from collections.abc import Iterable

from acklog.wire.limits import RETRY_JITTER
from acklog.wire.names import namespace_of
from cluster.model.values import (
    Encryption,
    Exhausted,
    Expired,
    Group,
    GroupMode,
    GroupSettings,
    MissingPosition,
    Topic,
    TopicConfig,
)

ANY_PROTOCOL = 0
PROTOCOL_OF_ALL_MODES = 4
"""Brought groups of the modes keyOrdered and exclusive."""
PROTOCOL_OF_COMMITS = 4
"""Brought positions that readers commit."""
PROTOCOL_OF_REFUSALS = 4
"""Brought groups that read nowhere without a position."""
PROTOCOL_OF_PRODUCERS = 5
"""Brought named producers, of which leaders take only the last that opened its name."""
PROTOCOL_OF_RETRIES = 5
"""Brought groups that say how long each retry waits, and how much of that is left to chance."""
PROTOCOL_OF_FILTERS = 5
"""Brought groups that pass over what their filter does not match, and filters of single calls."""
PROTOCOL_OF_DELETIONS = 5
"""Brought logs whose oldest messages were deleted on purpose: who does not know of it would show and deliver them."""
PROTOCOL_OF_MAPPING_STARTS = 5
"""Brought leaders that say where in their partitions a topic's mapping begins."""

PROTOCOL_OF_DELAYS = 5
"""Brought messages that are to be seen later, and the log that they are kept in."""

PROTOCOL_OF_REDRIVES = 6
"""Brought dead letters that are sent back by the leaders of their partitions."""

PROTOCOL_OF_RECURRING = 6
"""Brought schedules that send a message again and again, and what leaders note of them."""
PROTOCOL_OF_COMPACTION = 6
"""Brought logs of which compaction removes messages: who does not know of it could not read what is left."""
PROTOCOL_OF_TTL = 6
"""Brought messages that live for some time only: who does not know of it would deliver them late."""

PROTOCOL_OF_QUOTAS = 6
"""Brought quotas: nodes that deal out to the gateways what a topic, a group or a token may do per second."""

PROTOCOL_OF_TOPIC_DELAYS = 7
"""Brought topics that say how much later their messages are seen: who does not know of it would show them at once."""

PROTOCOL_OF_HAND_OVERS = 8
"""Brought delayed messages that move to the partition that they belong to when they are due, and what leaders note of
that: who does not know of it appends them where they were sent."""

PROTOCOL_OF_FAIR_HEADERS = 8
"""Brought groups that are fair among the values of a header: who does not know of it would let a noisy one take all."""

PROTOCOL_OF_ENCRYPTION = 9
"""Brought topics whose batches are encrypted: who does not know of it could not read them."""


PROTOCOL_OF_NAMESPACES = 9
"""Brought topics and groups in namespaces: who does not know of these would look for dead letters elsewhere, and let a
subscription by a pattern read other tenants' topics."""

PROTOCOL_OF_ENDLESS_RETRIES = 10
"""Brought groups whose messages go on coming back: who does not know of it could not read what these groups are."""


PROTOCOL_OF_RESTORES = 11
"""Brought topics that are being restored: who does not know of these would serve them half filled."""


def needed_by_name(full_name: str) -> int:
    return PROTOCOL_OF_NAMESPACES if namespace_of(full_name) else ANY_PROTOCOL


def needed_by_topic(config: TopicConfig) -> int:
    """By a topic with these settings."""
    needed = [PROTOCOL_OF_COMPACTION if config.is_compacted else ANY_PROTOCOL]
    if config.ttl_ms is not None:
        needed.append(PROTOCOL_OF_TTL)
    if config.has_quotas:
        needed.append(PROTOCOL_OF_QUOTAS)
    if config.encryption is not Encryption.OFF:
        needed.append(PROTOCOL_OF_ENCRYPTION)
    if config.delay_ms:
        needed.append(PROTOCOL_OF_TOPIC_DELAYS)
    return max(needed)


def needed_by_group(mode: GroupMode, settings: GroupSettings) -> int:
    """By a group with these settings."""
    needed = [ANY_PROTOCOL if mode is GroupMode.SHARED else PROTOCOL_OF_ALL_MODES]
    if settings.on_missing_position is MissingPosition.REFUSE:
        needed.append(PROTOCOL_OF_REFUSALS)
    if settings.retry_delays_ms is not None or settings.retry_jitter != RETRY_JITTER:
        needed.append(PROTOCOL_OF_RETRIES)
    if settings.filter is not None:
        needed.append(PROTOCOL_OF_FILTERS)
    if settings.on_expired is not Expired.SKIP:
        needed.append(PROTOCOL_OF_TTL)
    if settings.has_quotas:
        needed.append(PROTOCOL_OF_QUOTAS)
    if settings.fair_by_header is not None:
        needed.append(PROTOCOL_OF_FAIR_HEADERS)
    if settings.on_exhausted is Exhausted.RETRY:
        needed.append(PROTOCOL_OF_ENDLESS_RETRIES)
    return max(needed)


def needed_by_catalog(groups: Iterable[Group], topics: Iterable[Topic]) -> int:
    """By all of them together."""
    needed = {max(needed_by_topic(topic.config), needed_by_name(topic.name), _needed_now(topic)) for topic in topics}
    needed |= {max(needed_by_group(group.mode, group.settings), needed_by_name(group.name)) for group in groups}
    return max(needed, default=ANY_PROTOCOL)


def _needed_now(topic: Topic) -> int:
    return PROTOCOL_OF_RESTORES if topic.is_restoring else ANY_PROTOCOL
