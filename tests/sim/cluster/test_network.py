"""The simulated network keeps TCP's promises, and breaks only what TCP does not promise."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from storage.rpc.transport import Stream
from tests.sim.cluster.links import Links, LinkSpeed
from tests.sim.cluster.network import WINDOW_BYTES, Network
from tests.sim.loop import SimLoop, simulate
from tests.sim.process import Process


class Ear:
    """Remembers what it hears."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.data = b""
        self.end: list[Exception | None] = []
        self.pauses: list[bool] = []

    def stream_began(self, stream: Stream) -> None:
        self.stream = stream

    def bytes_received(self, data: bytes) -> None:
        assert not self.end
        self.data += data

    def writing_paused(self) -> None:
        self.pauses.append(True)

    def writing_resumed(self) -> None:
        self.pauses.append(False)

    def stream_ended(self, error: Exception | None) -> None:
        self.end.append(error)

    def write(self, data: bytes) -> None:
        assert self.stream is not None
        self.stream.write([data])


class Two:
    """A server process on host b, a client process on host a."""

    def __init__(self, loop: SimLoop, *, cut_probability: float = 0.0) -> None:
        rng = random.Random(1)
        self.coverage: Counter[str] = Counter()
        self.links = Links(rng, LinkSpeed())
        self.network = Network(loop, self.links, rng, self.coverage, cut_probability=cut_probability)
        self.client, self.server = Process(loop, "a"), Process(loop, "b")
        self.accepted: list[Ear] = []

    def accept(self) -> Ear:
        self.accepted.append(Ear())
        return self.accepted[-1]

    async def listen(self) -> None:
        await self.server.call(_listen(self))

    async def dial(self, timeout_s: float = 1) -> Ear:
        ear = Ear()
        await self.client.call(_dial(self, ear, timeout_s))
        return ear


async def _listen(two: Two) -> None:
    await two.network.transport("b", two.server).listen("b:1", two.accept)


async def _dial(two: Two, ear: Ear, timeout_s: float) -> None:
    async with asyncio.timeout(timeout_s):
        await two.network.transport("a", two.client).dial("b:1", ear)


def run(main: Callable[[Two], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def with_two(loop: SimLoop) -> None:
        two = Two(loop, **options)
        await two.listen()
        await main(two)

    for seed in range(3):
        simulate(seed, with_two)


def test_bytes_arrive_in_order_cut_anywhere_and_an_end_follows_them() -> None:
    async def main(two: Two) -> None:
        ear = await two.dial()
        for number in range(100):
            ear.write(b"%d," % number)
        assert ear.stream is not None
        ear.stream.close()
        await asyncio.sleep(1)
        (far,) = two.accepted
        assert far.data == b"".join(b"%d," % number for number in range(100))
        assert far.end == [None]
        assert ear.end == [None]

    run(main, cut_probability=0.5)


def test_nobody_listens_there() -> None:
    async def main(two: Two) -> None:
        two.server.kill()
        two.network.process_ended(two.server)
        with pytest.raises(ConnectionRefusedError):
            await two.dial()

    run(main)


def test_a_machine_without_power_does_not_answer() -> None:
    async def main(two: Two) -> None:
        ear = await two.dial()
        two.server.kill()
        two.network.power_lost("b", two.server)
        with pytest.raises(TimeoutError):
            await two.dial()
        ear.write(b"hello?")
        await asyncio.sleep(10)
        assert ear.end == [], "it hears nothing"
        two.network.power_returned("b")
        ear.write(b"hello?")
        await asyncio.sleep(1)
        assert isinstance(ear.end[0], ConnectionResetError)

    run(main)


def test_a_killed_process_says_goodbye_after_what_it_had_written() -> None:
    async def main(two: Two) -> None:
        ear = await two.dial()
        await asyncio.sleep(0.1)
        two.accepted[0].write(b"the last word")
        two.server.kill()
        two.network.process_ended(two.server)
        await asyncio.sleep(1)
        assert (ear.data, ear.end) == (b"the last word", [None])

    run(main)


def test_a_paused_process_is_connected_to_and_reads_later() -> None:
    async def main(two: Two) -> None:
        two.server.pause()
        ear = await two.dial()
        ear.write(b"hello")
        await asyncio.sleep(1)
        assert two.accepted == []
        two.server.resume()
        await asyncio.sleep(0.1)
        assert two.accepted[0].data == b"hello"

    run(main)


def test_one_direction_stands_still_and_goes_on() -> None:
    async def main(two: Two) -> None:
        ear = await two.dial()
        await asyncio.sleep(0.1)
        two.links.link("a", "b").block()
        ear.write(b"there")
        two.accepted[0].write(b"back")
        await asyncio.sleep(5)
        assert (two.accepted[0].data, ear.data) == (b"", b"back")
        with pytest.raises(TimeoutError):
            await two.dial()
        two.links.heal()
        await asyncio.sleep(1)
        assert two.accepted[0].data == b"there"

    run(main)


def test_a_reset_breaks_both_ends_or_one_which_the_other_learns_when_it_writes() -> None:
    async def main(two: Two) -> None:
        ear = await two.dial()
        await asyncio.sleep(0.1)
        two.network.reset("b", "a")
        await asyncio.sleep(0.1)
        assert isinstance(ear.end[0], ConnectionResetError)
        assert isinstance(two.accepted[0].end[0], ConnectionResetError)
        ear = await two.dial()
        await asyncio.sleep(0.1)
        two.network.reset("a", "b", both_ends=False)
        await asyncio.sleep(0.1)
        ends = [ear, two.accepted[1]]
        deaf = [end for end in ends if not end.end]
        assert len(deaf) == 1
        deaf[0].write(b"?")
        await asyncio.sleep(0.1)
        assert len(deaf[0].end) == 1
        assert two.coverage["resets"] == 2

    run(main)


def test_a_writer_that_is_too_fast_is_told_so() -> None:
    async def main(two: Two) -> None:
        ear = await two.dial()
        await asyncio.sleep(0.1)
        far = two.accepted[0]
        assert far.stream is not None
        far.stream.pause_reading()
        for _ in range(3):
            ear.write(bytes(WINDOW_BYTES // 2))
        await asyncio.sleep(1)
        assert ear.pauses == [True]
        assert far.data == b""
        far.stream.resume_reading()
        await asyncio.sleep(1)
        assert ear.pauses == [True, False]
        assert len(far.data) == WINDOW_BYTES // 2 * 3

    run(main)


def test_leaving_a_dial_tells_the_other_end() -> None:
    async def main(two: Two) -> None:
        two.links.link("b", "a").block()
        with pytest.raises(TimeoutError):
            await two.dial()
        two.links.heal()
        await asyncio.sleep(1)
        assert len(two.accepted[0].end) == 1

    run(main)
