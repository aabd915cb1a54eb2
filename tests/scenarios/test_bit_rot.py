"""Bits that rot on one node's disk, played by whole nodes and gateways (rule R12); every checker judges each."""

from collections.abc import Callable

import pytest

from storage.delivery.partition_delivery import encode_snapshot
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.groups.delivery_snapshots import SNAPSHOT_NAME
from storage.node.replicas.replica_host import ReplicaHost
from tests.sim.cluster.machines import NodeMachine
from tests.sim.cluster.stage import Stage, play


def flip_a_bit(stage: Stage, machine: NodeMachine, kind: int, *, name: str = ".log") -> None:
    """In the first file of the log that there is; nobody has noticed yet."""
    directory = stage.replica(machine).logs[kind].key.directory
    rot(stage, machine, lambda path: path.rpartition("/")[0] == directory and path.endswith(name))


def rot(stage: Stage, machine: NodeMachine, is_meant: Callable[[str], bool]) -> None:
    stage.hardware.rotten = machine
    path, content = next(
        (path, content) for path, content in sorted(machine.disk.files().items()) if is_meant(path) and content
    )
    machine.disk.bit_rot(path, min(100, len(content) - 1), 3)


async def read_everything(stage: Stage, machine: NodeMachine) -> None:
    await stage.world.inspector.read_everything(machine)


async def replaced(stage: Stage, machine: NodeMachine, kind: int) -> None:
    """The replica has begun its log anew, and is in sync again."""
    await stage.until(lambda: stage.is_up(machine) and not stage.replica(machine).is_damaged, "it is whole")
    await stage.all_in_sync()
    assert stage.replica(machine).logs[kind].damage == ""
    leader = stage.replica(stage.leader)
    assert stage.replica(machine).logs[kind].log_end == leader.logs[kind].log_end


@pytest.mark.parametrize("kind", [LogKind.MESSAGES, LogKind.DELIVERY])
def test_a_follower_leaves_and_begins_anew(kind: int) -> None:
    async def script(stage: Stage) -> None:
        await stage.first_contact()
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        leader, epoch = stage.leader, stage.state.leader_epoch
        follower = stage.others(leader)[0]
        await stage.until(lambda: stage.replica(follower).logs[kind].log_end > 0, "there is something to rot")
        flip_a_bit(stage, follower, kind)
        await read_everything(stage, follower)
        await stage.until(lambda: stage.state.leader_epoch > epoch, "it has left")
        assert stage.leader is leader, "its leader goes on, in an epoch that knows nothing of the old log"
        await stage.send_acknowledged(3)
        await replaced(stage, follower, kind)

    play(script)


@pytest.mark.parametrize("kind", [LogKind.MESSAGES, LogKind.DELIVERY])
def test_a_leader_hands_over_and_begins_anew(kind: int) -> None:
    async def script(stage: Stage) -> None:
        await stage.first_contact()
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        leader = stage.leader
        await stage.until(lambda: stage.replica(leader).logs[kind].log_end > 0, "there is something to rot")
        flip_a_bit(stage, leader, kind)
        await read_everything(stage, leader)
        await stage.until(lambda: stage.state.leader != leader.node_id, "another leads")
        await stage.send_acknowledged(3)
        await replaced(stage, leader, kind)

    play(script)


def test_a_leader_that_cannot_open_its_partition_is_followed_by_one_that_can() -> None:
    """The state behind the delivery log is read when a leadership begins, and without it nobody knows what is done."""

    async def script(stage: Stage) -> None:
        await stage.first_contact()
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        victim = stage.leader
        log = stage.replica(victim).logs[LogKind.DELIVERY]
        await stage.until(lambda: log._state.recovery_point == log.log_end, "its journal is not needed any more")
        flip_a_bit(stage, victim, LogKind.DELIVERY)
        for machine in stage.others(victim):
            stage.kill(machine)
        stage.kill(victim)
        stage.start(victim)
        await stage.until(lambda: stage.is_up(victim), "the victim runs, and is alone")
        await stage.sleep(3)
        for machine in stage.others(victim):
            stage.start(machine)
        await stage.until(lambda: stage.state.leader not in {victim.node_id, -1}, "another leads")
        await stage.send_acknowledged(3)
        await replaced(stage, victim, LogKind.DELIVERY)

    play(script)


def test_the_last_one_that_may_lead_goes_on() -> None:
    """There is nobody to take its place: what can be read is served, nothing is thrown away, and who comes back gets
    it."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(2)
        await stage.all_in_sync()
        leader = stage.leader
        for machine in stage.others(leader):
            stage.kill(machine)
        await stage.sleep(1)
        log_end = stage.log_end(leader)
        flip_a_bit(stage, leader, LogKind.MESSAGES)
        await read_everything(stage, leader)
        await stage.until(lambda: stage.replica(leader).is_damaged, "it is noticed")
        await stage.sleep(10)
        assert stage.state.leader == leader.node_id
        assert stage.log_end(leader) == log_end, "nothing was dropped"
        for machine in stage.others(leader):
            stage.start(machine)
        await stage.until(lambda: stage.state.leader != leader.node_id, "one that is whole leads")
        await replaced(stage, leader, LogKind.MESSAGES)

    play(script)


def test_a_damaged_leader_that_has_to_stay_in_sync_does_not_get_the_leadership_back() -> None:
    """With a third replica away the ISR is at its minimum, so the damaged one stays in it; it was the preferred one."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        leader = stage.leader
        away, successor = stage.others(leader)
        stage.kill(away)
        await stage.until(lambda: away.node_id not in stage.state.isr, "the one that is away has left")
        flip_a_bit(stage, leader, LogKind.MESSAGES)
        await read_everything(stage, leader)
        await stage.until(lambda: stage.leader is successor, "the other one leads")
        epoch = stage.state.leader_epoch
        await stage.send_acknowledged(2)
        await stage.sleep(30)
        assert (stage.leader, stage.state.leader_epoch) == (successor, epoch)
        assert leader.node_id in stage.state.isr
        stage.start(away)
        await replaced(stage, leader, LogKind.MESSAGES)

    play(script)


