"""Identifiers that travel through clients. All are opaque to them; a gateway needs nothing else to route an ack.

    messageId   m-<topic id>-<partition>-<batch epoch>-<offset>
    scheduleId  s-<topic id>-<partition>-<batch epoch>-<offset in the schedule log>
    receipt     r-<topic id>-<partition>-<offset>-<group id>-<generation>-<leader epoch>-<attempt>

Topic and group ids are 13 characters of Crockford's base32 (65 bits hold 64 random ones), never names: a topic that is
deleted and created again is another topic.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
ID_LENGTH = 13
_ID = rf"[{ALPHABET}]{{{ID_LENGTH}}}"
_NUMBER = r"(?:0|[1-9][0-9]{0,17})"
_SMALL = r"(?:0|[1-9][0-9]{0,8})"
_ATTEMPT = r"[1-9][0-9]{0,17}"  # a delivery is the first or a later one
MESSAGE_ID_PATTERN = rf"^m-{_ID}-{_SMALL}-{_SMALL}-{_NUMBER}$"
SCHEDULE_ID_PATTERN = rf"^s-{_ID}-{_SMALL}-{_SMALL}-{_NUMBER}$"
RECEIPT_PATTERN = rf"^r-{_ID}-{_SMALL}-{_NUMBER}-{_ID}-{_SMALL}-{_SMALL}-{_ATTEMPT}$"
_message_id_match = re.compile(rf"m-({_ID})-({_SMALL})-({_SMALL})-({_NUMBER})").fullmatch
_schedule_id_match = re.compile(rf"s-({_ID})-({_SMALL})-({_SMALL})-({_NUMBER})").fullmatch
_offset_match = re.compile(_NUMBER).fullmatch
_offset_end = 10**18  # of what _NUMBER matches
_ALIKE_MIN = 8
"""Of fewer, each is read in less time than they are put together in."""
_decode_offsets = msgspec.json.Decoder(list[int]).decode
_new_tuple = tuple.__new__
_receipt_match = re.compile(rf"r-({_ID})-({_SMALL})-({_NUMBER})-({_ID})-({_SMALL})-({_SMALL})-({_ATTEMPT})").fullmatch


class MessageId(NamedTuple):
    """Where a message is: `epoch` is its batch's leader epoch, which tells a truncated log from the original."""

    topic_id: str
    partition: int
    epoch: int
    offset: int

    def __str__(self) -> str:
        return message_id_text(*self)


class ScheduleId(NamedTuple):
    """Which scheduled message: `offset` is where it first stood in its partition's schedule log, in a batch of
    `epoch`. It stays the same when the message is moved to another time."""

    topic_id: str
    partition: int
    epoch: int
    offset: int

    def __str__(self) -> str:
        topic_id, partition, epoch, offset = self
        return f"s-{topic_id}-{partition}-{epoch}-{offset}"


class Receipt(NamedTuple):
    """One delivery of one message to one consumer.

    `generation` counts the group's seeks in the partition: a seek makes every older receipt stale.
    (`leader_epoch`, `attempt`) order the deliveries of one generation. Where deliveries may end without counting as
    attempts, what `attempt` says is larger than the attempts that count.
    """

    topic_id: str
    partition: int
    offset: int
    group_id: str
    generation: int
    leader_epoch: int
    attempt: int

    def __str__(self) -> str:
        topic_id, partition, offset, group_id, generation, epoch, attempt = self
        return f"r-{topic_id}-{partition}-{offset}-{group_id}-{generation}-{epoch}-{attempt}"


def message_id_text(topic_id: str, partition: int, epoch: int, offset: int) -> str:
    """As `str(MessageId(...))`, for who makes a thousand of them."""
    return f"m-{topic_id}-{partition}-{epoch}-{offset}"


def parse_message_id(text: str) -> MessageId | None:
    """The message id, or None if `text` is not one."""
    found = _message_id_match(text)
    if found is None:
        return None
    topic_id, partition, epoch, offset = found.groups()
    return MessageId(topic_id, int(partition), int(epoch), int(offset))


