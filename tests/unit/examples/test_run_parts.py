"""The small parts of the run: lines, digests, who sends what, when to kill, percentiles."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from examples.flights import input_file
from examples.flights.input_file import SAMPLE_FILE, count_messages, find_input, read_messages
from examples.flights.killer import Restart
from examples.flights.message import Message, digest_of, parse_line
from examples.flights.producer import BatchQueue, distribute, producer_of
from examples.flights.send_ledger import SendLedger
from examples.flights.verification import check_kills
from examples.flights.work import StalledError, Work, watch_for_stalls
from examples.latencies import Latencies, percentile


def test_a_digest_tells_body_key_and_tags_apart() -> None:
    digests = {
        digest_of("k", ["t"], b"1"),
        digest_of("k", ["t"], b"1 "),
        digest_of("k", ["u"], b"1"),
        digest_of("l", ["t"], b"1"),
        digest_of(None, ["t"], b"1"),
        digest_of("k", None, b"1"),
    }
    assert len(digests) == 6
    assert all(0 <= digest < 1 << 63 for digest in digests)


def test_a_line_keeps_its_bytes_and_its_body_is_not_parsed() -> None:
    line = b'{"key":"N1","tags":["UA"],"body":"{\\"a\\": 1}"}'
    message = parse_line(7, line)
    assert (message.index, message.line, message.key) == (7, line, "N1")
    assert message.digest == digest_of("N1", ["UA"], b'"{\\"a\\": 1}"')
    with pytest.raises(msgspec.DecodeError):
        parse_line(0, b'{"key":"N1","other":1,"body":2}')


def test_the_sample_is_read_in_order_and_to_the_limit() -> None:
    assert count_messages(SAMPLE_FILE, None) == 2000
    assert count_messages(SAMPLE_FILE, 10) == 10
    assert [message.index for message in read_messages(SAMPLE_FILE, 5)] == [0, 1, 2, 3, 4]


def test_the_input_is_the_chosen_file_or_the_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(input_file.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(input_file, "SHARED_FILE", tmp_path / "missing")
    assert find_input() == SAMPLE_FILE
    monkeypatch.setenv(input_file.ENVIRONMENT_VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="ACKLOG_FLIGHTS"):
        find_input()


async def test_every_message_is_planned_once_and_a_key_stays_with_one_producer() -> None:
    def messages() -> Iterator[Message]:
        for index in range(100):
            yield Message(index, b"", None if index % 10 == 0 else f"key-{index % 7}", index)

    ledger = SendLedger()
    queues = [BatchQueue() for _ in range(3)]
    await distribute(messages(), ledger, queues, batch_size=8)
    assert len(ledger) == 100
    producers: dict[str | None, set[int]] = {}
    for number, queue in enumerate(queues):
        indexes: list[int] = []
        while (batch := queue.get_nowait()) is not None:
            assert 1 <= len(batch) <= 8
            indexes += [message.index for message in batch]
            for message in batch:
                producers.setdefault(message.key, set()).add(number)
        assert indexes == sorted(indexes)
    assert all(len(numbers) == 1 for key, numbers in producers.items() if key is not None)


def test_messages_without_a_key_take_turns() -> None:
    assert [producer_of(Message(index, b"", None, 0), 3) for index in range(4)] == [0, 1, 2, 0]


async def test_a_kill_waits_for_its_step() -> None:
    work = Work(10, ("a", "b"))
    assert work.steps_total == 30
    waiting = asyncio.create_task(work.reached(12))
    await asyncio.sleep(0)
    work.add_sent(10)
    await asyncio.sleep(0)
    assert not waiting.done()
    work.add_done("a", 2)
    await waiting
    assert not work.is_done("a")
    work.add_done("a", 8)
    assert work.is_done("a")


async def test_a_stall_is_an_error_that_says_how_far_the_run_was() -> None:
    work = Work(10, ("a",))
    work.add_sent(3)
    with pytest.raises(StalledError, match="3 of 10 sent"):
        await watch_for_stalls(work, stall_s=0)


@pytest.mark.parametrize(
    ("steps", "asked", "is_ok"), [([10, 20], 2, True), ([10], 2, False), ([10, 30], 2, False), ([0, 1], 2, False)]
)
def test_kills_must_have_come_in_the_middle(steps: list[int], asked: int, is_ok: bool) -> None:
    restarts = [Restart(step, 0.1) for step in steps]
    assert check_kills(restarts, asked=asked, steps_total=30).is_ok is is_ok


def test_percentiles_are_by_nearest_rank() -> None:
    ordered = [float(number) for number in range(1, 101)]
    assert [percentile(ordered, percent) for percent in (0, 50, 99, 99.9, 100)] == [1, 50, 99, 100, 100]
    assert math.isnan(percentile([], 50))
    latencies = Latencies()
    for seconds in (0.003, 0.001, 0.002):
        latencies.add(seconds)
    assert latencies.percentiles_ms([50]) == pytest.approx([2.0])
