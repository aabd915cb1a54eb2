"""What a queue is made of, by its attributes: the settings of its topic and of its group."""

from collections.abc import Mapping

from msgspec.structs import replace

from acklog.wire.limits import MAX_ATTEMPTS_MAX, VISIBILITY_SECONDS_DEFAULT
from app.sqs.queues.attribute_table import RETENTION_SECONDS_DEFAULT
from app.sqs.queues.redrive_policy import redrive_policy_of
from cluster.model.values import Exhausted, FairBy, GroupMode, GroupSettings, TopicConfig


def mode_of(*, is_fifo: bool) -> GroupMode:
    return GroupMode.KEY_ORDERED if is_fifo else GroupMode.SHARED


def partitions_of(attributes: Mapping[str, str], *, is_fifo: bool, default: int) -> int:
    """A queue that tells duplicates apart in all of its groups does so in one partition."""
    is_whole = is_fifo and attributes.get("DeduplicationScope") != "messageGroup"
    return 1 if is_whole else default


def new_topic_config(defaults: TopicConfig, attributes: Mapping[str, str]) -> TopicConfig:
    return changed_topic_config(
        defaults, {"MessageRetentionPeriod": str(RETENTION_SECONDS_DEFAULT), "DelaySeconds": "0", **attributes}
    )


def changed_topic_config(config: TopicConfig, attributes: Mapping[str, str]) -> TopicConfig:
    """What is not named stays."""
    if "MessageRetentionPeriod" in attributes:
        retention_ms = int(attributes["MessageRetentionPeriod"]) * 1000
        config = replace(config, retention_ms=retention_ms, ttl_ms=retention_ms)
    if "DelaySeconds" in attributes:
        config = replace(config, delay_ms=int(attributes["DelaySeconds"]) * 1000)
    return config


def new_group_settings(
    settings: GroupSettings, attributes: Mapping[str, str], *, is_fifo: bool, dead_letter_topic: str | None
) -> GroupSettings:
    """Of a queue that is made now, over what the group may have been before. What failed comes back by its visibility
    timeout alone."""
    plain = replace(
        settings,
        retry_backoff_min_ms=0,
        retry_backoff_max_ms=0,
        retry_delays_ms=None,
        retry_jitter=0.0,
        fair_by=FairBy.NONE if is_fifo else FairBy.KEY,
        fair_by_header=None,
        max_in_flight_per_header=None,
    )
    given = {"VisibilityTimeout": str(VISIBILITY_SECONDS_DEFAULT), "RedrivePolicy": "", **attributes}
    return changed_group_settings(plain, given, dead_letter_topic=dead_letter_topic)


def changed_group_settings(
    settings: GroupSettings, attributes: Mapping[str, str], *, dead_letter_topic: str | None
) -> GroupSettings:
    """What is not named stays. `dead_letter_topic` is that of the redrive policy, where one is named."""
    if "VisibilityTimeout" in attributes:
        settings = replace(settings, visibility_ms=int(attributes["VisibilityTimeout"]) * 1000)
    if "RedrivePolicy" not in attributes:
        return settings
    if dead_letter_topic is None:
        return replace(settings, dead_letter_topic=None, max_attempts=MAX_ATTEMPTS_MAX, on_exhausted=Exhausted.RETRY)
    return replace(
        settings,
        dead_letter_topic=dead_letter_topic,
        max_attempts=redrive_policy_of(attributes["RedrivePolicy"]).receives_max,
        on_exhausted=Exhausted.DEAD_LETTER,
    )