def parse_schedule_id(text: str) -> ScheduleId | None:
    """The schedule id, or None if `text` is not one."""
    found = _schedule_id_match(text)
    if found is None:
        return None
    topic_id, partition, epoch, offset = found.groups()
    return ScheduleId(topic_id, int(partition), int(epoch), int(offset))


def parse_receipt(text: str) -> Receipt | None:
    """The receipt, or None if `text` is not one."""
    found = _receipt_match(text)
    if found is None:
        return None
    topic_id, partition, offset, group_id, generation, epoch, attempt = found.groups()
    # Half the time of `Receipt(...)`: an ack may bring a thousand of them.
    return _new_tuple(
        Receipt, (topic_id, int(partition), int(offset), group_id, int(generation), int(epoch), int(attempt))
    )


def parse_receipts(texts: Sequence[object]) -> list[Receipt | None]:
    """Each as `parse_receipt` has it; None for what is no text, too. Those of one answer differ in their offsets, as a
    rule: what the one before says of the rest is not read again."""
    alike = _parse_alike(texts) if len(texts) >= _ALIKE_MIN else None
    if alike is not None:
        return [*alike]
    found: list[Receipt | None] = []
    has_one = False
    before = behind = ""
    topic_id = group_id = ""
    partition = generation = epoch = attempt = 0
    for text in texts:
        if not isinstance(text, str):
            found.append(None)
            continue
        if has_one and text.startswith(before) and text.endswith(behind):
            digits = text[len(before) : len(text) - len(behind)]
            if _offset_match(digits):
                same = topic_id, partition, int(digits), group_id, generation, epoch, attempt
                found.append(_new_tuple(Receipt, same))
                continue
        receipt = parse_receipt(text)
        found.append(receipt)
        if receipt is not None:
            has_one = True
            topic_id, partition, _, group_id, generation, epoch, attempt = receipt
            before, behind = _around_offset(receipt)
    return found


def _parse_alike(texts: Sequence[object]) -> list[Receipt] | None:
    """Receipts that differ in nothing but their offsets, without a step for each; None where some text is not one of
    them.

    Joined by line breaks they are cut where one ends and the next begins. As many pieces as texts, of digits alone:
    then no text had a line break of its own, and every cut is between two texts.
    """
    first = parse_receipt(texts[0]) if isinstance(texts[0], str) else None
    if first is None:
        return None
    before, behind = _around_offset(first)
    last = texts[-1]
    if not (isinstance(last, str) and last.startswith(before) and last.endswith(behind)):
        return None  # of several partitions, as a rule, which come one after the other
    try:
        joined = "\n".join(texts)  # type: ignore[arg-type]
    except TypeError:  # some are no texts
        return None
    pieces = joined[len(before) : len(joined) - len(behind)].split(f"{behind}\n{before}")
    digits = "".join(pieces)
    if len(pieces) != len(texts) or not (digits.isascii() and digits.isdecimal()):
        return None
    try:
        offsets = _decode_offsets(f"[{','.join(pieces)}]")  # which has no leading zeros, as an offset
    except (msgspec.DecodeError, ValueError):
        return None
    if max(offsets) >= _offset_end:
        return None
    topic_id, partition, _, group_id, generation, epoch, attempt = first
    return [
        _new_tuple(Receipt, (topic_id, partition, offset, group_id, generation, epoch, attempt)) for offset in offsets
    ]


def _around_offset(receipt: Receipt) -> tuple[str, str]:
    """What of a receipt's text is before its offset, and what is behind it."""
    topic_id, partition, _, group_id, generation, epoch, attempt = receipt
    return f"r-{topic_id}-{partition}-", f"-{group_id}-{generation}-{epoch}-{attempt}"


def id_from_bits(bits: int) -> str:
    """The text of a topic, group or directory id from 64 random bits."""
    return "".join(ALPHABET[(bits >> shift) & 31] for shift in range(60, -1, -5))
