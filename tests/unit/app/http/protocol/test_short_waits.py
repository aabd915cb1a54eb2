"""Receives by the short way that wait, and answers that nobody takes: nothing stays leased for who is gone."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from app.configuration.server_settings import Settings
from app.http.answers.receive import CHUNK_BYTES
from app.http.protocol.answer_watch import AnswerWatch
from cluster.errors import ServerError
from tests.support.manual_clock import settle
from tests.unit.app.http.protocol.test_single_sends import Rig, post

WAITING = b"GET /messages?queue=orders&group=g&waitSeconds=20 HTTP/1.1\r\nhost: a\r\n\r\n"
NOW = b"GET /messages?queue=orders&group=g&max=1000&maxBytes=16000000 HTTP/1.1\r\nhost: a\r\n\r\n"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig(Settings(write_timeout_ms=20, request_bytes_in_flight_max=64 * 1024 * 1024))
    await rig.world.topic("orders")
    yield rig
    assert await rig.held_bytes() == 0
    assert rig.server.state.tasks == set()


def leases(rig: Rig) -> int:
    return rig.world.node.live_leases(rig.world.metadata.topics_by_name["orders"].id)


async def requests_counted(rig: Rig, status: int) -> bool:
    metrics = (await rig.exchange(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n")).decode()
    return f'acklog_http_requests_total{{method="GET",route="/messages",status="{status}"}} 1.0' in metrics


async def test_what_comes_while_it_waits_is_answered(rig: Rig) -> None:
    protocol, transport = rig.connect()
    protocol.data_received(WAITING)
    await settle()
    assert transport.written == b""
    await rig.exchange(post(b'{"queue":"orders","body":1}'))
    await settle()
    assert b'"body":1' in transport.written
    assert rig.server.asgi_requests == 0
    protocol.connection_lost(None)


async def test_who_leaves_while_it_waits_gets_nothing(rig: Rig) -> None:
    protocol, transport = rig.connect()
    protocol.data_received(WAITING)
    await settle()
    protocol.connection_lost(ConnectionResetError())
    await settle()
    assert rig.server.state.tasks == set(), "nobody waits any more"
    await rig.exchange(post(b'{"queue":"orders","body":1}'))
    await settle()
    assert (transport.written, leases(rig)) == (b"", 0)
    assert await requests_counted(rig, 499)


async def test_who_leaves_with_another_request_behind_it_gets_nothing(rig: Rig) -> None:
    protocol, transport = rig.connect()
    protocol.data_received(WAITING + post(b'{"queue":"orders","body":1}'))
    await settle()
    assert not protocol.flow.read_paused, "nobody would see the client go"
    protocol.connection_lost(None)
    await settle()
    assert (transport.written, leases(rig)) == (b"", 0)


async def test_who_has_left_when_the_messages_are_there_gives_them_back(rig: Rig) -> None:
    await rig.exchange(post(b'{"queue":"orders","body":1}'))
    protocol, transport = rig.connect()
    protocol.data_received(NOW)
    protocol.eof_received()
    transport.close()
    await settle()
    assert (transport.written, leases(rig)) == (b"", 0)
    protocol.connection_lost(None)


async def test_a_stop_answers_who_waits(rig: Rig) -> None:
    protocol, transport = rig.connect()
    protocol.data_received(WAITING)
    await settle()
    rig.world.gateway.shutdown.begin()
    await settle()
    assert json.loads(transport.written.partition(b"\r\n\r\n")[2])["reason"] == "SHUTTING_DOWN"
    protocol.connection_lost(None)


async def test_who_is_cancelled_is_dropped(rig: Rig) -> None:
    """The time for an orderly stop is over."""
    protocol, transport = rig.connect()
    protocol.data_received(WAITING)
    await settle()
    [task] = rig.server.state.tasks
    task.cancel()
    await settle()
    assert (transport.written, transport.is_closing()) == (b"", True)
    protocol.connection_lost(None)


class SlowReader:
    """Its buffers are full after so many bytes, until it reads."""

    def __init__(self, rig: Rig, *, full_at_bytes: int) -> None:
        self.protocol, self.transport = rig.connect()
        self._full_at_bytes = full_at_bytes
        self._write: Callable[[Any], None] = self.transport.write
        self.transport.write = self._written  # type: ignore[method-assign]

    def _written(self, data: Any) -> None:
        self._write(data)
        if len(self.transport.written) > self._full_at_bytes:
            self.protocol.pause_writing()


async def filled(rig: Rig) -> None:
    """With more than goes out in one piece."""
    message = {"body": "x" * (CHUNK_BYTES // 10)}
    await rig.exchange(post(json.dumps({"queue": "orders", "messages": [message] * 30}).encode()))


async def test_a_large_answer_waits_for_its_reader(rig: Rig) -> None:
    await filled(rig)
    reader = SlowReader(rig, full_at_bytes=CHUNK_BYTES)
    reader.protocol.data_received(NOW)
    await settle()
    part = len(reader.transport.written)
    assert CHUNK_BYTES < part < 2 * CHUNK_BYTES
    for _ in range(3):
        reader.protocol.resume_writing()
        await settle()
    head, _, body = reader.transport.written.partition(b"\r\n\r\n")
    assert len(json.loads(body)["messages"]) == 30
    assert b"content-length: %d\r\n" % len(body) in head
    assert leases(rig) == 30
    reader.protocol.connection_lost(None)


async def test_a_large_answer_whose_reader_leaves_goes_back(rig: Rig) -> None:
    await filled(rig)
    reader = SlowReader(rig, full_at_bytes=CHUNK_BYTES)
    reader.protocol.data_received(NOW)
    await settle()
    assert leases(rig) == 30
    reader.protocol.connection_lost(None)
    await settle()
    assert leases(rig) == 0
    assert await requests_counted(rig, 499)


async def test_a_large_answer_whose_reader_does_not_read_goes_back(rig: Rig) -> None:
    await filled(rig)
    reader = SlowReader(rig, full_at_bytes=CHUNK_BYTES)
    reader.protocol.data_received(NOW)
    await asyncio.wait_for(reader.transport.closed.wait(), 5)
    await settle()
    assert leases(rig) == 0
    reader.protocol.connection_lost(None)


class Somebody:
    """An answer's reader, and whether who asks is still let in."""

    def __init__(self) -> None:
        self.is_gone = False
        self.listener: Callable[[], None] | None = None
        self.refuse: Callable[[Exception], None] = lambda _error: None

    def on_gone(self, listener: Callable[[], None] | None) -> None:
        self.listener = listener

    def watch(self, on_refused: Callable[[Exception], None]) -> Callable[[], None]:
        self.refuse = on_refused
        return lambda: None


