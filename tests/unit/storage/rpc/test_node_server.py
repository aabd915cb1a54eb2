"""What a node's server does at its limits and with strange peers, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
import structlog

from acklog.wire.problems import ProblemCode
from cluster.line_limit import LineLimitSettings
from storage.rpc import messages, methods
from storage.rpc.framing import HELLO_FRAME_BYTES_MAX, Buffer, Frame, FrameDecoder, FrameKind, encode_frame
from storage.rpc.handshake import NEWEST_VERSION, OLDEST_VERSION, Hello, ProtocolVersions, Welcome
from storage.rpc.peer_api import ProbeRequest
from storage.rpc.rpc_settings import RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.transport import Stream
from tests.sim.loop import SimLoop, simulate
from tests.support.fake_node import ANSWERS, REQUESTS, FakeNode
from tests.support.memory_transport import MemoryTransport

HELLO_ID = 1_000_000


class _Peer:
    """A client that writes frames by hand."""

    stream: Stream

    def __init__(self) -> None:
        self._decoder = FrameDecoder()
        self.frames: list[Frame] = []
        self.is_ended = False

    def greet(self, oldest: int = OLDEST_VERSION, newest: int = NEWEST_VERSION, *, is_node: bool = False) -> None:
        body, _ = methods.HELLO.request.encode(Hello(oldest, newest, is_node))
        self.stream.write(encode_frame(FrameKind.REQUEST, method=methods.HELLO.number, request_id=HELLO_ID, body=body))

    def request(self, request_id: int, name: str) -> None:
        method = next(method for method in methods.NODE_METHODS.values() if method.name == name)
        body, attachment = method.request.encode(REQUESTS[name])
        self.stream.write(
            encode_frame(
                FrameKind.REQUEST, method=method.number, request_id=request_id, body=body, attachment=attachment
            )
        )

    def cancel(self, request_id: int) -> None:
        self.stream.write(encode_frame(FrameKind.CANCEL, request_id=request_id))

    @property
    def answers(self) -> list[tuple[str, int]]:
        return [(frame.kind.name, frame.request_id) for frame in self.frames]

    def welcome(self) -> Welcome:
        (frame,) = self.frames
        assert (frame.kind, frame.request_id) == (FrameKind.RESPONSE, HELLO_ID)
        return methods.HELLO.response.decode(frame.body, frame.attachment)

    def failure(self, request_id: int) -> messages.Failure:
        (frame,) = [frame for frame in self.frames if frame.request_id == request_id]
        assert frame.kind is FrameKind.FAILURE
        return methods.FAILURE.decode(frame.body, frame.attachment)

    def stream_began(self, stream: Stream) -> None:
        self.stream = stream

    def bytes_received(self, data: bytes) -> None:
        self.frames += self._decoder.feed(data)

    def writing_paused(self) -> None: ...

    def writing_resumed(self) -> None: ...

    def stream_ended(self, error: Exception | None) -> None:
        self.is_ended = True


class _World:
    def __init__(self, settings: RpcServerSettings) -> None:
        self.node = FakeNode()
        self.transport = MemoryTransport()
        self.server = NodeServer(self.node, self.transport, settings=settings)

    async def dial(self) -> _Peer:
        peer = await self.dial_silently()
        peer.greet()
        await asyncio.sleep(0.01)
        peer.frames.clear()
        return peer

    async def dial_silently(self) -> _Peer:
        peer = _Peer()
        await self.transport.dial("node", peer)
        await asyncio.sleep(0.01)
        return peer


def run(scenario: Callable[[_World], Awaitable[None]], settings: RpcServerSettings | None = None) -> None:
    async def main(loop: SimLoop) -> None:
        world = _World(settings or RpcServerSettings())
        await world.server.start("node")
        await scenario(world)
        await world.server.close()
        await asyncio.sleep(1)
        assert world.server.connections == 0
        assert len(asyncio.all_tasks()) == 1

    for seed in range(5):
        simulate(seed, main)


def test_requests_beyond_the_limit_wait_unread_and_are_served_in_the_end() -> None:
    async def scenario(world: _World) -> None:
        gate = world.node.hold("seek")
        peer = await world.dial()
        for request_id in range(1, 11):
            peer.request(request_id, "seek")
        await asyncio.sleep(0.1)
        assert len(world.node.calls("seek")) == 3
        assert world.transport.streams[1].is_reading_paused
        gate.set()
        await asyncio.sleep(0.1)
        assert sorted(peer.answers) == sorted(("RESPONSE", request_id) for request_id in range(1, 11))
        assert not world.transport.streams[1].is_reading_paused

    run(scenario, RpcServerSettings(requests_per_connection_max=3))


def test_bytes_beyond_the_limit_wait_likewise() -> None:
    async def scenario(world: _World) -> None:
        gate = world.node.hold("produce")
        peer = await world.dial()
        for request_id in (1, 2, 3):
            peer.request(request_id, "produce")  # 5,000 bytes each
        await asyncio.sleep(0.1)
        assert len(world.node.calls("produce")) == 2
        gate.set()
        await asyncio.sleep(0.1)
        assert len(peer.frames) == 3

    run(scenario, RpcServerSettings(request_bytes_per_connection_max=12_000))


def test_a_request_above_the_byte_limit_is_served_alone() -> None:
    async def scenario(world: _World) -> None:
        peer = await world.dial()
        peer.request(1, "produce")
        await asyncio.sleep(0.1)
        assert peer.answers == [("RESPONSE", 1)]

    run(scenario, RpcServerSettings(request_bytes_per_connection_max=100))


def test_a_cancel_overtakes_requests_that_wait() -> None:
    async def scenario(world: _World) -> None:
        world.node.hold("receive")
        peer = await world.dial()
        frames: list[bytes] = []
        peer.stream, real = _Collector(frames), peer.stream
        peer.request(1, "receive")
        peer.request(2, "seek")
        peer.request(3, "seek")
        peer.cancel(3)
        peer.cancel(1)
        real.write([b"".join(frames)])  # one read brings all of them
        await asyncio.sleep(0.1)
        assert sorted(peer.answers) == [("CANCELLED", 1), ("CANCELLED", 3), ("RESPONSE", 2)]
        assert len(world.node.calls("seek")) == 1

    run(scenario, RpcServerSettings(requests_per_connection_max=1))


class _Collector:
    peer = ""

    def __init__(self, frames: list[bytes]) -> None:
        self._frames = frames

    def write(self, buffers: Sequence[Buffer]) -> None:
        self._frames += map(bytes, buffers)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


def test_a_cancel_before_the_first_step_is_answered_too() -> None:
    async def scenario(world: _World) -> None:
        peer = await world.dial()
        frames: list[bytes] = []
        peer.stream, real = _Collector(frames), peer.stream
        peer.request(1, "receive")
        peer.cancel(1)
        real.write([b"".join(frames)])
        await asyncio.sleep(0.1)
        assert peer.answers == [("CANCELLED", 1)]
        peer.stream = real
        peer.request(1, "seek")  # the id is free again
        await asyncio.sleep(0.1)
        assert peer.answers[1:] == [("RESPONSE", 1)]

    run(scenario)


def test_a_cancel_of_an_answered_request_is_ignored() -> None:
    async def scenario(world: _World) -> None:
        peer = await world.dial()
        peer.request(1, "seek")
        await asyncio.sleep(0.1)
        peer.cancel(1)
        peer.cancel(99)
        await asyncio.sleep(0.1)
        assert peer.answers == [("RESPONSE", 1)]

    run(scenario)


def test_a_peer_that_does_not_read_its_answers_is_not_read_either() -> None:
    async def scenario(world: _World) -> None:
        world.node.behave("records", lambda request: ANSWERS["records"])  # 256 KB, above the window
        peer = await world.dial()
        peer.stream.pause_reading()
        for request_id in range(1, 6):
            peer.request(request_id, "records")
            await asyncio.sleep(0.1)
        assert len(world.node.calls("records")) == 1
        peer.stream.resume_reading()
        await asyncio.sleep(0.1)
        assert len(peer.frames) == 5

    run(scenario)


def test_the_reason_of_an_unexpected_failure_stays_in_the_log() -> None:
    def fail(request: object) -> object:
        raise ZeroDivisionError("secret")

    async def scenario(world: _World) -> None:
        world.node.behave("seek", fail)
        peer = await world.dial()
        with structlog.testing.capture_logs() as logs:
            peer.request(1, "seek")
            await asyncio.sleep(0.1)
        failure = peer.failure(1)
        assert failure.code == ProblemCode.INTERNAL.name
        assert "secret" not in failure.detail
        assert [(entry["event"], entry["method"]) for entry in logs] == [("rpc.request_failed", "seek")]

    run(scenario)


def test_an_unknown_call_or_body_is_refused_and_the_connection_stays() -> None:
    async def scenario(world: _World) -> None:
        peer = await world.dial()
        peer.stream.write(encode_frame(FrameKind.REQUEST, method=200, request_id=1))
        peer.stream.write(encode_frame(FrameKind.REQUEST, method=methods.SEEK.number, request_id=2, body=b"\x90"))
        peer.stream.write(
            encode_frame(
                FrameKind.REQUEST,
                method=methods.SEEK.number,
                request_id=3,
                body=methods.SEEK.request.encode(REQUESTS["seek"])[0],
                attachment=b"?",
            )
        )
        peer.request(4, "seek")
        await asyncio.sleep(0.1)
        assert {peer.failure(request_id).code for request_id in (1, 2, 3)} == {"UNSUPPORTED"}
        assert peer.answers[-1] == ("RESPONSE", 4)

    run(scenario)


def test_garbage_ends_the_connection_and_what_it_was_waiting_for() -> None:
    async def scenario(world: _World) -> None:
        world.node.hold("receive")
        peer = await world.dial()
        peer.request(1, "receive")
        await asyncio.sleep(0.1)
        with structlog.testing.capture_logs() as logs:
            peer.stream.write([b"GET / HTTP/1.1\r\n\r\n"])
            await asyncio.sleep(0.1)
        assert peer.is_ended
        assert world.node.cancelled == ["receive"]
        assert [entry["event"] for entry in logs] == ["rpc.protocol_fault"]

    run(scenario)


def test_a_request_id_in_use_and_a_frame_of_the_wrong_kind_end_the_connection() -> None:
    async def scenario(world: _World) -> None:
        world.node.hold("receive")
        first, second = await world.dial(), await world.dial()
        first.request(1, "receive")
        first.request(1, "receive")
        second.stream.write(encode_frame(FrameKind.RESPONSE, request_id=1))
        await asyncio.sleep(0.1)
        assert (first.is_ended, second.is_ended) == (True, True)

    run(scenario)


def test_connections_beyond_the_limit_are_closed() -> None:
    async def scenario(world: _World) -> None:
        peers = [await world.dial() for _ in range(3)]
        assert [peer.is_ended for peer in peers] == [False, False, True]
        assert world.server.connections == 2
        peers[0].stream.close()
        await asyncio.sleep(0.1)
        assert not (await world.dial()).is_ended

    run(scenario, RpcServerSettings(gateway_connections_max=2))


@pytest.mark.parametrize(
    ("call", "code"),
    [("receive", ProblemCode.SHUTTING_DOWN), ("produce", ProblemCode.OUTCOME_UNKNOWN)],
)
def test_closing_answers_who_waits(call: str, code: ProblemCode) -> None:
    """A batch may be on its way into the log: to say that nothing was done would be wrong."""

    async def scenario(world: _World) -> None:
        world.node.hold(call)
        peer = await world.dial()
        peer.request(1, call)
        await asyncio.sleep(0.1)
        await world.server.close()
        await asyncio.sleep(0.1)
        assert peer.failure(1).code == code.name
        assert peer.is_ended

    run(scenario)


# --- who is connected ---


def test_strangers_are_hung_up_on_after_a_while_and_others_are_not() -> None:
    async def scenario(world: _World) -> None:
        silent, dripping, greeted = await world.dial_silently(), await world.dial_silently(), await world.dial()
        dripping.stream.write([b"\xac"])
        with structlog.testing.capture_logs():
            await asyncio.sleep(5.1)
        assert (silent.is_ended, dripping.is_ended, greeted.is_ended) == (True, True, False)

    run(scenario)


def test_the_oldest_stranger_makes_room() -> None:
    async def scenario(world: _World) -> None:
        greeted = await world.dial()
        strangers = [await world.dial_silently() for _ in range(4)]
        await asyncio.sleep(0.1)
        assert [each.is_ended for each in strangers] == [True, True, False, False]
        assert not (await world.dial()).is_ended
        assert not greeted.is_ended

    run(scenario, RpcServerSettings(strangers_max=2))


def test_a_stranger_may_send_small_frames_only() -> None:
    async def scenario(world: _World) -> None:
        stranger, greeted = await world.dial_silently(), await world.dial()
        promise = encode_frame(FrameKind.REQUEST, method=1, request_id=1, body=b"x" * HELLO_FRAME_BYTES_MAX)
        stranger.stream.write([promise[0][:17]])
        greeted.stream.write([promise[0][:17]])
        with structlog.testing.capture_logs():
            await asyncio.sleep(0.1)
        assert (stranger.is_ended, greeted.is_ended) == (True, False)

    run(scenario)


def test_gateways_and_nodes_have_connections_of_their_own() -> None:
    async def scenario(world: _World) -> None:
        gateways = [await world.dial() for _ in range(3)]
        node = await world.dial_silently()
        node.greet(is_node=True)
        await asyncio.sleep(0.1)
        assert [each.is_ended for each in (*gateways, node)] == [False, False, True, False]

    run(scenario, RpcServerSettings(gateway_connections_max=2, node_connections_max=1))


def test_who_has_asked_nothing_for_long_makes_room() -> None:
    async def scenario(world: _World) -> None:
        world.node.hold("receive")
        idle, waiting = await world.dial(), await world.dial()
        waiting.request(1, "receive")
        await asyncio.sleep(30)
        assert (await world.dial()).is_ended
        await asyncio.sleep(31)
        late = await world.dial()
        assert (idle.is_ended, waiting.is_ended, late.is_ended) == (True, False, False)

    run(scenario, RpcServerSettings(gateway_connections_max=2))


def test_lines_that_strangers_cause_are_limited() -> None:
    async def scenario(world: _World) -> None:
        with structlog.testing.capture_logs() as logs:
            for _ in range(10):
                (await world.dial_silently()).stream.write([b"GET / HTTP/1.1"])
                await asyncio.sleep(0.1)
            assert [entry["event"] for entry in logs] == ["rpc.protocol_fault"] * 3
            await asyncio.sleep(60)
            (await world.dial_silently()).stream.write([b"GET / HTTP/1.1"])
            await asyncio.sleep(0.1)
        assert logs[-1]["left_out"] == 7

    run(scenario, RpcServerSettings(log_lines=LineLimitSettings(lines_max=3)))


# --- the handshake ---


def test_the_newest_version_that_both_speak_is_chosen() -> None:
    async def scenario(world: _World) -> None:
        for offered, chosen in (((1, 4), 3), ((2, 2), 2), ((3, 9), 3)):
            peer = await world.dial_silently()
            peer.greet(*offered)
            await asyncio.sleep(0.1)
            assert peer.welcome() == Welcome(chosen)

    run(scenario, RpcServerSettings(versions=ProtocolVersions(2, 3)))


def test_without_a_common_version_both_ranges_are_named_and_the_connection_ends() -> None:
    async def scenario(world: _World) -> None:
        for offered in ((1, 1), (4, 5)):
            peer = await world.dial_silently()
            peer.greet(*offered)
            peer.request(1, "seek")
            with structlog.testing.capture_logs():
                await asyncio.sleep(0.1)
            assert peer.is_ended
            assert len(peer.frames) == 1
            failure = peer.failure(HELLO_ID)
            assert failure.code == ProblemCode.UNSUPPORTED.name
            assert "versions 2 to 3" in failure.detail
            assert f"{offered[0]} to {offered[1]}" in failure.detail
        assert world.node.seen == []

    run(scenario, RpcServerSettings(versions=ProtocolVersions(2, 3)))


def test_a_connection_that_does_not_begin_with_a_hello_ends() -> None:
    async def scenario(world: _World) -> None:
        first, second = await world.dial_silently(), await world.dial_silently()
        first.request(1, "seek")
        second.stream.write(encode_frame(FrameKind.REQUEST, method=methods.HELLO.number, request_id=1, body=b"\x90"))
        with structlog.testing.capture_logs() as logs:
            await asyncio.sleep(0.1)
        assert (first.is_ended, second.is_ended) == (True, True)
        assert [entry["event"] for entry in logs] == ["rpc.protocol_fault"] * 2
        assert world.node.seen == []

    run(scenario)


def test_a_hello_that_is_nested_without_end_is_a_fault_like_any_other() -> None:
    """In fields that nobody knows, which are passed over. It ended in a traceback, which no limit of lines counts."""

    async def scenario(world: _World) -> None:
        peer = await world.dial_silently()
        body = b"\x94\x01\x08\xc3" + b"\x91" * 3000 + b"\xc0"
        peer.stream.write(encode_frame(FrameKind.REQUEST, method=methods.HELLO.number, request_id=1, body=body))
        with structlog.testing.capture_logs() as logs:
            await asyncio.sleep(0.1)
        assert peer.is_ended
        assert [entry["event"] for entry in logs] == ["rpc.protocol_fault"]

    run(scenario)


def test_a_hello_comes_once() -> None:
    async def scenario(world: _World) -> None:
        peer = await world.dial()
        peer.greet()
        await asyncio.sleep(0.1)
        assert peer.failure(HELLO_ID).code == ProblemCode.UNSUPPORTED.name
        assert not peer.is_ended

    run(scenario)


def test_a_call_that_came_with_a_later_version_is_not_known_on_an_older_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(world: _World) -> None:
        peer = await world.dial()
        peer.request(1, "seek")
        peer.request(2, "positions")
        await asyncio.sleep(0.1)
        assert peer.failure(1).code == ProblemCode.UNSUPPORTED.name
        assert ("RESPONSE", 2) in peer.answers

    monkeypatch.setattr(methods.SEEK, "since", NEWEST_VERSION + 1)
    run(scenario)


def test_calls_of_peers_are_not_known_where_there_are_none() -> None:
    async def scenario(world: _World) -> None:
        peer = await world.dial()
        body, _ = methods.PROBE.request.encode(ProbeRequest(2))
        peer.stream.write(encode_frame(FrameKind.REQUEST, method=methods.PROBE.number, request_id=1, body=body))
        await asyncio.sleep(0.1)
        assert peer.failure(1).code == ProblemCode.UNSUPPORTED.name

    run(scenario)
