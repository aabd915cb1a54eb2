"""Misfortunes of a simulated cluster, one method for each kind; those that last undo themselves, or are undone."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from typing import Any

from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.internal_topics import is_internal
from cluster.model.steering import NodeSteering, OrderKind, PartitionOrder
from cluster.ports.coordination import CoordinationError, Delete, Put
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.links import COORDINATION, Link
from tests.sim.cluster.machines import Host, NodeMachine, Surrounding
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.options import TRANSIENT_TTLS, Fault
from tests.sim.process import ProcessDiedError

PARTITIONS_MAX = 6
"""A topic grows no further."""

Inflict = Callable[[], Coroutine[Any, Any, None]]


class Misfortune:
    """`inflict` begins one and returns; `undo_all` ends whatever still goes on."""

    def __init__(self, around: Surrounding, hardware: Hardware, store: StoreObserver) -> None:
        self._around = around
        self._hardware = hardware
        self._store = store
        self._random = random.Random(f"faults {around.options.seed}")
        self._under_way: list[asyncio.Task[None]] = []
        self._kinds: dict[Fault, Inflict] = {
            Fault.KILL: self._kill,
            Fault.POWER_LOSS: self._power_loss,
            Fault.POWER_LOSS_OF_ALL: self._power_loss_of_all,
            Fault.KILL_AT_OPERATION: self._kill_at_operation,
            Fault.POWER_LOSS_AT_OPERATION: self._power_loss_at_operation,
            Fault.QUICK_RESTART: self._quick_restart,
            Fault.KILL_LEADER: self._kill_leader,
            Fault.DOUBLE_FAILOVER: self._double_failover,
            Fault.RESTART: self._restart,
            Fault.WIPE: self._wipe,
            Fault.PAUSE: self._pause,
            Fault.SHORT_PAUSE: self._short_pause,
            Fault.KILL_GATEWAY: self._kill_gateway,
            Fault.PAUSE_GATEWAY: self._pause_gateway,
            Fault.ISOLATE: self._isolate,
            Fault.ONE_WAY: self._one_way,
            Fault.CLOG: self._clog,
            Fault.RESETS: self._resets,
            Fault.CUT_STORE: self._cut_store,
            Fault.STORE_DOWN: self._store_down,
            Fault.COMPACT: self._compact,
            Fault.EXPIRE: self._expire,
            Fault.FAILED_SYNC: self._failed_sync,
            Fault.DISK_FULL: self._disk_full,
            Fault.SLOW_DISK: self._slow_disk,
            Fault.WALL_JUMP: self._wall_jump,
            Fault.DRAIN: self._drain,
            Fault.BIT_ROT: self._bit_rot,
            Fault.GROW: self._grow,
            Fault.MOVE: self._move,
            Fault.ISLAND: self._island,
        }

    def inflict(self, kind: Fault) -> None:
        self._around.coverage[f"fault: {kind.value}"] += 1
        self._under_way = [task for task in self._under_way if not task.done()]
        self._under_way.append(asyncio.create_task(self._kinds[kind]()))

    async def undo_all(self) -> None:
        """Whatever was done is undone, but for what is dead, which its keeper brings up again."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._under_way.clear()
        self._around.coordination.regain_quorum()
        for host in self._hardware.hosts:
            host.resume()
            host.clock.correct()
        for machine in list(self._hardware.nodes.values()):
            machine.disk.capacity_bytes = 1 << 40
            machine.disk.fail_next_sync(0)
            machine.disk.fail_next_sync_directory(0)
            machine.disk.crash_after_operations(1 << 60)
            if machine.executor is not None:
                machine.executor.speed = machine.speed
            await self._stop_draining(machine.node_id)
        self._around.network.links.heal()

    # --- choosing ---

    def _node(self) -> NodeMachine:
        return self._random.choice(list(self._hardware.nodes.values()))

    def _host(self) -> Host:
        return self._random.choice(self._hardware.hosts)

    def _names(self) -> list[str]:
        return [host.name for host in self._hardware.hosts]

    def _lease_s(self) -> float:
        """About as long as a registration lives: shorter or longer."""
        return self._around.options.registration_ttl_ms * self._random.uniform(*TRANSIENT_TTLS) / 1000

    async def _sleep(self, low_s: float, high_s: float) -> None:
        await asyncio.sleep(self._random.uniform(low_s, high_s))

    # --- ends of processes ---

    async def _kill(self) -> None:
        self._node().end(loses_power=False)

    async def _power_loss(self) -> None:
        self._node().end(loses_power=True)

    async def _power_loss_of_all(self) -> None:
        for machine in self._hardware.nodes.values():
            machine.end(loses_power=True)

    async def _kill_at_operation(self) -> None:
        self._end_at_operation(loses_power=False)

    async def _power_loss_at_operation(self) -> None:
        self._end_at_operation(loses_power=True)

    def _end_at_operation(self, *, loses_power: bool) -> None:
        machine = self._node()
        if self._random.random() < 0.5:  # within the recovery
            machine.end(loses_power=loses_power)
        machine.end_after_operations(self._random.choice((0, 1, 2, 3, 5, 8, 20, 50)), loses_power=loses_power)

    async def _quick_restart(self) -> None:
        machine = self._hardware.leader_of_some_partition() or self._node()
        self._hardware.restart_at_once.add(machine.name)
        machine.end(loses_power=self._random.random() < 0.3)

    async def _kill_leader(self) -> None:
        machine = self._hardware.leader_of_some_partition()
        if machine is not None:
            machine.end(loses_power=self._random.random() < 0.5)

    async def _double_failover(self) -> None:
        first = self._hardware.leader_of_some_partition()
        if first is None:
            return
        led = [place for place, state in self._store.partitions.items() if state.leader == first.node_id]
        first.end(loses_power=self._random.random() < 0.5)
        for _ in range(200):
            await asyncio.sleep(0.05)
            states = [self._store.partitions[place] for place in led if place in self._store.partitions]
            others = [state for state in states if state.leader != first.node_id]
            if others:
                await self._sleep(0, 0.3)
                second = self._hardware.leader_of(self._random.choice(others))
                if second is not None:
                    self._around.coverage["double failovers"] += 1
                    second.end(loses_power=self._random.random() < 0.5)
                return

    async def _restart(self) -> None:
        await self._node().stop()

    async def _wipe(self) -> None:
        machine = self._node()
        if self._hardware.may_lose_disk(machine):
            if self._random.random() < 0.5:
                self._hardware.restart_at_once.add(machine.name)
            machine.end(loses_power=True)
            machine.wipe()

    async def _kill_gateway(self) -> None:
        self._random.choice(self._hardware.gateways).end()

    # --- standing still ---

    async def _pause(self) -> None:
        machine = self._hardware.leader_of_some_partition() or self._node()
        await self._stand_still(machine, self._lease_s())

    async def _short_pause(self) -> None:
        await self._stand_still(self._node(), self._random.uniform(0.05, 1.5))

    async def _pause_gateway(self) -> None:
        await self._stand_still(self._random.choice(self._hardware.gateways), self._random.uniform(0.1, 5))

    async def _stand_still(self, host: Host, duration_s: float) -> None:
        process = host.process
        if process is None or process.is_dead or process.is_paused:
            return
        process.pause()
        try:
            await asyncio.sleep(duration_s)
        finally:
            process.resume()

    # --- the network ---

    async def _isolate(self) -> None:
        """From the other nodes, and maybe from the gateways or the store."""
        host = self._host()
        others = [name for name in self._names() if name != host.name]
        if self._random.random() < 0.5:
            others.append(COORDINATION)
        if self._random.random() < 0.3:
            others = [name for name in others if not name.startswith("gateway")]
        links = self._around.network.links
        await self._block([*links.between([host.name], others), *links.between(others, [host.name])])

    async def _island(self) -> None:
        """A gateway stays with a leader that the others lose, and so do the gateway's clients."""
        machine = self._hardware.leader_of_some_partition() or self._node()
        island = [machine.name, self._random.choice(self._hardware.gateways).name]
        others = [name for name in self._names() if name not in island]
        if self._random.random() < 0.5:
            others.append(COORDINATION)
        links = self._around.network.links
        await self._block([*links.between(island, others), *links.between(others, island)])

    async def _one_way(self) -> None:
        one, other = self._random.sample([*self._names(), COORDINATION], 2)
        await self._block([self._around.network.links.link(one, other)])

    async def _cut_store(self) -> None:
        host, links = self._host(), self._around.network.links
        both = [links.link(host.name, COORDINATION), links.link(COORDINATION, host.name)]
        await self._block(both if self._random.random() < 0.6 else [self._random.choice(both)])

    async def _block(self, links: list[Link]) -> None:
        for link in links:
            link.block()
        try:
            await asyncio.sleep(self._lease_s())
        finally:
            for link in links:
                link.open()

    async def _clog(self) -> None:
        one, other = self._random.sample([*self._names(), COORDINATION], 2)
        link = self._around.network.links.link(one, other)
        link.extra_ms = self._random.choice((20.0, 200.0, 2_000.0))
        try:
            await self._sleep(0.5, 5)
        finally:
            link.extra_ms = 0.0

    async def _resets(self) -> None:
        names = self._names()
        for _ in range(self._random.randint(1, 5)):
            one, other = self._random.sample(names, 2)
            self._around.network.reset(one, other, both_ends=self._random.random() < 0.7)

    # --- the store ---

    async def _store_down(self) -> None:
        self._around.coordination.lose_quorum()
        try:
            await asyncio.sleep(self._lease_s())
        finally:
            self._around.coordination.regain_quorum()

    async def _compact(self) -> None:
        await self._around.coordination.compact()

    async def _expire(self) -> None:
        store = self._around.coordination.store
        key = self._random.choice((keys.CONTROLLER, keys.node(self._node().node_id)))
        item = await store.get(key)
        if item is not None and item.lease_id:
            await store.revoke_lease(item.lease_id)

    async def _drain(self) -> None:
        node_id = self._node().node_id
        store = self._around.coordination.store
        await store.transact([], [Put(keys.node_steering(node_id), encode(NodeSteering(node_id, 0)))])
        await self._sleep(2, 10)
        await self._stop_draining(node_id)

    async def _stop_draining(self, node_id: int) -> None:
        if node_id not in self._hardware.leaving:
            await self._around.coordination.store.transact([], [Delete(keys.node_steering(node_id))])

    # --- what operators do ---

    async def _grow(self) -> None:
        """Any topic that there is, dead letter queues included, but for those of Acklog's own, which never grow."""
        machine = self._random.choice(self._hardware.gateways)
        changeable = (topic for topic in self._store.topics.values() if not is_internal(topic.name))
        topics = sorted(changeable, key=lambda topic: topic.name)
        topic = self._random.choice([topic for topic in topics if topic.partitions < PARTITIONS_MAX] or topics[:1])
        if machine.gateway is None or machine.process is None or topic.partitions >= PARTITIONS_MAX:
            return
        growing = machine.gateway.gateway.topics.update(topic.name, partitions=topic.partitions + 1)
        with contextlib.suppress(ServerError, CoordinationError, ProcessDiedError):
            await machine.process.call(growing)

    async def _move(self) -> None:
        """To other nodes, as far as there are some, and with another preferred leader."""
        places = sorted(self._store.partitions)
        if not places:
            return
        state = self._store.partitions[self._random.choice(places)]
        staying = sorted(self._hardware.nodes.keys() - self._hardware.leaving)
        wanted = tuple(self._random.sample(staying, min(len(staying), len(state.replicas))))
        order = PartitionOrder(state.topic_id, state.partition, 0, OrderKind.MOVE, wanted)
        key = keys.partition_order(state.topic_id, state.partition)
        await self._around.coordination.store.transact([], [Put(key, encode(order))])
        if self._random.random() < 0.2:
            await self._sleep(0, 2)
            cancel = PartitionOrder(state.topic_id, state.partition, 0, OrderKind.CANCEL)
            await self._around.coordination.store.transact([], [Put(key, encode(cancel))])

    # --- disks and clocks ---

    async def _failed_sync(self) -> None:
        disk = self._node().disk
        if self._random.random() < 0.8:
            disk.fail_next_sync()
        else:
            disk.fail_next_sync_directory()

    async def _disk_full(self) -> None:
        disk = self._node().disk
        disk.capacity_bytes = disk.used_bytes + self._random.choice((0, 100, 5_000, 30_000))
        try:
            await self._sleep(0, 3)
        finally:
            disk.capacity_bytes = 1 << 40

    async def _slow_disk(self) -> None:
        machine = self._node()
        executor = machine.executor
        if executor is None:
            return
        executor.speed = type(machine.speed)(mean_ms=100.0, stall_probability=0.1, stall_ms=3_000)
        try:
            await self._sleep(0, 3)
        finally:
            executor.speed = machine.speed

    async def _bit_rot(self) -> None:
        machine = self._hardware.may_rot(self._hardware.leader_of_some_partition() or self._node())
        if machine is not None and machine.rot():
            self._hardware.rotten = machine

    async def _wall_jump(self) -> None:
        # By a clock that went back an hour, what is to be seen later is an hour away: nobody waits so long here.
        is_near = self._around.options.delayed or self._around.options.recurring or self._around.options.moving
        farthest = (1_000, 60_000, 3_600_000)[: 1 if is_near else 3]
        self._host().clock.jump(self._random.choice((-1, 1)) * self._random.choice(farthest))