def test_a_replica_keeps_what_it_has_until_a_leader_speaks() -> None:
    """Its leader has just died, and is registered for a while: nobody may be left to fetch anything from."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        leader = stage.leader
        victim, other = stage.others(leader)
        flip_a_bit(stage, victim, LogKind.MESSAGES)
        log_end = stage.log_end(victim)
        stage.cut(victim.name, leader.name)
        stage.cut(victim.name, other.name)
        await read_everything(stage, victim)
        await stage.until(lambda: victim.node_id not in stage.state.isr, "it has left")
        await stage.sleep(5)
        assert stage.log_end(victim) == log_end
        stage.heal()
        await replaced(stage, victim, LogKind.MESSAGES)

    play(script)


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_what_nobody_reads_is_found_all_the_same(role: str) -> None:
    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        leader = stage.leader
        victim = leader if role == "leader" else stage.others(leader)[0]
        await stage.sleep(5)
        epoch = stage.state.leader_epoch
        flip_a_bit(stage, victim, LogKind.MESSAGES)
        await stage.until(lambda: stage.state.leader_epoch > epoch, "the scrub has found it")
        await replaced(stage, victim, LogKind.MESSAGES)

    play(script)


async def compacted_follower(stage: Stage) -> tuple[NodeMachine, ReplicaHost]:
    """A follower whose delivery log begins with a snapshot."""
    await stage.first_contact()
    await stage.send_acknowledged(3)
    await stage.all_in_sync()
    follower = stage.others(stage.leader)[0]
    replica = stage.replica(follower)
    log = replica.logs[LogKind.DELIVERY]
    await stage.until(lambda: log.log_end > 0, "there is something to compact")
    assert follower.process is not None
    compact = replica._context.snapshots.compact(log, log.log_end, leader_epoch=replica.leader_epoch)
    await follower.process.call(compact)
    return follower, replica


async def noticed_at_the_next_start(stage: Stage, victim: NodeMachine) -> None:
    stage.kill(victim)
    stage.start(victim)
    await stage.until(lambda: stage.is_up(victim) and stage.replica(victim).is_damaged, "it is noticed")
    await replaced(stage, victim, LogKind.DELIVERY)


def test_a_snapshot_that_is_gone_is_noticed_at_the_next_start() -> None:
    """As after a crash between the removal of the old one and the log's new beginning."""

    async def script(stage: Stage) -> None:
        victim, replica = await compacted_follower(stage)
        log = replica.logs[LogKind.DELIVERY]
        assert victim.process is not None
        await victim.process.call(log.reset_to(log.log_end))
        await victim.process.call(replica._context.snapshots.write(log, 0, b""))
        stage.hardware.rotten = victim
        await noticed_at_the_next_start(stage, victim)

    play(script)


async def put_older_snapshot_back(machine: NodeMachine, replica: ReplicaHost) -> None:
    """The log was trimmed for a newer one."""
    log, snapshots = replica.logs[LogKind.DELIVERY], replica._context.snapshots
    assert machine.process is not None
    await machine.process.call(log.reset_to(log.log_end))
    await machine.process.call(snapshots.write(log, log.log_end - 1, encode_snapshot([], log=str(log.key))))


@pytest.mark.parametrize("change", ["older", "foreign"])
def test_a_snapshot_that_is_not_the_logs_own_is_noticed_at_the_next_start(change: str) -> None:
    async def script(stage: Stage) -> None:
        victim, replica = await compacted_follower(stage)
        log, snapshots = replica.logs[LogKind.DELIVERY], replica._context.snapshots
        assert victim.process is not None
        if change == "older":
            await put_older_snapshot_back(victim, replica)
        else:
            foreign = encode_snapshot([], log=str(LogKey("elsewhere", 0, LogKind.DELIVERY)))
            await victim.process.call(snapshots.write(log, log.log_end + 100, foreign))
        stage.hardware.rotten = victim
        await noticed_at_the_next_start(stage, victim)

    play(script)


def test_a_leader_whose_snapshot_is_an_older_one_is_followed_by_one_that_is_whole() -> None:
    async def script(stage: Stage) -> None:
        await stage.first_contact()
        await stage.send_acknowledged(3)
        await stage.all_in_sync()
        victim = stage.leader
        log = stage.replica(victim).logs[LogKind.DELIVERY]
        await stage.until(lambda: log.log_end > 0, "there is something that was done")
        for machine in stage.others(victim):
            stage.kill(machine)
        await put_older_snapshot_back(victim, stage.replica(victim))
        stage.hardware.rotten = victim
        stage.kill(victim)
        stage.start(victim)
        await stage.until(lambda: stage.is_up(victim), "the victim runs, and is alone")
        await stage.sleep(3)
        for machine in stage.others(victim):
            stage.start(machine)
        await stage.until(lambda: stage.state.leader not in {victim.node_id, -1}, "another leads")
        await stage.send_acknowledged(3)
        await replaced(stage, victim, LogKind.DELIVERY)

    play(script)


def test_rot_in_the_snapshot_is_found_at_the_next_start() -> None:
    async def script(stage: Stage) -> None:
        victim, _ = await compacted_follower(stage)
        flip_a_bit(stage, victim, LogKind.DELIVERY, name=f"/{SNAPSHOT_NAME}")
        await noticed_at_the_next_start(stage, victim)

    play(script)
