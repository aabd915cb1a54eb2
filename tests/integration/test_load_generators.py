"""What the load generators count, and from when they measure; with a server that is a few lines of this test."""

import asyncio
import time
from collections.abc import Callable

import pytest

from loadtests.http_connection import LOST, Answer, HttpConnection
from loadtests.load import LoadFailedError, closed_loop, open_loop


class Answering(HttpConnection):
    """A connection whose answers come from a function of the request's number, some turns of the loop later."""

    def __init__(self, answer_of: Callable[[int], Answer | None]) -> None:
        super().__init__()
        self.requests = 0
        self._answer_of = answer_of

    def send(self, request: bytes, on_answer: Callable[[Answer], None]) -> None:
        answer = self._answer_of(self.requests)
        self.requests += 1
        if answer is not None:
            asyncio.get_running_loop().call_soon(on_answer, answer)


pytestmark = pytest.mark.integration

STORED = Answer(201, b"")


async def test_a_closed_loop_counts_only_answers_with_the_expected_status() -> None:
    connection = Answering(lambda number: STORED if number % 2 else Answer(503, b""))
    result = await closed_loop([connection], [b"a", b"b", b"c"], seconds=0.02, warm_up_s=0, answers_max=100_000)
    assert result.answers > 0
    assert abs(result.answers - result.errors) <= 1
    assert result.answers + result.errors in (connection.requests, connection.requests - 1)
    assert result.latencies == sorted(result.latencies)


async def test_a_closed_loop_ends_when_the_connection_is_lost() -> None:
    result = await closed_loop([Answering(lambda _: LOST)], [b"a"], seconds=0.02, warm_up_s=0, answers_max=100_000)
    assert (result.answers, result.errors) == (0, 1)


async def test_a_closed_loop_ends_early_when_enough_were_counted() -> None:
    connections = [Answering(lambda _: STORED) for _ in range(3)]
    result = await closed_loop(connections, [b"a"], seconds=30, warm_up_s=0, answers_max=50)
    assert result.answers == 50
    assert 0 < result.seconds < 30
    assert result.rate == 50 / result.seconds


async def test_a_warm_up_is_not_counted() -> None:
    connection = Answering(lambda _: STORED)
    result = await closed_loop([connection], [b"a"], seconds=0.01, warm_up_s=0.02, answers_max=100_000)
    assert 0 < result.answers < connection.requests


async def test_an_open_loop_sends_as_many_as_the_rate_says() -> None:
    connections = [Answering(lambda _: STORED) for _ in range(4)]
    result = await open_loop(connections, [b"a"], rate=2000, seconds=0.05, warm_up_s=0.05, is_spinning=True)
    assert sum(connection.requests for connection in connections) == 200
    assert result.answers == 100
    assert result.errors == 0


async def test_an_open_loop_measures_from_the_intended_moment() -> None:
    """One connection, and an answer that takes as long as 20 requests: those behind it have waited, too."""
    connection = Answering(lambda _: STORED)
    loop = asyncio.get_running_loop()
    send = connection.send

    def slow_first(request: bytes, on_answer: Callable[[Answer], None]) -> None:
        if connection.requests == 0:
            connection.requests += 1
            loop.call_later(0.02, on_answer, STORED)
        else:
            send(request, on_answer)

    connection.send = slow_first  # type: ignore[method-assign]
    result = await open_loop([connection], [b"a"], rate=1000, seconds=0.04, warm_up_s=0, is_spinning=False)
    assert result.answers == 40
    assert sum(latency > 0.009 for latency in result.latencies) >= 10


async def test_a_late_load_generator_says_so_and_counts_it_as_latency() -> None:
    """The process is held up for as long as 30 requests: they are late, and none is left out."""
    loop = asyncio.get_running_loop()
    connections = [Answering(lambda _: STORED) for _ in range(64)]
    loop.call_later(0.01, time.sleep, 0.03)
    result = await open_loop(connections, [b"a"], rate=1000, seconds=0.06, warm_up_s=0, is_spinning=False)
    assert result.answers == len(result.lateness) == len(result.latencies) == 60
    assert result.lateness == sorted(result.lateness)
    assert sum(late > 0.009 for late in result.lateness) >= 15
    assert sum(latency > 0.009 for latency in result.latencies) >= 15


async def test_lateness_leaves_the_warm_up_out() -> None:
    connections = [Answering(lambda _: STORED) for _ in range(4)]
    result = await open_loop(connections, [b"a"], rate=2000, seconds=0.02, warm_up_s=0.03, is_spinning=True)
    assert len(result.lateness) == 40


async def test_an_open_loop_on_a_lost_connection_fails() -> None:
    with pytest.raises(LoadFailedError, match="closed a connection"):
        await open_loop([Answering(lambda _: LOST)], [b"a"], rate=1000, seconds=0.05, warm_up_s=0, is_spinning=False)


async def test_what_an_open_loop_gets_no_answer_to_counts_with_its_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadtests.load.DRAIN_TIMEOUT_S", 0.02)
    connection = Answering(lambda number: STORED if number < 10 else None)
    result = await open_loop([connection], [b"a"], rate=1000, seconds=0.04, warm_up_s=0, is_spinning=False)
    assert (result.answers, result.errors) == (10, 30)
    assert len(result.latencies) == 40
    assert result.latencies[-1] >= 0.02
