"""What the demo has for a cluster: the pace, the pauses, requests spread over gateways, the kills."""

import asyncio

import pytest

from acklog.client.call import Request, Response
from acklog.errors import CannotConnect
from app.demo.killer import Killer
from app.demo.pace import TRICKLE_SHARE, Pace
from app.demo.pauses import Pauses
from app.demo.run_journal import RunJournal
from app.demo.spread_transport import REST_S, SpreadTransport
from app.demo.work import Work


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class TestPace:
    def test_without_a_rate_it_is_as_fast_as_it_goes(self) -> None:
        assert Pace(100, 4, 0).pause_s(50, 20) == 0

    def test_the_part_behind_a_kill_is_only_trickled_into_until_the_victim_is_back(self) -> None:
        pace = Pace(1000, kills=4, messages_per_s=100)
        full_s, trickle_s = 10 / 100, 10 / (100 // TRICKLE_SHARE)
        assert [pace.pause_s(index, 10) for index in (0, 399, 400, 999)] == [full_s, full_s, trickle_s, trickle_s]
        pace.kills_over = 1
        assert [pace.pause_s(index, 10) for index in (400, 599, 600)] == [full_s, full_s, trickle_s]
        pace.kills_over = 3
        assert pace.pause_s(999, 10) == full_s

    def test_a_run_without_kills_is_never_held_up(self) -> None:
        pace = Pace(1000, kills=0, messages_per_s=10)
        assert pace.pause_s(999, 1) == 0.1

    def test_something_is_always_on_its_way(self) -> None:
        assert Pace(1000, kills=1, messages_per_s=1).pause_s(1000, 1) == 1.0


class TestPauses:
    def test_the_longest_wait_of_any_partition_counts(self) -> None:
        clock = Clock()
        pauses = Pauses(clock)
        for partition in (0, 1):
            pauses.confirmed(partition)
        pauses.begin()
        clock.now_s += 0.5
        pauses.confirmed(0)
        assert pauses.longest_s(is_sending=False) == 0.5
        clock.now_s += 1
        assert pauses.longest_s(is_sending=True) == 1.5, "the other one waits still"
        pauses.confirmed(1)
        pauses.begin()
        assert pauses.longest_s(is_sending=False) == 0

    def test_a_partition_that_nothing_was_sent_to_is_not_waited_for(self) -> None:
        clock = Clock()
        pauses = Pauses(clock)
        pauses.begin()
        clock.now_s += 9
        pauses.confirmed(7)
        assert pauses.longest_s(is_sending=True) == 0


class FakeGateway:
    def __init__(self) -> None:
        self.requests = 0
        self.is_away = False
        self.is_closed = False

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.requests += 1
        if self.is_away:
            raise CannotConnect("away")
        return Response(200, b"")

    async def close(self) -> None:
        self.is_closed = True


class TestSpreadTransport:
    def make(self) -> tuple[list[FakeGateway], SpreadTransport, Clock]:
        gateways, clock = [FakeGateway(), FakeGateway(), FakeGateway()], Clock()
        return gateways, SpreadTransport(gateways, clock), clock

    async def ask(self, transport: SpreadTransport, times: int) -> None:
        for _ in range(times):
            await transport.perform(Request("GET", "/"), timeout_s=1)

    async def test_gateways_take_turns(self) -> None:
        gateways, transport, _ = self.make()
        await self.ask(transport, 9)
        assert [gateway.requests for gateway in gateways] == [3, 3, 3]
        await transport.close()
        assert all(gateway.is_closed for gateway in gateways)

    async def test_one_that_is_away_is_left_alone_for_a_while(self) -> None:
        gateways, transport, clock = self.make()
        gateways[1].is_away = True
        with pytest.raises(CannotConnect):
            await self.ask(transport, 3)
        await self.ask(transport, 6)
        assert gateways[1].requests == 1
        gateways[1].is_away = False
        clock.now_s += REST_S
        await self.ask(transport, 6)
        assert gateways[1].requests > 1

    async def test_when_all_are_away_somebody_is_asked_all_the_same(self) -> None:
        gateways, transport, clock = self.make()
        for gateway in gateways:
            gateway.is_away = True
        for _ in range(6):
            clock.now_s += 0.01
            with pytest.raises(CannotConnect):
                await self.ask(transport, 1)
        assert [gateway.requests for gateway in gateways] == [2, 2, 2]


class FakeVictim:
    def __init__(self, calls: list[str], name: str) -> None:
        self.calls = calls
        self.name = name

    async def find(self) -> str:
        self.calls.append(f"find {self.name}")
        return self.name

    async def kill(self) -> None:
        self.calls.append(f"kill {self.name}")

    async def start(self) -> None:
        self.calls.append(f"start {self.name}")


@pytest.mark.parametrize("name", ["", "node 2, a leader (leads 3)"])
async def test_a_victim_is_found_killed_and_started_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.demo.killer.SETTLE_S", 0)
    now_s = asyncio.get_running_loop().time
    work, told, calls, over = Work(8, ("a",)), list[str](), list[str](), list[int]()
    journal = RunJournal(work, now_s, lambda event: told.append(event.text))
    killer = Killer([FakeVictim(calls, name)], work, journal, Pauses(now_s), on_over=lambda: over.append(work.steps))
    killing = asyncio.create_task(killer.run())
    await asyncio.sleep(0)
    assert not calls
    work.add_sent(8)
    while f"start {name}" not in calls:
        await asyncio.sleep(0)
    work.add_done("a", 1)
    await killing
    assert calls == [f"find {name}", f"kill {name}", f"start {name}"]
    [restart] = killer.restarts
    assert (restart.at_steps, restart.victim, restart.waited_s is None) == (8, name, not name)
    assert over
    assert told[0].startswith(f"kill -9 no. 1, {name}: 8 of 8" if name else "kill -9 no. 1: 8 of 8")
