"""Histories that random runs may meet too seldom, played by whole nodes and gateways; every checker judges each."""

import asyncio
from collections.abc import Sequence

from cluster.model import keys
from cluster.ports.coordination import Compare, Operation, TransactionResult
from tests.sim.cluster.coordination import CoordinationFaults
from tests.sim.cluster.links import COORDINATION
from tests.sim.cluster.machines import NodeMachine
from tests.sim.cluster.stage import PATIENCE_S, Stage, play, running
from tests.sim.history import LogRead, Outcome
from tests.sim.world import QUEUE


def uids_in_the_log(stage: Stage) -> set[str]:
    return {record.uid for read in stage.world.history.of(LogRead) if read.is_final for record in read.records}


def test_truncation_after_a_fast_double_failover() -> None:
    """KIP-279. The first leader has records of epoch 1 that nobody else has, the second one of epoch 2; the third has
    neither. Both cut theirs when they come back, and only theirs."""
    stages: list[Stage] = []

    async def script(stage: Stage) -> None:
        stages.append(stage)
        await stage.send_acknowledged(3)
        first = stage.leader
        await stage.all_in_sync()
        for machine in stage.others(first):
            stage.cut(first.name, machine.name)
        await stage.send(acks=1)
        await stage.send(acks=1)
        assert stage.log_end(first) == 5
        stage.kill(first)
        await stage.until(lambda: stage.state.leader != first.node_id, "another leads")
        second = stage.leader
        (third,) = stage.others(first, second)
        await stage.send_acknowledged(1)
        stage.cut(second.name, third.name)
        await stage.send(acks=1)
        assert stage.log_end(second) > stage.log_end(third) == 4
        stage.kill(second)
        await stage.until(lambda: stage.leader is third, "the third leads")
        assert stage.state.leader_epoch == 3
        stage.heal()
        stage.start(first)
        await stage.send_acknowledged(3)
        stage.start(second)
        await stage.all_in_sync()

    play(script)
    for stage in stages:
        uids = uids_in_the_log(stage)
        assert uids.isdisjoint({"script-4", "script-5"}), "nobody else had the first leader's last records"
        assert {"script-1", "script-2", "script-3"} <= uids


def test_a_zombie_leader_after_a_pause() -> None:
    """It wakes up together with a gateway that slept as well and still believes in it."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        zombie, epoch = stage.leader, stage.state.leader_epoch
        sleeper = stage.hardware.gateways[1]
        zombie.pause()
        sleeper.pause()
        await stage.until(lambda: stage.state.leader_epoch > epoch, "another leads")
        await stage.send_acknowledged(3)
        sending = [asyncio.create_task(stage.send(gateway=sleeper)) for _ in range(3)]
        await stage.sleep(0.1)
        sleeper.resume()
        zombie.resume()
        for sent in await asyncio.gather(*sending):
            assert sent.outcome is not Outcome.OK or sent.epoch > epoch, "the zombie has acknowledged something"
        await stage.until(lambda: stage.replica(zombie).leader_epoch > epoch, "the zombie knows")
        await stage.all_in_sync()

    play(script)


def test_an_isr_shrinks_to_its_minimum_and_the_last_replica_standing_loses_its_disk() -> None:
    """Two of three must be in sync: alone, the leader takes nothing more, so whoever was in sync with it has all."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        leader = stage.leader
        one, other = stage.others(leader)
        stage.kill(one)
        await stage.until(lambda: one.node_id not in stage.state.isr, "the dead one has left")
        await stage.send_acknowledged(3)
        stage.kill(other)
        refused = await stage.send()
        assert refused.outcome is not Outcome.OK
        await stage.sleep(3)
        assert set(stage.state.isr) == {leader.node_id, other.node_id}, "nobody leaves below the minimum"
        stage.kill(leader, loses_power=True)
        leader.wipe()
        stage.start(leader)
        stage.start(one)
        await stage.sleep(8)
        assert stage.state.leader != one.node_id, "it is behind"
        assert stage.hardware.leader_of(stage.state) is None
        stage.start(other)
        await stage.until(lambda: stage.state.leader == other.node_id, "who has everything leads")
        await stage.all_in_sync()

    play(script)


