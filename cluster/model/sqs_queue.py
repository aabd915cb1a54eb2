"""A queue as SQS knows it: a topic and a group of its own, with what neither of them has a setting for."""

import msgspec

GROUP_PREFIX = "sqs."
"""The group of the queue `orders` is `sqs.orders`: whoever may do something with the queue may do it with its group."""


class SqsQueue(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`topic_id` and `group_id` are what it is made of: a queue whose topic was deleted, or made anew, is none.

    `attributes` are those of SQS that are kept as they were given, by SQS's names; the others are settings of the topic
    and of the group. `modified_at_ms` is that of the last change by SQS. `purged_at_ms` is -1 until the first time.
    """

    name: str
    topic_id: str
    group_id: str
    created_at_ms: int
    modified_at_ms: int
    attributes: dict[str, str] = {}
    tags: dict[str, str] = {}
    purged_at_ms: int = -1


def group_name_of(queue_name: str) -> str:
    return f"{GROUP_PREFIX}{queue_name}"
