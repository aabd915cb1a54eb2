"""The attributes of a queue as SQS shows them: what was given, and what its topic and its group are set to."""

from collections.abc import Mapping, Sequence

from app.sqs.queue import Queue
from app.sqs.queues import attribute_table as table
from app.sqs.queues.attribute_rules import unknown_attribute
from app.sqs.queues.queue_names import QueueNames
from app.sqs.queues.redrive_policy import RedrivePolicy, redrive_policy_of
from cluster.model.values import Encryption, Exhausted, TopicConfig

KMS_REUSE_SECONDS_DEFAULT = "300"


def check_wanted(wanted: Sequence[str]) -> frozenset[str]:
    """Every attribute that may be shown where all are wanted. Raises SqsError INVALID_ATTRIBUTE_NAME."""
    for name in wanted:
        if name != table.ALL and name not in table.ATTRIBUTES:
            raise unknown_attribute(name)
    return frozenset(table.ATTRIBUTES) if table.ALL in wanted else frozenset(wanted)


def shown_attributes(queue: Queue, names: QueueNames) -> dict[str, str]:
    """All of them but how many messages there are."""
    config, settings = queue.topic.config, queue.group.settings
    shown = {
        table.ARN: names.arn_of(queue.name),
        table.CREATED: str(queue.stored.created_at_ms // 1000),
        table.MODIFIED: str(queue.stored.modified_at_ms // 1000),
        "DelaySeconds": str(config.delay_ms // 1000),
        "MessageRetentionPeriod": str(_retention_seconds(config)),
        "VisibilityTimeout": str(settings.visibility_ms // 1000),
        **_kept(queue),
    }
    policy = redrive_policy_text(queue, names)
    if policy:
        shown["RedrivePolicy"] = policy
    if queue.is_fifo:
        shown["FifoQueue"] = "true"
    return shown


def redrive_policy_text(queue: Queue, names: QueueNames) -> str:
    """As it was given, unless the group was set otherwise since; "" for none."""
    settings = queue.group.settings
    if settings.dead_letter_topic is None or settings.on_exhausted is not Exhausted.DEAD_LETTER:
        return ""
    found = RedrivePolicy(names.arn_of(settings.dead_letter_topic), settings.max_attempts)
    given = queue.stored.attributes.get("RedrivePolicy", "")
    return given if given and redrive_policy_of(given) == found else found.text()


def _kept(queue: Queue) -> Mapping[str, str]:
    kept: dict[str, str] = {}
    for attribute in table.SETTABLE:
        if attribute.place is table.AttributePlace.QUEUE and (queue.is_fifo or not attribute.is_for_fifo):
            text = queue.stored.attributes.get(attribute.name, attribute.default)
            if text is not None:
                kept[attribute.name] = text
    if "KmsMasterKeyId" in kept:
        kept.setdefault("KmsDataKeyReusePeriodSeconds", KMS_REUSE_SECONDS_DEFAULT)
    is_encrypted = queue.topic.config.encryption is not Encryption.OFF and "KmsMasterKeyId" not in kept
    kept.setdefault("SqsManagedSseEnabled", "true" if is_encrypted else "false")
    return kept


def _retention_seconds(config: TopicConfig) -> int:
    """Whichever ends a message first; what SQS cannot say is the longest that it can."""
    limits = [config.ttl_ms, config.retention_ms if config.retention_ms >= 0 else None]
    found = min((each for each in limits if each is not None), default=table.RETENTION_SECONDS_MAX * 1000)
    return min(max(found // 1000, 1), table.RETENTION_SECONDS_MAX)