def test_the_last_replica_standing_comes_back() -> None:
    """One in sync is enough here: the leader goes on alone, and nobody else may lead until it is back."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(2)
        leader = stage.leader
        for machine in stage.others(leader):
            stage.kill(machine)
        await stage.until(lambda: stage.state.isr == (leader.node_id,), "it is alone")
        await stage.send_acknowledged(3)
        stage.kill(leader, loses_power=True)
        for machine in stage.others(leader):
            stage.start(machine)
        await stage.sleep(8)
        assert stage.hardware.leader_of(stage.state) is None, "nobody who was not in sync is elected"
        stage.start(leader)
        await stage.all_in_sync()

    play(script, min_insync_replicas=1)


def test_a_stale_controller_changes_nothing() -> None:
    """What it sends is held up on the way until another one is elected; and it believes in itself as long."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        number = await stage.controller()
        assert number is not None
        stale = stage.hardware.nodes[number]
        victim = next(machine for machine in stage.others(stale) if machine is not stage.leader)
        stage.world.network.links.link(stale.name, COORDINATION).block()
        stage.kill(victim)
        await stage.sleep(0.5)
        stale.pause()
        before = stage.state.partition_epoch
        for _ in range(200):
            if await stage.controller() not in {None, stale.node_id}:
                break
            await stage.sleep(0.1)
        stage.start(victim)
        await stage.send_acknowledged(3)
        after = stage.state.partition_epoch
        assert after >= before
        stage.heal()  # now its writes arrive
        await stage.sleep(0.2)
        stale.resume()
        await stage.sleep(3)
        assert await stage.controller() is not None
        await stage.all_in_sync()
        await stage.send_acknowledged(3)

    play(script)


def test_a_follower_is_restarted_with_an_empty_disk() -> None:
    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        follower = stage.others(stage.leader)[0]
        lost = follower.directory_id
        stage.kill(follower, loses_power=True)
        follower.wipe()
        stage.start(follower)
        await stage.until(lambda: follower.node is not None, "it runs")
        assert follower.directory_id != lost
        await stage.send_acknowledged(5)
        await stage.until(
            lambda: (
                follower.node_id in stage.state.isr
                and stage.state.directory_of(follower.node_id) == follower.directory_id
            ),
            "it has earned its place with the new disk",
        )
        assert stage.log_end(follower) >= 10

    play(script)


def test_a_leader_is_restarted_with_an_empty_disk() -> None:
    """Before anybody has noticed that it was gone."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(5)
        await stage.all_in_sync()
        leader = stage.leader
        stage.kill(leader, loses_power=True)
        leader.wipe()
        stage.start(leader)
        await stage.until(lambda: stage.leader is not leader, "another leads")
        await stage.send_acknowledged(3)
        await stage.all_in_sync()

    play(script)


async def end_registration(stage: Stage, machine: NodeMachine) -> None:
    """Too early, as an operator may; the node registers again at once, in the same life."""
    store = stage.world.coordination.store
    item = await store.get(keys.node(machine.node_id))
    assert item is not None
    await store.revoke_lease(item.lease_id)
    await stage.until(lambda: machine.node_id not in stage.state.isr, "the controller takes it out of the ISR")
    await stage.until(lambda: machine.node_id in stage.world.store.nodes, "it is registered")


def test_a_follower_that_cannot_fetch_does_not_come_back_into_the_isr() -> None:
    """It lacks nothing, as far as the leader knows, and is registered; what is sent next would have to wait for it."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        await stage.all_in_sync()
        follower = stage.others(stage.leader)[0]
        stage.cut(stage.leader.name, follower.name)
        await stage.sleep(2)
        await end_registration(stage, follower)
        for _ in range(100):
            await stage.sleep(0.1)
            assert follower.node_id not in stage.state.isr
        began_s = asyncio.get_running_loop().time()
        assert (await stage.send()).outcome is Outcome.OK
        assert asyncio.get_running_loop().time() - began_s < 0.2
        stage.heal()
        await stage.all_in_sync()

    play(script)


def test_a_follower_that_is_heard_seldom_joins_when_it_is() -> None:
    """Between its fetches, which bring no news and go on in their session, it counts as silent."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        await stage.all_in_sync()
        leader, follower = stage.leader, stage.others(stage.leader)[0]
        for link in stage.world.network.links.between([leader.name], [follower.name]):
            link.extra_ms = 600.0
        await stage.sleep(3)
        await end_registration(stage, follower)
        await stage.all_in_sync()

    play(script, contact_ms=500)


async def isr_addition_races_a_restart(stage: Stage) -> None:
    await stage.send_acknowledged(3)
    leader = stage.leader
    follower = stage.others(leader)[0]
    await out_of_sync(stage, follower)
    held = HeldAdditions(leader, follower)
    stage.start(follower)
    await stage.until(lambda: held.waiting > 0, "the addition is under way")
    earned_with = follower.directory_id
    assert stage.log_end(follower) >= 5
    stage.kill(follower, loses_power=True)
    follower.wipe()
    stage.start(follower)
    await stage.until(lambda: follower.directory_id not in {"", earned_with}, "it has registered anew")
    held.let_through()
    await stage.all_in_sync()
    assert held.results[0] is False
    assert stage.state.directory_of(follower.node_id) == follower.directory_id


def test_an_isr_addition_races_a_restart() -> None:
    """The leader's addition is under way while the follower begins anew, with an empty disk, and registers."""
    play(isr_addition_races_a_restart)


