"""What readers were told is compared with what some node knew, also when that node is no more."""

import asyncio

from storage.log.log_table import LogKind
from tests.sim.cluster.machines import NodeMachine
from tests.sim.cluster.stage import Stage, play
from tests.sim.cluster.watermarks import Watermarks
from tests.sim.history import EndListed
from tests.sim.loop import SimLoop
from tests.sim.world import QUEUE


def looking(stage: Stage) -> Watermarks:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    watermarks = Watermarks(stage.hardware, QUEUE)
    loop.after_each_turn(watermarks.look)
    return watermarks


def tell(stage: Stage, watermarks: Watermarks, high_watermark: int) -> list[str]:
    """What there is to say when somebody is told of so much now."""
    listed = EndListed(
        began_ms=0, ended_ms=0, reader="somebody", queue=QUEUE, partition=0, high_watermark=high_watermark
    )
    topic_id = next(topic.id for topic in stage.world.store.topics.values() if topic.name == QUEUE)
    before = len(watermarks.violations)
    watermarks.judge(topic_id, listed, watermarks.starting())
    return watermarks.violations[before:]


def known(stage: Stage, machine: NodeMachine) -> int:
    return stage.replica(machine).high_watermark(LogKind.MESSAGES)


def test_what_the_dead_leader_alone_knew_stays_committed() -> None:
    async def script(stage: Stage) -> None:
        watermarks = looking(stage)
        await stage.all_in_sync()
        await stage.send_acknowledged(3)
        leader = stage.leader
        stage.kill(leader, loses_power=True)
        assert max(known(stage, machine) for machine in stage.others(leader)) < 3
        assert tell(stage, watermarks, 3) == []
        assert tell(stage, watermarks, 4) == [
            f"somebody was told a high watermark of 4 for {QUEUE}/0, no node has known more than 3"
        ]

    play(script)


def test_what_a_leader_learnt_while_it_stopped_counts_too() -> None:
    async def script(stage: Stage) -> None:
        watermarks = looking(stage)
        await stage.all_in_sync()
        await stage.send_acknowledged(3)
        leader = stage.leader
        stage.hardware.kept_down.add(leader.name)
        stopping = asyncio.create_task(leader.stop())
        await stage.until(lambda: leader.node is None, "the leader stops")
        assert not watermarks.starting()
        assert (tell(stage, watermarks, 3), len(tell(stage, watermarks, 4))) == ([], 1)
        await stopping
        assert (tell(stage, watermarks, 3), len(tell(stage, watermarks, 4))) == ([], 1)

    play(script)


def test_nobody_is_told_of_what_is_in_the_logs_and_not_committed() -> None:
    async def script(stage: Stage) -> None:
        watermarks = looking(stage)
        await stage.all_in_sync()
        await stage.send_acknowledged(3)
        leader = stage.leader
        for machine in stage.others(leader):
            stage.cut(leader.name, machine.name)
        sending = asyncio.create_task(stage.send())
        await stage.until(lambda: stage.log_end(leader) == 4, "the leader has another record")
        assert (tell(stage, watermarks, 3), len(tell(stage, watermarks, 4))) == ([], 1)
        stage.heal()
        await sending

    play(script)


def test_while_a_node_starts_nobody_can_say_what_it_knows() -> None:
    async def script(stage: Stage) -> None:
        watermarks = looking(stage)
        await stage.all_in_sync()
        follower = stage.others(stage.leader)[0]
        stage.kill(follower)
        assert len(tell(stage, watermarks, 1)) == 1
        stage.cut_from_store(follower)  # so that it takes long
        stage.start(follower)
        await stage.until(lambda: bool(watermarks.starting()), "the follower starts")
        assert tell(stage, watermarks, 1) == []
        stage.heal()
        await stage.until(lambda: not watermarks.starting(), "the follower has started")
        assert len(tell(stage, watermarks, 1)) == 1

    play(script)
