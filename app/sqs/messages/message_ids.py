"""The id of a message as clients of SQS want it: a UUID. It says where the message is, so nobody has to keep it.

Version 8 of RFC 9562, whose 122 free bits are: the topic's id (64), the partition (10), whether it is a place in the
schedule log (1), the offset (47). A message that was to be seen later has the id of its place there for ever, and one
that has become a dead letter, or was sent back, that of the message that it was first.
"""

from functools import lru_cache

from acklog.wire.identifiers import ALPHABET, parse_message_id, parse_schedule_id
from acklog.wire.letter_headers import first_id_of
from storage.rpc.messages import DeliveredMessage

FIRST_SEQUENCE_NUMBER = 10**19
"""So that all have 20 digits."""
TOPICS_REMEMBERED_MAX = 1_000
"""Whose ids need not be read again, digit by digit."""
_OFFSET_BITS = 47
_PARTITION_BITS = 10
_TOPIC_BITS = 64


def uuid_of(topic_id: str, partition: int, offset: int, *, is_scheduled: bool) -> str:
    place = _number_of(topic_id)
    place = place << _PARTITION_BITS | partition & (1 << _PARTITION_BITS) - 1
    place = place << 1 | is_scheduled
    place = place << _OFFSET_BITS | offset & (1 << _OFFSET_BITS) - 1
    first, second, third = place >> 74, place >> 62 & 0xFFF, place & (1 << 62) - 1
    digits = f"{first << 80 | 0x8 << 76 | second << 64 | 0b10 << 62 | third:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def uuid_of_delivered(message: DeliveredMessage) -> str:
    """The same as was answered to its sender."""
    schedule = message.record.schedule
    if schedule is None and not message.record.headers:
        return uuid_of(message.topic_id, message.partition, message.offset, is_scheduled=False)
    for first_id in (first_id_of(message.record.headers), "" if schedule is None else schedule.id):
        found = _uuid_of_id(first_id)
        if found is not None:
            return found
    return uuid_of(message.topic_id, message.partition, message.offset, is_scheduled=False)


def sequence_number(offset: int) -> str:
    return str(FIRST_SEQUENCE_NUMBER + offset)


def sequence_number_of_delivered(message: DeliveredMessage) -> str:
    """The same as was answered to its sender."""
    schedule = message.record.schedule
    scheduled = None if schedule is None else parse_schedule_id(schedule.id)
    return sequence_number(message.offset if scheduled is None else scheduled.offset)


def _uuid_of_id(text: str) -> str | None:
    message_id = parse_message_id(text)
    if message_id is not None:
        return uuid_of(message_id.topic_id, message_id.partition, message_id.offset, is_scheduled=False)
    scheduled = parse_schedule_id(text)
    if scheduled is not None:
        return uuid_of(scheduled.topic_id, scheduled.partition, scheduled.offset, is_scheduled=True)
    return None


@lru_cache(maxsize=TOPICS_REMEMBERED_MAX)
def _number_of(topic_id: str) -> int:
    number = 0
    for character in topic_id:
        number = number << 5 | max(ALPHABET.find(character), 0)
    return number & (1 << _TOPIC_BITS) - 1
