"""A connection to the simulated store does what etcd may do, and nothing that it never does."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cluster.ports.coordination import (
    Changed,
    CompactedError,
    CoordinationUnavailableError,
    LeaseLostError,
    OutcomeUnknownError,
    Put,
    WatchBatch,
)
from tests.sim.cluster.coordination import NO_FAULTS, Coordination, CoordinationFaults, StoreConnection
from tests.sim.cluster.links import COORDINATION, Links, LinkSpeed
from tests.sim.loop import SimLoop, simulate
from tests.sim.process import Process, ProcessDiedError


class Rig:
    def __init__(self, loop: SimLoop, seed: int) -> None:
        self.coverage: Counter[str] = Counter()
        rng = random.Random(seed)
        self.links = Links(rng, LinkSpeed())
        self.shared = Coordination(loop, self.links, rng, self.coverage, NO_FAULTS)
        self.process = Process(loop, "node-1")
        self.store: StoreConnection = self.shared.connect("node-1", self.process)

    async def put(self, key: str, value: bytes) -> None:
        assert (await self.process.call(self.store.transact([], [Put(key, value)]))).succeeded

    async def value(self, key: str) -> bytes | None:
        item = await self.shared.store.get(key)
        return None if item is None else item.value


def run(main: Callable[[Rig], Coroutine[Any, Any, None]], seeds: int = 3) -> None:
    for seed in range(seeds):

        async def with_rig(loop: SimLoop, seed: int = seed) -> None:
            await main(Rig(loop, seed))

        simulate(seed, with_rig)


def test_a_watch_brings_every_change_in_order() -> None:
    async def main(rig: Rig) -> None:
        seen: list[WatchBatch] = []
        watching = asyncio.create_task(rig.process.call(_watch(rig, seen)))
        for number in range(20):
            await rig.put(f"/a/{number}", b"%d" % number)
        await asyncio.sleep(1)
        values = [event.item.value for batch in seen for event in batch.events if isinstance(event, Changed)]
        assert values == [b"%d" % number for number in range(20)]
        watching.cancel()

    run(main)


async def _watch(rig: Rig, seen: list[WatchBatch]) -> None:
    watch = rig.store.watch("/a/", 2)
    while True:
        seen.append(await anext(watch))


def test_a_cut_delays_the_watch_and_a_compaction_meanwhile_is_told() -> None:
    async def main(rig: Rig) -> None:
        seen: list[WatchBatch] = []
        watching = asyncio.create_task(rig.process.call(_watch(rig, seen)))
        await asyncio.sleep(0.1)
        rig.links.link(COORDINATION, "node-1").block()
        for number in range(5):
            await rig.shared.store.transact([], [Put(f"/a/{number}", b"x")])
        await asyncio.sleep(1)
        assert seen == []
        await rig.shared.compact()
        rig.links.heal()
        with pytest.raises(CompactedError):
            await watching
        assert len(seen) == 1, "the first change was on its way"

    run(main)


def test_questions_without_an_answer_time_out() -> None:
    async def main(rig: Rig) -> None:
        rig.links.link(COORDINATION, "node-1").block()
        with pytest.raises(CoordinationUnavailableError):
            await rig.process.call(rig.store.get("/a"))
        with pytest.raises(OutcomeUnknownError):
            await rig.put("/a", b"1")
        assert await rig.value("/a") == b"1", "the question arrived"

    run(main)


def test_lost_answers_happen_now_later_or_never() -> None:
    async def main(rig: Rig) -> None:
        rig.shared.faults = CoordinationFaults(unknown=1.0)
        for number in range(30):
            with pytest.raises(OutcomeUnknownError):
                await rig.put(f"/a/{number}", b"1")
        at_once = len((await rig.shared.store.list("/a/")).items)
        await asyncio.sleep(10)
        in_the_end = len((await rig.shared.store.list("/a/")).items)
        assert 0 < at_once < in_the_end < 30

    run(main)


def test_without_a_quorum_nothing_is_answered_and_no_lease_ends() -> None:
    async def main(rig: Rig) -> None:
        lease = await rig.process.call(rig.store.grant_lease(3_000))
        rig.shared.lose_quorum()
        with pytest.raises(CoordinationUnavailableError):
            await rig.process.call(rig.store.get("/a"))
        await asyncio.sleep(20)
        rig.shared.regain_quorum()
        await rig.process.call(rig.store.keep_alive(lease.lease_id))
        await asyncio.sleep(4)
        with pytest.raises(LeaseLostError):
            await rig.process.call(rig.store.keep_alive(lease.lease_id))

    run(main)


def test_a_write_of_a_process_that_died_may_still_happen() -> None:
    async def main(rig: Rig) -> None:
        writing = asyncio.create_task(rig.put("/a", b"1"))
        await asyncio.sleep(0.00005)  # less than the shortest way
        rig.process.kill()
        with pytest.raises(ProcessDiedError):
            await writing
        await asyncio.sleep(1)
        assert await rig.value("/a") == b"1"

    run(main)
