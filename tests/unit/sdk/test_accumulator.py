import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.errors import ClientClosed
from acklog.producer.accumulator import Accumulator
from acklog.producer.batch import MESSAGE_OVERHEAD_BYTES, Batch
from acklog.producer.producer_settings import ProducerSettings

MIB = 1024 * 1024


def made(**options: int) -> Accumulator:
    return Accumulator(ProducerSettings(**options))  # type: ignore[arg-type]


def add(accumulator: Accumulator, part: bytes, lane: int = 0, now_ms: float = 0.0) -> tuple[Batch, int] | None:
    return accumulator.add(part, lane, lambda: now_ms)


def test_a_batch_waits_for_more_messages_and_no_longer() -> None:
    accumulator = made(linger_ms=5)
    assert add(accumulator, b"1", now_ms=100) is not None
    assert accumulator.needs_attention
    assert accumulator.take_due(104) == []
    assert accumulator.next_due_ms() == 105
    [batch] = accumulator.take_due(105)
    assert batch.parts == [b"1"]
    assert accumulator.next_due_ms() is None


def test_a_full_batch_does_not_wait() -> None:
    accumulator = made(linger_ms=1000, batch_messages_max=2)
    places = [add(accumulator, b"%d" % number) for number in range(5)]
    assert [place[1] for place in places if place] == [0, 1, 0, 1, 0]
    [first] = accumulator.take_due(0)
    assert first.parts == [b"0", b"1"]


def test_a_batch_is_bounded_in_bytes_and_a_larger_message_goes_alone() -> None:
    accumulator = made(batch_bytes_max=10, linger_ms=0)
    for part in (b"12345", b"1234", b"12345678901234567890", b"1"):
        add(accumulator, part)
    batches = []
    while due := accumulator.take_due(0):
        batches += due
        for batch in due:
            accumulator.release(batch)
    assert [batch.parts for batch in batches] == [[b"12345", b"1234"], [b"12345678901234567890"], [b"1"]]


def test_one_batch_of_a_lane_is_on_its_way_at_a_time() -> None:
    accumulator = made(batch_messages_max=1)
    for number in range(3):
        add(accumulator, b"%d" % number)
    [first] = accumulator.take_due(0)
    assert accumulator.take_due(1000) == []
    accumulator.release(first)
    [second] = accumulator.take_due(1000)
    assert (first.parts, second.parts) == ([b"0"], [b"1"])


def test_a_key_and_a_partition_have_one_lane_each() -> None:
    accumulator = made(requests_in_flight_max=4)
    assert len({accumulator.lane_of("customer-7", None) for _ in range(10)}) == 1
    assert {accumulator.lane_of(f"customer-{number}", None) for number in range(100)} == {0, 1, 2, 3}
    assert accumulator.lane_of("customer-7", 6) == 2
    assert accumulator.lane_of(None, None) == -1


def test_messages_without_a_key_fill_one_batch_after_the_other() -> None:
    accumulator = made(batch_messages_max=2, requests_in_flight_max=3)
    for number in range(6):
        add(accumulator, b"%d" % number, -1)
    assert sorted(batch.parts for batch in accumulator.take_due(0)) == [[b"0", b"1"], [b"2", b"3"], [b"4", b"5"]]


def test_the_buffer_is_full_exactly_at_its_limit() -> None:
    accumulator = made(buffer_bytes_max=2 * MIB, linger_ms=0)
    part = b"x" * (MIB - MESSAGE_OVERHEAD_BYTES)
    assert add(accumulator, part) is not None
    assert add(accumulator, part) is not None
    assert accumulator.buffered_bytes == 2 * MIB
    assert add(accumulator, b"") is None
    [batch] = accumulator.take_due(0)
    accumulator.release(batch)
    assert add(accumulator, b"") is not None


def test_a_message_larger_than_the_buffer_is_taken_alone() -> None:
    accumulator = made(buffer_bytes_max=2 * MIB)
    assert add(accumulator, b"x" * 3 * MIB) is not None
    assert add(accumulator, b"x") is None


def test_nothing_is_taken_after_the_close() -> None:
    accumulator = made()
    accumulator.close()
    with pytest.raises(ClientClosed):
        add(accumulator, b"x")


def test_a_flush_names_every_batch_that_is_not_decided() -> None:
    accumulator = made(batch_messages_max=2, linger_ms=1000)
    for number in range(5):
        add(accumulator, b"%d" % number)
    [flying] = accumulator.take_due(0)
    assert [batch.parts for batch in accumulator.seal_all()] == [flying.parts, [b"2", b"3"], [b"4"]]
    assert accumulator.next_due_ms() is None
    assert accumulator.take_unsent() != []
    assert accumulator.buffered_messages == 2


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(-1, 3), st.integers(0, 40)),
            st.tuples(st.just("send"), st.integers(0, 20), st.just(0)),
            st.tuples(st.just("release"), st.integers(0, 10), st.just(0)),
        ),
        max_size=120,
    ),
    messages_max=st.integers(1, 5),
    bytes_max=st.integers(1, 60),
)
def test_every_message_goes_once_in_the_order_of_its_lane(
    steps: list[tuple[str, int, int]], messages_max: int, bytes_max: int
) -> None:
    accumulator = made(batch_messages_max=messages_max, batch_bytes_max=bytes_max, linger_ms=5)
    added: dict[int, list[bytes]] = {}
    sent: dict[int, list[bytes]] = {}
    flying: list[Batch] = []
    now_ms = 0.0
    for number, (kind, value, size) in enumerate(steps):
        if kind == "add":
            part = b"%d " % number + b"x" * size
            place = add(accumulator, part, value, now_ms)
            assert place is not None
            added.setdefault(place[0].lane, []).append(part)
        elif kind == "send":
            now_ms += value
            for batch in accumulator.take_due(now_ms):
                assert len(batch.parts) <= messages_max
                assert batch.size_bytes <= bytes_max + 1 or len(batch.parts) == 1
                assert batch.lane not in [other.lane for other in flying]
                sent.setdefault(batch.lane, []).extend(batch.parts)
                flying.append(batch)
        elif flying:
            accumulator.release(flying.pop(value % len(flying)))
        accumulator.check_invariants()
    for batch in flying:
        accumulator.release(batch)
    accumulator.seal_all()
    while due := accumulator.take_due(now_ms):
        for batch in due:
            sent.setdefault(batch.lane, []).extend(batch.parts)
            accumulator.release(batch)
    assert sent == added
    assert accumulator.buffered_bytes == accumulator.buffered_messages == 0
