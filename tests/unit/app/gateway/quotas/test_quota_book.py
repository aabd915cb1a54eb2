"""Asking for a quota's shares, on virtual time: whatever becomes of the node that deals them out, nobody waits for it
longer than is said, and nobody asks it without end."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from acklog.wire.problems import ProblemCode
from app.gateway.dependencies import Gateway
from app.gateway.metrics import Metrics
from app.gateway.quotas.quota_ask_settings import QuotaAskSettings
from app.gateway.quotas.quota_book import Charge, QuotaBook
from app.gateway.shutdown import Shutdown
from cluster.errors import ServerError
from cluster.model.quotas import Quota
from cluster.model.values import NodeRegistration
from storage.quotas.quota_owner import QuotaOwner
from storage.quotas.quota_settings import QuotaSettings
from storage.rpc.handshake import NEWEST_VERSION
from storage.rpc.quota_messages import QuotaSharesRequest, QuotaSharesResponse
from tests.sim.environment import MachineClock, SimClock, SimEntropy
from tests.sim.loop import SimLoop, simulate

SETTINGS = QuotaAskSettings()
QUOTA = Quota("topic/t1/sendMessagesPerSecond", "topic/orders/sendMessagesPerSecond", 5)
ASKS_MAX = 1_000
"""Of all that a test does: more are a storm."""


class Dealer:
    """A node that deals out quotas. It answers within no time, unless it `stands_still` or is `gone`."""

    def __init__(self, clock: SimClock) -> None:
        self._clock = clock
        self._owner = QuotaOwner(QuotaSettings())
        self.stands_still = False
        self.gone = False
        self.asks = 0

    async def quota_shares(self, request: QuotaSharesRequest) -> QuotaSharesResponse:
        self.asks += 1
        if self.gone:
            raise ServerError(ProblemCode.UNAVAILABLE, "gone")
        if self.stands_still or self.asks > ASKS_MAX:
            await asyncio.Event().wait()
        return self._owner.answer(request, self._clock.monotonic_ms())


class World:
    def __init__(self, loop: SimLoop) -> None:
        self.clock = SimClock(MachineClock(loop))
        self.dealer = Dealer(self.clock)
        self.nodes = [NodeRegistration(1, 1, "dir", "local", newest_protocol=NEWEST_VERSION)]
        self.shutdown = Shutdown()
        gateway = SimpleNamespace(
            metadata=SimpleNamespace(nodes=lambda: self.nodes),
            nodes=SimpleNamespace(client=lambda _: self.dealer),
            clock=self.clock,
            shutdown=self.shutdown,
            entropy=SimEntropy(1),
        )
        self.book = QuotaBook(cast("Gateway", gateway), Metrics(names_max=10))

    async def take(self, units: int = 1, claimant: str = "shop") -> bool:
        """Whether there was room, within the time that is said."""
        began_ms = self.clock.monotonic_ms()
        try:
            await self.book.take([Charge(QUOTA, claimant, units)])
        except ServerError as error:
            if error.code is not ProblemCode.QUOTA_EXCEEDED:
                raise
            return False
        finally:
            assert self.clock.monotonic_ms() - began_ms <= SETTINGS.first_answer_ms + SETTINGS.ask_ms
        return True

    async def taken_in(self, duration_ms: int, *, pause_ms: int) -> int:
        end_ms, taken = self.clock.monotonic_ms() + duration_ms, 0
        while self.clock.monotonic_ms() < end_ms:
            taken += await self.take()
            await self.clock.sleep(pause_ms)
        return taken


def run(main: Callable[[World], Coroutine[Any, Any, None]], *, seed: int = 1) -> None:
    async def whole(loop: SimLoop) -> None:
        world = World(loop)
        await main(world)
        assert world.dealer.asks <= ASKS_MAX, "asked without end"

    simulate(seed, whole)


def test_a_seconds_worth_goes_through_at_once() -> None:
    async def main(world: World) -> None:
        found = await asyncio.gather(*(world.take() for _ in range(8)))
        assert sum(found) == QUOTA.per_second

    run(main)


@pytest.mark.parametrize("seed", range(20))
def test_an_order_whose_answer_is_lost_is_asked_for_again(seed: int) -> None:
    async def main(world: World) -> None:
        world.dealer.gone = True
        calls = [asyncio.ensure_future(world.take()) for _ in range(4)]
        await world.clock.sleep(SETTINGS.ask_ms // 2)
        world.dealer.gone = False
        assert await asyncio.gather(*calls) == [True] * 4
        assert world.dealer.asks <= 2 * len(calls)

    run(main, seed=seed)


@pytest.mark.parametrize("fault", ["gone", "stands_still"])
def test_nobody_waits_for_a_dealer_that_does_not_answer(fault: str) -> None:
    async def main(world: World) -> None:
        assert await world.taken_in(4_000, pause_ms=100) >= 15
        setattr(world.dealer, fault, True)
        alone = await world.taken_in(10_000, pause_ms=100)
        assert 40 <= alone <= 10 * QUOTA.per_second * 1.1 + QUOTA.per_second
        setattr(world.dealer, fault, False)
        assert 40 <= await world.taken_in(10_000, pause_ms=100) <= 10 * QUOTA.per_second * 1.1 + QUOTA.per_second

    run(main)


def test_who_never_heard_of_a_quota_takes_a_strangers_share() -> None:
    async def main(world: World) -> None:
        world.dealer.stands_still = True
        assert await world.take()
        begun_ms = world.clock.monotonic_ms()
        taken = await world.taken_in(20_000, pause_ms=100)
        seconds = (world.clock.monotonic_ms() - begun_ms) / 1000
        assert taken <= seconds * QUOTA.per_second * SETTINGS.stranger_percent / 100 + 1

    run(main)


def test_without_any_node_it_goes_on_alone() -> None:
    async def main(world: World) -> None:
        world.nodes = []
        assert await world.take()
        assert not await world.take()

    run(main)


def test_what_is_not_used_is_not_asked_for() -> None:
    async def main(world: World) -> None:
        assert await world.take()
        await world.clock.sleep(2 * SETTINGS.claim_idle_ms)
        asked = world.dealer.asks
        await world.clock.sleep(60_000)
        assert world.dealer.asks == asked

    run(main)


def test_the_shutdown_makes_nobody_wait() -> None:
    async def main(world: World) -> None:
        world.dealer.stands_still = True
        waiting = asyncio.ensure_future(world.take())
        await world.clock.sleep(10)
        world.shutdown.begin()
        began_ms = world.clock.monotonic_ms()
        assert await world.take() or await waiting
        assert world.clock.monotonic_ms() - began_ms <= SETTINGS.first_answer_ms

    run(main)
