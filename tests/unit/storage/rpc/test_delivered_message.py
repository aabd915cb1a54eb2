"""A delivered message between a gateway and a node of different releases."""

import msgspec

from acklog.wire.record import Record
from storage.rpc.messages import DeliveredMessage


class _Earlier(msgspec.Struct, array_like=True):
    """As it was before it said when its first attempt failed."""

    topic_id: str
    partition: int
    offset: int
    leader_epoch: int
    append_time_ms: int
    attempt: int
    receipt: str
    record: Record


FIELDS = ("t", 1, 2, 3, 4, 5, "r", Record(b"1"))


def test_a_node_of_before_does_not_say_when_it_failed_first() -> None:
    found = msgspec.msgpack.decode(msgspec.msgpack.encode(_Earlier(*FIELDS)), type=DeliveredMessage)
    assert found == DeliveredMessage(*FIELDS)
    assert found.first_failed_ms == -1


def test_a_gateway_of_before_reads_the_rest() -> None:
    message = DeliveredMessage(*FIELDS, first_failed_ms=6)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=_Earlier) == _Earlier(*FIELDS)
