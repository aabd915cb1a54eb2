"""Ids that clients take for UUIDs, and that say where a message is."""

from uuid import RFC_4122, UUID

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.identifiers import MessageId, ScheduleId, id_from_bits
from acklog.wire.record import Record, Schedule
from app.sqs.messages.message_ids import (
    sequence_number,
    sequence_number_of_delivered,
    uuid_of,
    uuid_of_delivered,
)
from storage.rpc.messages import DeliveredMessage

TOPIC, OTHER = id_from_bits(2**64 - 1), id_from_bits(5)

places = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 1023), st.integers(0, 2**47 - 1), st.booleans())


def uuid_at(place: tuple[int, int, int, bool]) -> str:
    topic, partition, offset, is_scheduled = place
    return uuid_of(id_from_bits(topic), partition, offset, is_scheduled=is_scheduled)


def delivered(record: Record, offset: int = 7) -> DeliveredMessage:
    return DeliveredMessage(TOPIC, 3, offset, 1, 0, 1, "r", record)


@given(places, places)
def test_a_place_has_one_id_and_an_id_one_place(one: tuple, other: tuple) -> None:
    assert (uuid_at(one) == uuid_at(other)) == (one == other)
    found = UUID(uuid_at(one))
    assert (found.version, found.variant, str(found)) == (8, RFC_4122, uuid_at(one))


def test_a_message_keeps_the_id_that_its_sender_was_told() -> None:
    here = uuid_of(TOPIC, 3, 7, is_scheduled=False)
    assert uuid_of_delivered(delivered(Record(b"1"))) == here
    scheduled = Record(b"1", schedule=Schedule(at_ms=5, id=str(ScheduleId(TOPIC, 2, 1, 9))))
    assert uuid_of_delivered(delivered(scheduled)) == uuid_of(TOPIC, 2, 9, is_scheduled=True)
    letter = {"acklog-dead-letter-message-id": str(MessageId(OTHER, 1, 4, 8))}
    assert uuid_of_delivered(delivered(Record(b"1", headers=letter))) == uuid_of(OTHER, 1, 8, is_scheduled=False)
    first = {**letter, "acklog-first-id": str(ScheduleId(OTHER, 0, 1, 2))}
    assert uuid_of_delivered(delivered(Record(b"1", headers=first))) == uuid_of(OTHER, 0, 2, is_scheduled=True)


def test_what_is_no_id_says_nothing() -> None:
    record = Record(b"1", headers={"acklog-first-id": "x"}, schedule=Schedule(id="y"))
    assert uuid_of_delivered(delivered(record)) == uuid_of(TOPIC, 3, 7, is_scheduled=False)


def test_sequence_numbers_have_20_digits_and_rise() -> None:
    numbers = [sequence_number(offset) for offset in (0, 1, 2**47)]
    assert numbers == sorted(numbers)
    assert {len(number) for number in numbers} == {20}
    assert sequence_number_of_delivered(delivered(Record(b"1"))) == sequence_number(7)
    scheduled = Record(b"1", schedule=Schedule(id=str(ScheduleId(TOPIC, 2, 1, 9))))
    assert sequence_number_of_delivered(delivered(scheduled)) == sequence_number(9)
