"""Every attribute of a queue: what it may be, where it lies, and what it is where nobody has said."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from acklog.wire.limits import MESSAGE_BODY_BYTES_MAX, VISIBILITY_SECONDS_MAX, WAIT_SECONDS_MAX
from app.sqs.queues.access_policy import statements_of
from app.sqs.queues.redrive_policy import redrive_allow_policy_of, redrive_policy_of

RETENTION_SECONDS_MIN = 60
RETENTION_SECONDS_MAX = 14 * 24 * 60 * 60
RETENTION_SECONDS_DEFAULT = 4 * 24 * 60 * 60
DELAY_SECONDS_MAX = 900
MESSAGE_BYTES_MIN = 1_024
DATA_KEY_SECONDS_MIN = 60
DATA_KEY_SECONDS_MAX = 24 * 60 * 60
KEY_ID_LENGTH_MAX = 2_048

ALL = "All"
_NUMBER = re.compile(r"[0-9]{1,10}")
_KEY_ID = re.compile(rf"[A-Za-z0-9:/_.-]{{1,{KEY_ID_LENGTH_MAX}}}")


class AttributePlace(Enum):
    """Where an attribute lies."""

    TOPIC = "topic"
    GROUP = "group"
    QUEUE = "queue"  # as it was given
    NAME = "name"  # said when the queue is made, and told by its name from then on
    ASKED = "asked"  # nobody sets it: it is what the queue is, or how far


@dataclass(frozen=True, slots=True)
class Attribute:
    """`read` gives the text that is kept and compared; it raises ValueError for what the attribute cannot be. `default`
    None: it is not shown. An `is_clearable` one is taken away by an empty text."""

    name: str
    place: AttributePlace
    read: Callable[[str], str]
    default: str | None = None
    is_for_fifo: bool = False
    is_clearable: bool = False


def _from_to(low: int, high: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not _NUMBER.fullmatch(text) or not low <= int(text) <= high:
            raise ValueError(f"from {low} to {high}")
        return str(int(text))

    return read


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return text

    return read


def _is_switch(text: str) -> str:
    return _one_of("true", "false")(text.lower())


def _is_true(text: str) -> str:
    return _one_of("true")(text.lower())


def _read_key_id(text: str) -> str:
    if not _KEY_ID.fullmatch(text):
        raise ValueError("the id, ARN or alias of a key")
    return text


def _read_policy(text: str) -> str:
    statements_of(text)
    return text


def _read_redrive(text: str) -> str:
    redrive_policy_of(text)
    return text


def _read_redrive_allow(text: str) -> str:
    redrive_allow_policy_of(text)
    return text


def _read_nothing(text: str) -> str:
    raise ValueError("it is read only")


SETTABLE = (
    Attribute("DelaySeconds", AttributePlace.TOPIC, _from_to(0, DELAY_SECONDS_MAX), "0"),
    Attribute(
        "MessageRetentionPeriod",
        AttributePlace.TOPIC,
        _from_to(RETENTION_SECONDS_MIN, RETENTION_SECONDS_MAX),
        str(RETENTION_SECONDS_DEFAULT),
    ),
    Attribute("VisibilityTimeout", AttributePlace.GROUP, _from_to(0, VISIBILITY_SECONDS_MAX), "30"),
    Attribute("RedrivePolicy", AttributePlace.GROUP, _read_redrive, is_clearable=True),
    Attribute(
        "MaximumMessageSize",
        AttributePlace.QUEUE,
        _from_to(MESSAGE_BYTES_MIN, MESSAGE_BODY_BYTES_MAX),
        str(MESSAGE_BODY_BYTES_MAX),
    ),
    Attribute("ReceiveMessageWaitTimeSeconds", AttributePlace.QUEUE, _from_to(0, WAIT_SECONDS_MAX), "0"),
    Attribute("Policy", AttributePlace.QUEUE, _read_policy, is_clearable=True),
    Attribute("RedriveAllowPolicy", AttributePlace.QUEUE, _read_redrive_allow, is_clearable=True),
    Attribute("KmsMasterKeyId", AttributePlace.QUEUE, _read_key_id, is_clearable=True),
    Attribute(
        "KmsDataKeyReusePeriodSeconds",
        AttributePlace.QUEUE,
        _from_to(DATA_KEY_SECONDS_MIN, DATA_KEY_SECONDS_MAX),
    ),
    Attribute("SqsManagedSseEnabled", AttributePlace.QUEUE, _is_switch),
    Attribute("FifoQueue", AttributePlace.NAME, _is_true, is_for_fifo=True),
    Attribute("ContentBasedDeduplication", AttributePlace.QUEUE, _is_switch, "false", is_for_fifo=True),
    Attribute("DeduplicationScope", AttributePlace.QUEUE, _one_of("messageGroup", "queue"), "queue", is_for_fifo=True),
    Attribute(
        "FifoThroughputLimit",
        AttributePlace.QUEUE,
        _one_of("perQueue", "perMessageGroupId"),
        "perQueue",
        is_for_fifo=True,
    ),
)

ARN = "QueueArn"
CREATED = "CreatedTimestamp"
MODIFIED = "LastModifiedTimestamp"
VISIBLE = "ApproximateNumberOfMessages"
NOT_VISIBLE = "ApproximateNumberOfMessagesNotVisible"
DELAYED = "ApproximateNumberOfMessagesDelayed"
COUNTS = frozenset({VISIBLE, NOT_VISIBLE, DELAYED})
READ_ONLY = tuple(
    Attribute(name, AttributePlace.ASKED, _read_nothing)
    for name in (ARN, CREATED, MODIFIED, VISIBLE, NOT_VISIBLE, DELAYED)
)

ATTRIBUTES = {each.name: each for each in (*SETTABLE, *READ_ONLY)}