class HeldAdditions:
    """A leader's connection to the store on which additions of `follower` are held up until they are let through."""

    def __init__(self, leader: NodeMachine, follower: NodeMachine) -> None:
        assert leader.store is not None
        self.waiting = 0
        self.results: list[bool] = []
        self._registration = keys.node(follower.node_id)
        self._gate = asyncio.Event()
        self._transact = leader.store.transact
        leader.store.transact = self.transact  # type: ignore[method-assign]

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        compared = [compare.key for compare in compares]
        is_addition = self._registration in compared and keys.CONTROLLER not in compared
        if is_addition:
            self.waiting += 1
            await self._gate.wait()
        result = await self._transact(compares, then, otherwise)
        if is_addition:
            self.results.append(result.succeeded)
        return result

    def let_through(self) -> None:
        self._gate.set()


async def out_of_sync(stage: Stage, follower: NodeMachine) -> None:
    stage.kill(follower)
    await stage.until(lambda: follower.node_id not in stage.state.isr, "the dead one has left")
    await stage.send_acknowledged(2)


def test_a_watch_gap() -> None:
    """A node, and a gateway, miss an election whose history is gone when they can look again."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        leader = stage.leader
        deaf = stage.others(leader)[0]
        gateway = stage.hardware.gateways[1]
        for name in (deaf.name, gateway.name):
            stage.world.network.links.link(COORDINATION, name).block()
        stage.kill(leader)
        await stage.sleep(6)
        stage.start(leader)
        await stage.sleep(2)
        await stage.world.coordination.compact()
        stage.heal()
        await stage.all_in_sync()
        assert stage.world.coverage["store watch CompactedError"] >= 2
        assert (await stage.send(gateway=gateway)).outcome is Outcome.OK
        assert running(deaf).metadata.partition(stage.state.topic_id, 0) == stage.state

    play(script)


def test_the_outcome_of_isr_changes_is_unknown() -> None:
    """Every answer of the store to a write is lost, while a follower leaves and comes back; some happen, some later,
    some never."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        follower = stage.others(stage.leader)[0]
        stage.world.coordination.faults = CoordinationFaults(unknown=0.9)
        stage.kill(follower)
        await stage.sleep(3)
        stage.start(follower)
        await stage.sleep(5)
        stage.world.coordination.faults = CoordinationFaults(unknown=0.0)
        await stage.send_acknowledged(3)
        await stage.all_in_sync()

    play(script, seeds=range(5))


def test_a_send_is_committed_and_its_answer_is_lost() -> None:
    """The gateway asks the next leader, which knows the batch: one message, once."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        leader, gateway = stage.leader, stage.hardware.gateways[0]
        stage.world.network.links.link(leader.name, gateway.name).block()
        sending = asyncio.create_task(stage.send())
        await stage.sleep(0.1)
        assert stage.log_end(leader) == 4, "it is stored"
        stage.kill(leader)
        sent = await sending
        assert (sent.outcome, sent.offset) == (Outcome.OK, 3)
        stage.heal()
        assert (await stage.send_acknowledged(1))[0].offset == 4

    play(script)


def test_readers_behind_a_leader_that_was_cut_off_see_no_end_that_is_not_one() -> None:
    """It and a gateway are an island: neither hears that another leads, which takes messages. What is asked of the
    island beyond what it knows is refused, so that the reader asks again, and never with 416 (rule R35)."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(3)
        old, epoch = stage.leader, stage.state.leader_epoch
        mainland, island = stage.hardware.gateways
        assert mainland.http is not None
        assert island.http is not None
        path = f"/topics/{QUEUE}/partitions/0/records"
        for machine in stage.others(old):
            stage.cut(old.name, machine.name)
            stage.cut(island.name, machine.name)
        stage.cut(old.name, COORDINATION)
        stage.cut(island.name, COORDINATION)
        await stage.until(lambda: stage.state.leader_epoch > epoch, "another leads")
        await stage.send_acknowledged(3)
        seen = (await mainland.http.get(path, {"offset": "0"})).json
        assert seen["nextOffset"] == seen["highWatermark"] == 6
        for offset in ("6", "3", "latest"):
            answer = await island.http.get(path, {"offset": offset}, leave_after_s=PATIENCE_S)
            assert (answer.status in (503, 504), answer.json["retriable"]) == (True, True), (offset, answer.json)
        known = await island.http.get(path, {"offset": "0"})
        assert known.json["nextOffset"] == 3
        behind = await island.http.get(path, {"offset": "0", "epoch": str(seen["epoch"])}, leave_after_s=PATIENCE_S)
        assert behind.status in (503, 504), "the reader would see the high watermark fall"
        stage.heal()
        caught_up = await island.http.get(path, {"offset": "6", "epoch": str(seen["epoch"])}, leave_after_s=PATIENCE_S)
        assert (caught_up.status, caught_up.json["highWatermark"]) == (200, 6)
        await stage.all_in_sync()

    play(script)


