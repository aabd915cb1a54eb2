"""How rows become requests: the same ones whatever batches they come in, bounded, in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acklog import OutgoingMessage
from pyspark_acklog.failures import WriteError
from pyspark_acklog.outgoing import OutgoingRow
from pyspark_acklog.request_cutter import MESSAGE_OVERHEAD_BYTES, Layout, OutgoingRequest, RequestCutter

LAYOUT = Layout("t", 4, frozenset({2}))
ROWS = st.lists(st.tuples(st.none() | st.sampled_from("abcdef"), st.integers(0, 300)), max_size=60)


def row(key: str | None, size_bytes: int, *, number: int = 0, partition: int | None = None) -> OutgoingRow:
    return OutgoingRow("t", OutgoingMessage(number, key, partition=partition), size_bytes)


def cut(
    rows: list[OutgoingRow], *, messages_max: int = 5, bytes_max: int = 1_000, buffered: int = 10**9
) -> list[OutgoingRequest]:
    cutter = RequestCutter(task=3, messages_max=messages_max, bytes_max=bytes_max, buffered_bytes_max=buffered)
    return [*[request for each in rows for request in cutter.add(each, LAYOUT)], *cutter.rest()]


@given(ROWS, st.integers(1, 7), st.integers(400, 2_000), st.integers(500, 5_000))
def test_every_row_once_in_its_key_s_order(
    given_rows: list[tuple[str | None, int]], messages_max: int, bytes_max: int, buffered: int
) -> None:
    rows = [row(key, size, number=number) for number, (key, size) in enumerate(given_rows)]
    requests = cut(rows, messages_max=messages_max, bytes_max=bytes_max, buffered=buffered)
    assert sorted(message.body for each in requests for message in each.messages) == list(range(len(rows)))
    assert [each.sequence for each in requests] == list(range(len(requests)))
    assert all(len(each.messages) <= messages_max for each in requests)
    assert all(each.size_bytes <= bytes_max or len(each.messages) == 1 for each in requests)
    assert all(each.partition in LAYOUT.active for each in requests)
    for key in "abcdef":
        sent = [(each.partition, message.body) for each in requests for message in each.messages if message.key == key]
        assert [number for _, number in sent] == sorted(number for _, number in sent)
        assert len({partition for partition, _ in sent}) <= 1
    again = cut(rows, messages_max=messages_max, bytes_max=bytes_max, buffered=buffered)
    assert [(each.partition, each.messages) for each in again] == [(each.partition, each.messages) for each in requests]


def test_rows_without_a_key_go_round() -> None:
    requests = cut([row(None, 1) for _ in range(20)])
    assert [each.partition for each in requests] == [0, 1, 3, 0]


def test_a_partition_of_its_own_counts() -> None:
    [request] = cut([row("a", 1, partition=2)])
    assert request.partition == 2
    with pytest.raises(WriteError, match="a row has partition 4, topic 't' 0 to 3"):
        cut([row("a", 1, partition=4)])


def test_nowhere_to_write() -> None:
    cutter = RequestCutter(task=0, messages_max=1, bytes_max=1)
    with pytest.raises(WriteError, match="all partitions of topic 't' are decommissioned"):
        list(cutter.add(row(None, 1), Layout("t", 1, frozenset({0}))))


def test_what_waits_is_bounded() -> None:
    cutter = RequestCutter(task=0, messages_max=1_000, bytes_max=10**6, buffered_bytes_max=3 * MESSAGE_OVERHEAD_BYTES)
    waiting = [len(list(cutter.add(OutgoingRow(f"t{n}", OutgoingMessage(n), 0), Layout(f"t{n}", 1)))) for n in range(5)]
    assert waiting == [0, 0, 0, 1, 1]
