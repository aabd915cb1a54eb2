"""What a message's producer said of it, as idempotency keys remember it."""

import msgspec

from acklog.wire.record import Record, Schedule

encode = msgspec.msgpack.Encoder().encode


def test_its_content_is_the_same_for_ever_wherever_its_sender_wants_it() -> None:
    """A retry comes through a gateway of another version: what came later to a record changes none of these bytes."""
    first = ("body", "key", None, None, None, None)
    plain = Record(b"body", "key")
    assert encode(plain.content()) == encode((b"body", *first[1:]))
    for is_bound in (False, True):
        later = Record(b"body", "key", schedule=Schedule(delay_ms=7, is_bound=is_bound))
        assert encode(later.content()) == encode((b"body", *first[1:], (-1, 7, "")))
        ending = Record(b"body", "key", schedule=Schedule(at_ms=9, is_bound=is_bound), ttl_ms=3)
        assert encode(ending.content()) == encode((b"body", *first[1:], (9, -1, ""), 3))
    assert encode(Record(b"body", "key", ttl_ms=3).content()) == encode((b"body", *first[1:], None, 3))


def test_a_schedule_of_an_earlier_version_is_read_and_one_of_a_later_one_too() -> None:
    decode = msgspec.msgpack.Decoder(Schedule).decode
    assert decode(encode([-1, 7, ""])) == Schedule(delay_ms=7)
    assert decode(encode([-1, 7, "", True, "more"])) == Schedule(delay_ms=7, is_bound=True)
