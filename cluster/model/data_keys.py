"""The data keys of a topic, as they change: pure.

A user says how many there are to be (a rotation is one more); a node makes those that are missing, one at a time, and
wraps anew those that an earlier master key has wrapped. None is ever taken away, as old batches name it, until the
topic is deleted with all of them.
"""

from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import DataKey, Encryption, Topic

DATA_KEYS_MAX = 100
"""Of a topic: one more at each rotation. All of them are in its entry of the coordination store."""
WRAPPED_BYTES_MAX = 1024
"""Of a data key as a master key has wrapped it."""


def with_encryption(topic: Topic) -> Topic:
    """An encrypted topic is to have a data key."""
    if topic.config.encryption is Encryption.ON and not topic.data_keys_wanted:
        return replace(topic, data_keys_wanted=1)
    return topic


def rotated(topic: Topic) -> Topic:
    """One more data key is to be there, for what is stored from then on. Raises ServerError NOT_ENCRYPTED,
    TOO_MANY_DATA_KEYS."""
    if topic.config.encryption is not Encryption.ON:
        raise ServerError(ProblemCode.NOT_ENCRYPTED, f"{topic.name!r} has no data key to rotate: it is not encrypted")
    if topic.data_keys_wanted >= DATA_KEYS_MAX:
        detail = f"{topic.name!r} has had {DATA_KEYS_MAX} data keys, the limit"
        raise ServerError(ProblemCode.TOO_MANY_DATA_KEYS, detail)
    return replace(topic, data_keys_wanted=topic.data_keys_wanted + 1)


def missing_number(topic: Topic) -> int | None:
    """The number of the data key that is to be made next; None where none is missing."""
    newest = topic.data_keys[-1].number if topic.data_keys else 0
    return newest + 1 if newest < topic.data_keys_wanted else None


def with_data_key(topic: Topic, key: DataKey) -> Topic | None:
    """With the one that was missing; None where another node has added it meanwhile, or nobody wants it any more."""
    return replace(topic, data_keys=(*topic.data_keys, key)) if missing_number(topic) == key.number else None


def rewrapped(topic: Topic, key: DataKey) -> Topic | None:
    """With this one in the place of that of its number; None where that is by the same master key already."""
    keys = tuple(
        key if each.number == key.number and each.master_key != key.master_key else each for each in topic.data_keys
    )
    return replace(topic, data_keys=keys) if keys != topic.data_keys else None
