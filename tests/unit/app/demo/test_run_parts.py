"""The small parts of the run: lines, digests, the input, when to kill, percentiles."""

import asyncio
import gzip
import json
from pathlib import Path

import msgspec
import pytest

from app.demo.findings import PromiseCheck
from app.demo.input_file import SAMPLE, FlightFile, InputError
from app.demo.killer import VictimRestart
from app.demo.message import digest_of, parse_line
from app.demo.options import BATCH_MAX, Options
from app.demo.verification import check_kills
from app.demo.work import StalledError, Work, watch_for_stalls
from examples.flights.__main__ import demo_arguments
from examples.latencies import percentile

LINE = b'{"key":"N1","tags":["UA"],"body":"{\\"a\\": 1}"}'


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


def test_a_body_keeps_its_bytes_and_is_not_parsed() -> None:
    message = parse_line(7, LINE)
    assert (message.index, bytes(message.body), message.key) == (7, b'"{\\"a\\": 1}"', "N1")
    assert message.digest == digest_of("N1", ["UA"], b'"{\\"a\\": 1}"')
    with pytest.raises(msgspec.DecodeError):
        parse_line(0, b'{"key":"N1","other":1,"body":2}')


def test_laps_make_messages_that_differ() -> None:
    first, second = parse_line(0, LINE), parse_line(1, LINE, lap=2)
    assert (first.tags, second.tags) == (["UA"], ["UA", "lap-2"])
    assert first.digest != second.digest


class TestFlightFile:
    def test_the_sample_is_read_in_order_and_to_the_limit(self) -> None:
        sample = FlightFile(SAMPLE)
        assert sample.count() == 2000
        assert [message.index for message in sample.messages(5)] == [0, 1, 2, 3, 4]

    def test_the_sample_is_small_enough_to_be_installed(self) -> None:
        assert len(SAMPLE.read_bytes()) < 300_000

    def test_it_is_begun_again_at_its_end(self, tmp_path: Path) -> None:
        path = tmp_path / "three.ndjson"
        path.write_bytes(LINE + b"\n" + LINE + b"\r\n" + LINE)
        messages = list(FlightFile.at(str(path)).messages(7))
        assert [message.index for message in messages] == list(range(7))
        assert [len(message.tags) for message in messages] == [1, 1, 1, 2, 2, 2, 2]
        assert len({message.digest for message in messages}) == 3

    def test_what_cannot_be_read_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="there is no file"):
            FlightFile.at(str(tmp_path / "missing"))
        empty = tmp_path / "empty.ndjson"
        empty.touch()
        with pytest.raises(InputError, match="is empty"):
            FlightFile.at(str(empty)).count()
        plain = tmp_path / "plain.gz"
        plain.write_bytes(LINE)
        with pytest.raises(InputError, match="cannot be read"):
            FlightFile.at(str(plain)).count()
        torn = tmp_path / "torn.gz"
        torn.write_bytes(gzip.compress(LINE * 1000)[:-20])
        with pytest.raises(InputError, match="cannot be read"):
            FlightFile.at(str(torn)).count()

    def test_a_line_that_is_no_message_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "bad.ndjson"
        path.write_bytes(LINE + b'\n{"key": 1}\n')
        with pytest.raises(InputError, match=r"line 2 of bad\.ndjson is not a message"):
            FlightFile.at(str(path)).count()
        with pytest.raises(InputError, match=r"line 2 of bad\.ndjson is not a message"):
            list(FlightFile.at(str(path)).messages(2))


class TestWork:
    async def test_a_kill_waits_for_its_step(self) -> None:
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

    async def test_a_group_that_has_done_everything_is_finished(self) -> None:
        work = Work(2, ("a", "b"))
        waiting = asyncio.create_task(work.finished("a"))
        work.add_done("b", 2)
        work.add_done("a", 1)
        await asyncio.sleep(0)
        assert not waiting.done()
        work.add_done("a", 1)
        await waiting

    async def test_a_stall_is_an_error_that_says_how_far_the_run_was(self) -> None:
        work = Work(10, ("a",))
        work.add_sent(3)
        with pytest.raises(StalledError, match="3 of 10 sent, a has done 0"):
            await watch_for_stalls(work, stall_s=0)


@pytest.mark.parametrize(
    ("steps", "asked", "is_ok"), [([10, 20], 2, True), ([10], 2, False), ([10, 30], 2, False), ([0, 1], 2, False)]
)
def test_kills_must_have_come_in_the_middle(steps: list[int], asked: int, is_ok: bool) -> None:
    restarts = [VictimRestart(step, 0.1, 0.2) for step in steps]
    assert check_kills(PromiseCheck("kills", len(restarts)), restarts, asked=asked, steps_total=30).is_ok is is_ok


@pytest.mark.parametrize(("messages", "size"), [(1, 1), (100, 2), (2000, 40), (336_776, BATCH_MAX)])
def test_batches_are_smaller_where_there_is_less_to_do(messages: int, size: int) -> None:
    assert Options(messages=messages).batch_size == size


class TestLauncher:
    def test_the_year_is_taken_where_it_is(self, tmp_path: Path) -> None:
        year = tmp_path / "year.gz"
        assert demo_arguments(["--json"], {}, year) == ["demo", "--json"]
        year.touch()
        assert demo_arguments(["--json"], {}, year) == ["demo", "--input", str(year), "--json"]
        assert demo_arguments(["--cluster", "-q"], {}, year) == ["cluster", "demo", "--input", str(year), "-q"]

    def test_another_input_goes_before_it(self, tmp_path: Path) -> None:
        year = tmp_path / "year.gz"
        year.touch()
        assert demo_arguments(["--input", "x"], {}, year) == ["demo", "--input", "x"]
        assert demo_arguments(["--input=x"], {}, year) == ["demo", "--input=x"]
        assert demo_arguments([], {"ACKLOG_FLIGHTS": "x"}, year) == ["demo"]


def test_percentiles_are_by_nearest_rank() -> None:
    ordered = [float(number) for number in range(1, 101)]
    assert [percentile(ordered, percent) for percent in (0, 50, 99, 99.9, 100)] == [1, 50, 99, 100, 100]
    assert json.dumps(percentile([], 50)) == "NaN"