def test_with_a_minimum_of_one_a_leader_that_was_cut_off_hands_out_for_a_moment_only() -> None:
    """It needs no follower to serve, and any of them may have been elected and taken acknowledgements since."""

    async def script(stage: Stage) -> None:
        await stage.first_contact()
        await stage.send_acknowledged(6)
        old, epoch = stage.leader, stage.state.leader_epoch
        island = stage.hardware.gateways[1]
        assert island.http is not None
        receive = {"queue": QUEUE, "group": "group-0", "max": "1", "visibilitySeconds": "1"}
        await stage.all_in_sync()
        for machine in stage.others(old):
            stage.cut(old.name, machine.name)
            stage.cut(island.name, machine.name)
        stage.cut(old.name, COORDINATION)
        stage.cut(island.name, COORDINATION)
        await stage.until(lambda: stage.state.leader_epoch > epoch, "another leads")
        await stage.sleep(3.1)
        for _ in range(5):
            answer = await island.http.get("/messages", receive, leave_after_s=PATIENCE_S)
            assert answer.status == 503 or answer.json["messages"] == [], answer.json
            await stage.sleep(1)
        stage.heal()
        await stage.all_in_sync()

    play(script, min_insync_replicas=1)


def test_a_disk_that_was_full_inherits_a_registered_leader_when_it_is_well() -> None:
    """Its node is the only other one in sync when the leader is cut off. Until its disk has been well for long nothing
    is handed over, as it would go back at once; then it is, once, and the third node comes back."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(1)
        await stage.all_in_sync()
        first = stage.leader
        second, third = stage.others(first)
        stage.kill(third)
        await stage.until(lambda: third.node_id not in stage.state.isr, "the third is out of sync")
        capacity_bytes, epoch = second.disk.capacity_bytes, stage.state.leader_epoch
        second.disk.capacity_bytes = second.disk.used_bytes
        await stage.until(lambda: has_impaired_disk(stage, second), "the disk is called impaired")
        second.disk.capacity_bytes = capacity_bytes
        stage.cut(first.name, second.name)
        stage.cut(first.name, third.name)
        stage.start(third)
        sending = asyncio.create_task(stage.send_acknowledged(1))
        await stage.until(lambda: stage.leader is not first, "another leads")
        assert not has_impaired_disk(stage, second)
        await sending
        assert (stage.leader, stage.state.leader_epoch) == (second, epoch + 1)
        stage.heal()
        await stage.all_in_sync()

    play(script)


def test_a_drained_node_leads_while_the_only_other_one_in_sync_cannot_commit() -> None:
    """The leader hears nobody any more but the coordination store. What it has handed over does not come back to it for
    the drain's sake; so the third node comes in, and leads."""

    async def script(stage: Stage) -> None:
        await stage.send_acknowledged(1)
        await stage.all_in_sync()
        deaf = stage.leader
        drained, third = stage.others(deaf)
        stage.kill(third)
        await stage.until(lambda: third.node_id not in stage.state.isr, "the third is out of sync")
        await stage.drain(drained)
        for machine in (drained, third):
            stage.world.network.links.link(machine.name, deaf.name).block()
        stage.start(third)
        sending = asyncio.create_task(stage.send_acknowledged(1))
        await stage.until(lambda: stage.leader is drained, "the drained one leads")
        epoch = stage.state.leader_epoch
        await stage.until(lambda: third.node_id in stage.state.isr, "the third is in sync")
        await sending
        await stage.until(lambda: stage.leader is third, "a node that is there to stay leads")
        assert stage.state.leader_epoch == epoch + 1
        stage.heal()
        await stage.all_in_sync()

    play(script)


def has_impaired_disk(stage: Stage, machine: NodeMachine) -> bool:
    return stage.world.store.nodes[machine.node_id].has_impaired_storage
