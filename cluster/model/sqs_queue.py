"""A queue as SQS knows it: a topic and a group of its own, with what neither of them has a setting for."""

import re

import msgspec

GROUP_PREFIX = "sqs."
"""The group of the queue `orders` is `sqs.orders`: whoever may do something with the queue may do it with its group."""

QUEUE_NAME_LENGTH_MAX = 80
"""With the suffix of those that keep an order."""

_NAME = re.compile(r"(?=.{1,80}\Z)[A-Za-z0-9_-]+(?:\.fifo)?")


class SqsQueue(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`topic_id` and `group_id` are what it is made of: a queue whose topic was deleted, or made anew, is none.

    `attributes` are those of SQS that are kept as they were given, by SQS's names; the others are settings of the topic
    and of the group. `modified_at_ms` is that of the last change by SQS. `purged_at_ms` is -1 until the first time.

    `id` is the identity: a queue that is deleted and made again has another. One without a topic is a claim: somebody
    has begun to make it, with all attributes that were given, and whoever makes it next completes that.
    """

    name: str
    topic_id: str
    group_id: str
    created_at_ms: int
    modified_at_ms: int
    attributes: dict[str, str] = {}
    tags: dict[str, str] = {}
    purged_at_ms: int = -1
    id: str = ""

    @property
    def is_claim(self) -> bool:
        return not self.topic_id


def group_name_of(queue_name: str) -> str:
    return f"{GROUP_PREFIX}{queue_name}"


def queue_of_group(group_name: str) -> str | None:
    """The queue whose group this is by its name, whether there is one or not; None where no queue can have it. Names in
    namespaces are none: a right in one of them must say nothing about another one."""
    name = group_name.removeprefix(GROUP_PREFIX)
    return name if name != group_name and is_queue_name(name) else None


def is_queue_name(name: str) -> bool:
    """Whether a queue may have it, and a topic as well."""
    return _NAME.fullmatch(name) is not None and not name.startswith("__")
