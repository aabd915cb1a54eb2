"""What `acklog mirror status` makes of a mirror's state, and what its command lines may say."""

import random

import pytest

from acklog.command.exit_codes import ExitCode
from acklog.command.mirror_status import MirrorStatus, StatusReader
from acklog.command.mirror_view import status_document, status_views
from acklog.errors import TopicNotFound
from acklog.messages import OutgoingMessage
from acklog.mirror.mirror_gap import GapKind
from acklog.positions import Position
from tests.sim.loop import SimLoop, simulate
from tests.support.command_run import run_command
from tests.support.mirror_life import MirrorLife
from tests.support.mirror_world import FakeCluster, FakeEnd, group_of


class StatusWorld:
    """Ten messages are copied, and one that came later is not."""

    def __init__(self) -> None:
        self.chance = random.Random(6)
        self.source, self.target = FakeCluster(self.chance), FakeCluster(self.chance)
        self.source.make("orders", 1)

    async def fill(self) -> None:
        self.source.found_groups["mail"] = group_of("mail")
        for number in range(10):
            self.source.append("orders", OutgoingMessage(number, partition=0))
        await FakeEnd(self.source).commit("mail", [Position("orders", 0, 4)])
        await MirrorLife(self.source, self.target, self.chance, 1, ends_when_caught_up=True).run()

    async def status(self, *groups: str, now_ms: int = 0, name: str = "test", lag_max: int = 0) -> MirrorStatus:
        reader = StatusReader(FakeEnd(self.source), FakeEnd(self.target), name, now_ms=now_ms)
        return await reader.read(["*"], groups, lag_max=lag_max, lag_ms_max=None)


def test_a_mirror_that_is_caught_up_is_good_and_one_that_is_behind_is_not() -> None:
    async def run(_loop: SimLoop) -> None:
        world = StatusWorld()
        await world.fill()
        status = await world.status("mail")
        assert (status.is_good, status.lag, status.is_alive) == (True, 0, True)
        assert [(each.translated, each.target_progress, each.state) for each in status.groups] == [(4, 4, "isThere")]
        assert status_views(status)
        assert status_document(status)["good"] is True
        world.source.append("orders", OutgoingMessage(10, partition=0))
        assert [(each.is_good, each.lag) for each in [await world.status()]] == [(False, 1)]
        assert (await world.status(lag_max=1)).is_good

    simulate(6, run)


def test_a_mirror_that_is_not_heard_of_is_not_good() -> None:
    async def run(_loop: SimLoop) -> None:
        world = StatusWorld()
        await world.fill()
        assert (await world.status(now_ms=3 * 300 + 5_000)).is_alive
        assert not (await world.status(now_ms=3 * 300 + 5_001)).is_good

    simulate(6, run)


def test_what_is_stopped_is_told() -> None:
    async def run(_loop: SimLoop) -> None:
        world = StatusWorld()
        await world.fill()
        world.source.append("orders", OutgoingMessage(10, partition=0))
        world.source.found["orders"].partitions[0].remove_before(11)
        life = MirrorLife(world.source, world.target, world.chance, 2, ends_when_caught_up=True)
        await life.run()
        assert life.gaps[0].kind is GapKind.REMOVED
        status = await world.status()
        assert [each.topic for each in status.stopped] == ["orders"]
        assert not status.is_good

    simulate(6, run)


def test_a_mirror_that_never_was_is_not_found() -> None:
    async def run(_loop: SimLoop) -> None:
        with pytest.raises(TopicNotFound):
            await StatusWorld().status(name="other")

    simulate(6, run)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rename", "orders"], "renames nothing"),
        (["--rename", "orders=a", "--rename", "orders=b"], "has two names"),
        (["--from", "now"], "no place to begin at"),
        (["--on-gap", "panic"], "not what can be done about gaps"),
        (["--prefix", "a b"], "the prefix"),
        (["--name", "a b"], "the mirror's name"),
        (["--at-once", "0"], "0 is below 1"),
        (["--rate", "0"], "0 is below 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], said: str) -> None:
    ran = run_command("mirror", "run", "orders", "--source", "http://127.0.0.1:1", *arguments)
    assert ran.exit_code == ExitCode.USAGE
    assert said in ran.stderr


def test_a_source_that_is_no_server_is_refused() -> None:
    ran = run_command("mirror", "run", "orders", "--source", "nowhere")
    assert (ran.exit_code, "there is no profile 'nowhere'" in ran.stderr) == (ExitCode.USAGE, True)
