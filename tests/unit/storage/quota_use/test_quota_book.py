"""Asking for a quota's shares, on virtual time: whatever becomes of the node that deals them out, nobody waits for it
longer than is said, and nobody asks it without end."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from acklog.wire.problems import ProblemCode
from app.gateway.metrics import Metrics
from app.gateway.shutdown import Shutdown
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.quotas import Quota
from cluster.model.values import NodeRegistration, Topic, TopicConfig
from storage.quota_use.quota_ask_settings import QuotaAskSettings
from storage.quota_use.quota_book import Charge, QuotaBook
from storage.quotas.quota_owner import QuotaOwner
from storage.quotas.quota_settings import QuotaSettings
from storage.rpc.handshake import NEWEST_VERSION
from storage.rpc.node_api import NodeApi
from storage.rpc.quota_messages import QuotaSharesRequest, QuotaSharesResponse
from tests.sim.environment import MachineClock, SimClock
from tests.sim.loop import SimLoop, simulate

SETTINGS = QuotaAskSettings()
QUOTA = Quota("topic/t1/sendMessagesPerSecond", "topic/orders/sendMessagesPerSecond", 5)
TOPIC = Topic("t1", "orders", 1, 1, 0, TopicConfig(send_messages_per_second=5))
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
        self.asks_max = ASKS_MAX

    async def quota_shares(self, request: QuotaSharesRequest) -> QuotaSharesResponse:
        self.asks += 1
        if self.gone:
            raise ServerError(ProblemCode.UNAVAILABLE, "gone")
        if self.stands_still or self.asks > self.asks_max:
            await asyncio.Event().wait()
        return self._owner.answer(request, self._clock.monotonic_ms())


class World:
    def __init__(self, loop: SimLoop) -> None:
        self.clock = SimClock(MachineClock(loop))
        self.dealer = Dealer(self.clock)
        self.nodes = [NodeRegistration(1, 1, "dir", "local", newest_protocol=NEWEST_VERSION)]
        self.shutdown = Shutdown()
        self.book = self.book_of_gateway(1)

    def book_of_gateway(self, number: int) -> QuotaBook:
        return QuotaBook(
            f"gateway {number}",
            cast("MetadataView", SimpleNamespace(nodes=lambda: self.nodes, topic_by_id=lambda _: TOPIC)),
            lambda _: cast("NodeApi", self.dealer),
            Metrics(names_max=10),
            clock=self.clock,
            has_ended=lambda: self.shutdown.has_begun,
        )

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
        assert world.dealer.asks <= world.dealer.asks_max, "asked without end"

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


def test_who_closes_asks_no_more() -> None:
    async def main(world: World) -> None:
        assert await world.take()
        world.dealer.stands_still = True
        await world.clock.sleep(2 * SETTINGS.ask_ms)
        await world.book.close()
        asked = world.dealer.asks
        await world.clock.sleep(10_000)
        assert world.dealer.asks == asked

    run(main)


class Obedient:
    """Takes `units` of a quota again and again, and comes back just when it is told to. `turned_away_ms`: when it had
    done so in vain."""

    def __init__(self, clock: SimClock, book: QuotaBook, charge: Charge) -> None:
        self._clock = clock
        self._book = book
        self._charge = charge
        self.taken = 0
        self.waits = 0
        self.turned_away_ms: list[int] = []

    async def work(self, *, first_ms: int, end_ms: int) -> None:
        await self._clock.sleep(first_ms)
        was_told = False
        while (now_ms := self._clock.monotonic_ms()) < end_ms:
            try:
                await self._book.take([self._charge])
            except ServerError as error:
                if was_told:
                    self.turned_away_ms.append(now_ms)
                was_told = True
                self.waits += 1
                await self._clock.sleep(error.retry_after_ms or 0)
            else:
                self.taken += self._charge.units
                was_told = False


SETTLED_MS = 4_000
"""When all who use a quota are known: before, each newcomer makes the others' parts smaller."""


@pytest.mark.parametrize("claimant", ["shop", "shop-{}"])
@pytest.mark.parametrize(
    ("per_second", "gateways", "units"),
    [(1, 1, 1), (5, 1, 1), (5, 3, 1), (100, 3, 1), (5, 1, 20), (40, 3, 5), (40, 3, 40)],
)
def test_who_comes_back_just_when_told_finds_room(per_second: int, gateways: int, units: int, claimant: str) -> None:
    async def main(world: World) -> None:
        world.dealer.asks_max = 10_000
        quota = QUOTA._replace(per_second=per_second)
        clients = [
            Obedient(world.clock, world.book_of_gateway(number), Charge(quota, claimant.format(number), units))
            for number in range(gateways)
        ]
        end_ms = world.clock.monotonic_ms() + 30_000
        begun_ms = world.clock.monotonic_ms()
        await asyncio.gather(
            *(client.work(first_ms=37 * number, end_ms=end_ms) for number, client in enumerate(clients))
        )
        for client in clients:
            assert client.waits >= 3, "or nothing is shown"
            assert [at for at in client.turned_away_ms if at >= begun_ms + SETTLED_MS] == []
        assert sum(client.taken for client in clients) >= 28 * per_second, "nobody waits for too long"

    run(main)


def test_several_of_one_claimant_have_their_turns() -> None:
    async def main(world: World) -> None:
        clients = [Obedient(world.clock, world.book, Charge(QUOTA, "shop", 1)) for _ in range(4)]
        end_ms = world.clock.monotonic_ms() + 30_000
        await asyncio.gather(*(client.work(first_ms=31 * at, end_ms=end_ms) for at, client in enumerate(clients)))
        taken = [client.taken for client in clients]
        assert sum(taken) >= 28 * QUOTA.per_second
        # A unit that comes a moment late costs one a turn; where all came together, three of four would come in vain.
        assert sum(len(client.turned_away_ms) for client in clients) <= sum(taken)

    run(main)


@pytest.mark.parametrize("after_ms", [0, 300, 1_000, 3_000])
def test_a_burst_is_not_the_pace_that_is_gone_on_at_alone(after_ms: int) -> None:
    async def main(world: World) -> None:
        quota = QUOTA._replace(per_second=100)
        books = [world.book_of_gateway(number) for number in range(3)]
        charges = [Charge(quota, "shop", 1)]

        async def taken(book: QuotaBook, duration_ms: int) -> int:
            end_ms, count = world.clock.monotonic_ms() + duration_ms, 0
            while world.clock.monotonic_ms() < end_ms:
                with contextlib.suppress(ServerError):
                    await book.take(charges)
                    count += 1
                await world.clock.sleep(5)
            return count

        await asyncio.gather(*(taken(book, 400 + after_ms) for book in books))
        world.dealer.stands_still = True
        alone = await asyncio.gather(*(taken(book, 10_000) for book in books))
        burst_of_each = quota.per_second * SETTINGS.alone_burst_ms // 1000
        assert 8 * quota.per_second <= sum(alone) <= 10 * quota.per_second * 1.1 + burst_of_each

    run(main)