def watch_of(rig: Rig, somebody: Any) -> AnswerWatch:
    return AnswerWatch(somebody, rig.world.gateway.shutdown, lambda: somebody)


async def test_who_is_not_let_in_any_more_is_told_so(rig: Rig) -> None:
    somebody = Somebody()
    waiting = asyncio.create_task(watch_of(rig, somebody).wait(asyncio.sleep(60)))
    await settle()
    somebody.refuse(ServerError(ProblemCode.TOKEN_EXPIRED, "over"))
    with pytest.raises(ServerError, match="over"):
        await waiting
    assert (somebody.listener, waiting.cancelling()) == (None, 0)


async def test_a_task_that_is_cancelled_by_others_stays_so(rig: Rig) -> None:
    waiting = asyncio.create_task(watch_of(rig, Somebody()).wait(asyncio.sleep(60)))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_it_may_wait_again_when_it_has_not_given_up(rig: Rig) -> None:
    watch = watch_of(rig, Somebody())
    assert await watch.wait(asyncio.sleep(0, "first")) == "first"
    assert await watch.wait(asyncio.sleep(0, "second")) == "second"


async def test_who_is_gone_already_waits_for_nothing(rig: Rig) -> None:
    somebody = Somebody()
    somebody.is_gone = True
    assert await watch_of(rig, somebody).wait(asyncio.sleep(60)) is None


async def never_begun() -> None:
    raise AssertionError("what nobody waits for is not begun")


async def test_who_gives_up_at_once_has_time_to_answer(rig: Rig) -> None:
    """A task that cancelled itself and never waited would be cancelled later on, while it answers."""
    rig.world.gateway.shutdown.begin()
    waiting = watch_of(rig, Somebody()).wait(never_begun())
    assert await waiting is None
    await asyncio.sleep(0)


async def test_who_is_not_let_in_from_the_beginning_is_told_so(rig: Rig) -> None:
    class Stranger(Somebody):
        def watch(self, on_refused: Callable[[Exception], None]) -> Callable[[], None]:
            on_refused(ServerError(ProblemCode.TOKEN_EXPIRED, "over"))
            return super().watch(on_refused)

    with pytest.raises(ServerError, match="over"):
        await watch_of(rig, Stranger()).wait(never_begun())
    await asyncio.sleep(0)


def test_every_problem_has_a_status_line() -> None:
    assert {code.status for code in ProblemCode} <= {each.value for each in HTTPStatus}
