"""What a caller of a remote node learns when things go wrong, on virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.rpc import messages, methods
from storage.rpc.client import RemoteNode
from storage.rpc.framing import FrameDecoder, FrameKind, encode_frame
from storage.rpc.handshake import NEWEST_VERSION, OLDEST_VERSION, ProtocolVersions, Welcome
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.transport import Stream
from tests.sim.environment import MachineClock, SimClock, SimEntropy
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_node import ANSWERS, REQUESTS, FakeNode
from tests.support.memory_transport import MemoryTransport


class _Pair:
    """A node, its server, and a client of it."""

    def __init__(self, loop: SimLoop, settings: RpcClientSettings, server_settings: RpcServerSettings) -> None:
        self.loop = loop
        self.node = FakeNode()
        self.transport = MemoryTransport(cuts=random.Random(1))
        self.server = NodeServer(self.node, self.transport, settings=server_settings)
        self.client = RemoteNode(
            self.transport, "node", clock=SimClock(MachineClock(loop)), entropy=SimEntropy(1), settings=settings
        )

    async def start(self) -> None:
        await self.server.start("node")


def run(
    scenario: Callable[[_Pair], Awaitable[None]],
    settings: RpcClientSettings | None = None,
    server_settings: RpcServerSettings | None = None,
) -> None:
    """The scenario under a few orders of events; afterwards nothing is in flight and nothing runs."""

    async def main(loop: SimLoop) -> None:
        pair = _Pair(loop, settings or RpcClientSettings(), server_settings or RpcServerSettings())
        await pair.start()
        await scenario(pair)
        await pair.client.close()
        await pair.server.close()
        await asyncio.sleep(1)
        assert (pair.client.in_flight_requests, pair.client.in_flight_bytes) == (0, 0)
        assert pair.server.connections == 0
        assert len(asyncio.all_tasks()) == 1

    for seed in range(5):
        simulate(seed, main)


async def fails_with(code: ProblemCode, call: Coroutine[Any, Any, object]) -> ServerError:
    with pytest.raises(ServerError) as caught:
        await call
    assert caught.value.code is code
    return caught.value


CHANGING = ["produce", "settle", "seek", "receive and acknowledge"]
READING = ["receive", "inspect", "records", "positions"]


def _call(client: RemoteNode, what: str) -> Coroutine[Any, Any, object]:
    if what == "receive and acknowledge":
        return client.receive(messages.ReceiveRequest(["t"], "g", "c", 1, 1, auto_ack=True))
    if what == "seek":
        return client.seek(messages.SeekRequest("t", 0, "g", "earliest"))
    return getattr(client, what)(REQUESTS[what])  # type: ignore[no-any-return]


@pytest.mark.parametrize("what", [*CHANGING, *READING])
def test_nobody_at_the_address_is_unavailable(what: str) -> None:
    async def scenario(pair: _Pair) -> None:
        pair.transport.is_cut = True
        error = await fails_with(ProblemCode.UNAVAILABLE, _call(pair.client, what))
        assert error.retry_after_ms is not None

    run(scenario)


@pytest.mark.parametrize(
    ("what", "code"),
    [(what, ProblemCode.OUTCOME_UNKNOWN) for what in CHANGING] + [(what, ProblemCode.TIMED_OUT) for what in READING],
)
def test_a_sent_request_without_an_answer_in_time(what: str, code: ProblemCode) -> None:
    async def scenario(pair: _Pair) -> None:
        pair.node.hold(what.split()[0])
        await fails_with(code, _call(pair.client, what))
        await asyncio.sleep(0.1)
        assert pair.node.cancelled == [what.split()[0]]

    run(scenario)


@pytest.mark.parametrize(
    ("what", "code"),
    [(what, ProblemCode.OUTCOME_UNKNOWN) for what in CHANGING] + [(what, ProblemCode.UNAVAILABLE) for what in READING],
)
def test_a_connection_that_breaks_after_the_request_was_sent(what: str, code: ProblemCode) -> None:
    async def scenario(pair: _Pair) -> None:
        pair.node.hold(what.split()[0])
        call = asyncio.create_task(_call(pair.client, what))
        await asyncio.sleep(0.1)
        pair.transport.streams[1].abort()
        await fails_with(code, _wait(call))
        await asyncio.sleep(0.1)
        assert pair.node.cancelled == [what.split()[0]]

    run(scenario)


async def _wait(call: "asyncio.Task[object]") -> object:
    return await call


@pytest.mark.parametrize("what", CHANGING)
def test_a_request_that_waited_for_a_stalled_stream_was_never_sent(what: str) -> None:
    async def scenario(pair: _Pair) -> None:
        assert await pair.client.positions(REQUESTS["positions"]) == ANSWERS["positions"]
        pair.transport.streams[1].pause_reading()
        filler = asyncio.create_task(pair.client.produce(messages.ProduceRequest("t", 0, bytearray(100_000))))
        await asyncio.sleep(0.1)
        await fails_with(ProblemCode.UNAVAILABLE, _call(pair.client, what))
        await fails_with(ProblemCode.OUTCOME_UNKNOWN, _wait(filler))
        assert [name for name, _ in pair.node.seen] == ["positions"]

    run(scenario)


def test_an_append_has_its_own_deadline_and_a_margin() -> None:
    async def scenario(pair: _Pair) -> None:
        pair.node.hold("produce")
        await fails_with(
            ProblemCode.OUTCOME_UNKNOWN,
            pair.client.produce(messages.ProduceRequest("t", 0, bytearray(b"x"), timeout_ms=2000)),
        )
        assert pair.loop.time() == pytest.approx(3.0)

    run(scenario)


def test_dialling_that_hangs_ends() -> None:
    async def scenario(pair: _Pair) -> None:
        pair.transport.hang = True
        await fails_with(ProblemCode.UNAVAILABLE, pair.client.settle(REQUESTS["settle"]))
        assert pair.loop.time() == pytest.approx(3.0)

    run(scenario)


def test_the_pause_between_dials_grows_up_to_its_limit_and_ends_with_an_answer() -> None:
    async def scenario(pair: _Pair) -> None:
        pair.transport.is_cut = True
        pauses = []
        for _ in range(12):
            error = await fails_with(ProblemCode.UNAVAILABLE, pair.client.positions(REQUESTS["positions"]))
            assert error.retry_after_ms is not None
            dials = pair.transport.dials
            await fails_with(ProblemCode.UNAVAILABLE, pair.client.positions(REQUESTS["positions"]))
            assert pair.transport.dials == dials  # not dialled within the pause
            pauses.append(error.retry_after_ms)
            await asyncio.sleep(error.retry_after_ms / 1000)
        assert pauses[0] <= 50
        assert 2500 <= pauses[-1] <= 5000
        pair.transport.is_cut = False
        assert await pair.client.positions(REQUESTS["positions"]) == ANSWERS["positions"]
        pair.transport.streams[-1].abort()
        await asyncio.sleep(0.01)
        assert await pair.client.positions(REQUESTS["positions"]) == ANSWERS["positions"]  # at once

    run(scenario)


def test_a_server_that_hangs_up_at_once_is_not_dialled_in_a_tight_loop() -> None:
    async def scenario(pair: _Pair) -> None:
        for _ in range(50):
            await fails_with(ProblemCode.UNAVAILABLE, pair.client.positions(REQUESTS["positions"]))
            await asyncio.sleep(0.01)
        assert pair.transport.dials < 8

    run(scenario, server_settings=RpcServerSettings(gateway_connections_max=0))


def test_too_many_unanswered_requests() -> None:
    async def scenario(pair: _Pair) -> None:
        gate = pair.node.hold("seek")
        calls = [asyncio.create_task(pair.client.seek(REQUESTS["seek"])) for _ in range(3)]
        await asyncio.sleep(0.1)
        error = await fails_with(ProblemCode.OVERLOADED, pair.client.seek(REQUESTS["seek"]))
        assert error.retry_after_ms == 100
        gate.set()
        assert await asyncio.gather(*calls) == [ANSWERS["seek"]] * 3
        assert await pair.client.seek(REQUESTS["seek"]) == ANSWERS["seek"]

    run(scenario, RpcClientSettings(in_flight_requests_max=3))


def test_too_many_requests_that_wait_for_the_dial() -> None:
    async def scenario(pair: _Pair) -> None:
        pair.transport.hang = True
        calls = [asyncio.create_task(pair.client.seek(REQUESTS["seek"])) for _ in range(3)]
        await asyncio.sleep(0.1)
        await fails_with(ProblemCode.OVERLOADED, pair.client.seek(REQUESTS["seek"]))
        for call in calls:
            await fails_with(ProblemCode.UNAVAILABLE, _wait(call))

    run(scenario, RpcClientSettings(in_flight_requests_max=3))


def test_too_many_unanswered_bytes_but_one_request_always_fits() -> None:
    async def scenario(pair: _Pair) -> None:
        gate = pair.node.hold("produce")
        call = asyncio.create_task(pair.client.produce(messages.ProduceRequest("t", 0, bytearray(5000))))
        await asyncio.sleep(0.1)
        await fails_with(ProblemCode.OVERLOADED, pair.client.produce(messages.ProduceRequest("t", 0, bytearray(1))))
        gate.set()
        assert await call == ANSWERS["produce"]

    run(scenario, RpcClientSettings(in_flight_bytes_max=4000))


def test_a_batch_beyond_the_frame_limit_is_refused_and_nothing_else_suffers() -> None:
    async def scenario(pair: _Pair) -> None:
        await fails_with(
            ProblemCode.REQUEST_TOO_LARGE, pair.client.produce(messages.ProduceRequest("t", 0, bytearray(40 << 20)))
        )
        assert await pair.client.seek(REQUESTS["seek"]) == ANSWERS["seek"]

    run(scenario)


def test_leases_of_an_answer_that_crossed_the_callers_leaving_are_returned() -> None:
    async def scenario(pair: _Pair) -> None:
        gate = pair.node.hold("receive")
        call = asyncio.create_task(pair.client.receive(REQUESTS["receive"]))
        await asyncio.sleep(0.1)
        pair.transport.streams[0].pause_reading()  # the client hears nothing for a while
        gate.set()
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.wait([call])
        pair.transport.streams[0].resume_reading()
        await asyncio.sleep(0.1)
        _assert_released(pair.node)

    run(scenario)


def test_leases_whose_answer_cannot_be_written_are_returned() -> None:
    async def scenario(pair: _Pair) -> None:
        async def settle_then_answer(request: object) -> messages.ReceiveResponse:
            """As a node that ignores being cancelled: it has leased already."""
            pair.node.seen.append(("receive", request))
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                await asyncio.sleep(0.01)
            return ANSWERS["receive"]  # type: ignore[no-any-return]

        pair.node.receive = settle_then_answer  # type: ignore[method-assign]
        call = asyncio.create_task(pair.client.receive(REQUESTS["receive"]))
        await asyncio.sleep(0.1)
        pair.transport.streams[0].abort()
        await fails_with(ProblemCode.UNAVAILABLE, _wait(call))
        await asyncio.sleep(0.1)
        _assert_released(pair.node)

    run(scenario)


def _assert_released(node: FakeNode) -> None:
    (request,) = node.calls("settle")
    assert (request.action, [(item.offset, item.attempt) for item in request.items]) == ("release", [(7, 1), (8, 1)])


def test_a_silent_peer_is_given_up() -> None:
    """A half-open connection would time out every call for ever."""

    async def scenario(pair: _Pair) -> None:
        assert await pair.client.seek(REQUESTS["seek"]) == ANSWERS["seek"]
        pair.transport.streams[0].pause_reading()
        await fails_with(ProblemCode.OUTCOME_UNKNOWN, pair.client.settle(REQUESTS["settle"]))
        await asyncio.sleep(0.01)
        assert await pair.client.seek(REQUESTS["seek"]) == ANSWERS["seek"]
        assert pair.transport.dials == 2

    run(scenario)


WELCOME = Welcome(OLDEST_VERSION)


class _Liar:
    """A server that answers the hello, or what comes behind it, with the same bytes whatever it was."""

    def __init__(self, answer: bytes, *, welcome: Welcome | None = WELCOME) -> None:
        self._answer = answer
        self._welcome = welcome
        self._decoder = FrameDecoder()

    def stream_began(self, stream: Stream) -> None:
        self._stream = stream

    def bytes_received(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            if frame.method == methods.HELLO.number and self._welcome is not None:
                body, _ = methods.HELLO.response.encode(self._welcome)
                self._stream.write(encode_frame(FrameKind.RESPONSE, request_id=frame.request_id, body=body))
            else:
                self._stream.write([self._answer])

    def writing_paused(self) -> None: ...

    def writing_resumed(self) -> None: ...

    def stream_ended(self, error: Exception | None) -> None: ...


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"".join(map(bytes, encode_frame(FrameKind.RESPONSE, request_id=77))),
        b"".join(map(bytes, encode_frame(FrameKind.REQUEST, request_id=2))),
        b"".join(map(bytes, encode_frame(FrameKind.RESPONSE, request_id=2, body=b"\xc1"))),
        b"".join(map(bytes, encode_frame(FrameKind.RESPONSE, request_id=2, body=b"\x90"))),
        b"".join(map(bytes, encode_frame(FrameKind.FAILURE, request_id=2, body=b"\x90"))),
        b"".join(map(bytes, encode_frame(FrameKind.CANCELLED, request_id=2))),
    ],
    ids=["another protocol", "unknown request", "a request", "not msgpack", "too short", "bad failure", "gave up"],
)
def test_an_answer_that_makes_no_sense_leaves_the_outcome_unknown(answer: bytes) -> None:
    async def scenario(pair: _Pair) -> None:
        await pair.transport.listen("node", lambda: _Liar(answer))
        await fails_with(ProblemCode.OUTCOME_UNKNOWN, pair.client.seek(messages.SeekRequest("t", 0, "g", "earliest")))

    run(scenario)


def test_after_close_nothing_is_sent() -> None:
    async def scenario(pair: _Pair) -> None:
        pair.node.hold("settle")
        call = asyncio.create_task(pair.client.settle(REQUESTS["settle"]))
        await asyncio.sleep(0.1)
        await pair.client.close()
        await fails_with(ProblemCode.OUTCOME_UNKNOWN, _wait(call))
        await fails_with(ProblemCode.UNAVAILABLE, pair.client.seek(REQUESTS["seek"]))

    run(scenario)


# --- the handshake ---


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"".join(map(bytes, encode_frame(FrameKind.RESPONSE, request_id=1, body=b"\x90"))),
        b"".join(map(bytes, encode_frame(FrameKind.FAILURE, request_id=1, body=b"\x90"))),
        b"".join(map(bytes, encode_frame(FrameKind.CANCELLED, request_id=1))),
        b"".join(map(bytes, encode_frame(FrameKind.RESPONSE, request_id=1, body=b"\x91\x63"))),
    ],
    ids=["another protocol", "too short", "bad failure", "gave up", "a version that was not offered"],
)
def test_whoever_answers_the_hello_with_nonsense_gets_no_request(answer: bytes) -> None:
    async def scenario(pair: _Pair) -> None:
        await pair.transport.listen("node", lambda: _Liar(answer, welcome=None))
        await fails_with(ProblemCode.UNAVAILABLE, pair.client.settle(REQUESTS["settle"]))
        dials = pair.transport.dials
        await fails_with(ProblemCode.UNAVAILABLE, pair.client.settle(REQUESTS["settle"]))
        assert pair.transport.dials == dials  # there is a pause

    run(scenario)


def test_a_hello_without_an_answer_is_a_dial_that_hangs() -> None:
    async def scenario(pair: _Pair) -> None:
        await pair.transport.listen("node", lambda: _Liar(b"", welcome=None))
        await fails_with(ProblemCode.UNAVAILABLE, pair.client.settle(REQUESTS["settle"]))
        assert pair.loop.time() == pytest.approx(3.0)

    run(scenario)


def test_a_node_of_another_release_is_unavailable_and_says_why() -> None:
    async def scenario(pair: _Pair) -> None:
        error = await fails_with(ProblemCode.UNAVAILABLE, pair.client.settle(REQUESTS["settle"]))
        assert "versions 2 to 3" in error.detail
        assert "upgrade the older one" in error.detail
        assert pair.node.seen == []

    run(
        scenario,
        RpcClientSettings(versions=ProtocolVersions(4, 5)),
        RpcServerSettings(versions=ProtocolVersions(2, 3)),
    )


@pytest.mark.parametrize(("client", "server"), [((1, 3), (1, 1)), ((1, 1), (1, 3)), ((2, 4), (1, 2))])
def test_releases_that_overlap_talk_to_each_other(client: tuple[int, int], server: tuple[int, int]) -> None:
    async def scenario(pair: _Pair) -> None:
        assert await pair.client.seek(REQUESTS["seek"]) == ANSWERS["seek"]

    run(
        scenario,
        RpcClientSettings(versions=ProtocolVersions(*client)),
        RpcServerSettings(versions=ProtocolVersions(*server)),
    )


def test_a_call_that_an_older_node_does_not_know_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pair: _Pair) -> None:
        error = await fails_with(ProblemCode.UNSUPPORTED, pair.client.seek(REQUESTS["seek"]))
        assert "upgrade it first" in error.detail
        assert pair.node.seen == []
        assert await pair.client.positions(REQUESTS["positions"]) == ANSWERS["positions"]

    monkeypatch.setattr(methods.SEEK, "since", NEWEST_VERSION + 1)
    run(scenario)


def test_closing_ends_the_wait_for_a_dial() -> None:
    async def scenario(pair: _Pair) -> None:
        pair.transport.hang = True
        call = asyncio.create_task(pair.client.seek(REQUESTS["seek"]))
        await asyncio.sleep(0.1)
        await pair.client.close()
        await fails_with(ProblemCode.UNAVAILABLE, _wait(call))

    run(scenario)
