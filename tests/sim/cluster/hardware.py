"""All the machines of a simulated cluster, who keeps them up, and which of them lead what."""

import asyncio
import random

from app.processes.node_end import StorageFailedError
from cluster.errors import ServerError
from cluster.life.node_id import DirectoryConflictError
from cluster.life.registration import ReplacedError
from cluster.model.values import NO_LEADER, PartitionState
from cluster.ports.coordination import CoordinationError
from tests.sim.cluster.machines import GatewayMachine, Host, NodeMachine, Surrounding
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.embedded_machine import EmbeddedMachine
from tests.sim.environment import ExecutorKilledError
from tests.sim.http_client import HttpClient
from tests.sim.options import Deployment
from tests.sim.process import ProcessDiedError

LOOK_INTERVAL_S = 0.05
START_FAILURES = (
    ServerError,
    OSError,
    CoordinationError,
    DirectoryConflictError,
    ReplacedError,
    StorageFailedError,
    ExecutorKilledError,
)
"""What a supervisor answers with another start, as a real one does for any end of a process."""


class Hardware:
    """`keep_up` restarts whatever ends, as a supervisor does, until `rest`."""

    def __init__(self, around: Surrounding, store: StoreObserver, violations: list[str]) -> None:
        self.nodes: dict[int, NodeMachine] = {}
        self.gateways: list[GatewayMachine | EmbeddedMachine] = []
        if around.options.deployment is Deployment.EMBEDDED:
            machine = EmbeddedMachine(around, self._died)
            self.nodes[machine.node_id] = machine
            self.gateways.append(machine)
        else:
            numbers = range(1, around.options.nodes + 1)
            self.nodes = {number: NodeMachine(number, around, self._died) for number in numbers}
            self.gateways += [GatewayMachine(number, around, self._died) for number in range(around.options.gateways)]
        self.must_stay_up = False
        self.restart_at_once: set[str] = set()
        self.kept_down: set[str] = set()
        """Hosts that nobody starts for now."""
        self.leaving: set[int] = set()
        """Nodes that an operator is emptying, to take them away for good."""
        self.rotten: NodeMachine | None = None
        """Whose disk has lost bits. One at a time is what replication is for, and it is the same one to the end."""
        self._around = around
        self._store = store
        self._violations = violations
        self._random = random.Random(f"hardware {around.options.seed}")
        self._keepers: dict[str, asyncio.Task[None]] = {}
        self._nodes_ever = around.options.nodes
        self._is_resting = False
        self._gone_at_wall_ms = 0

    @property
    def hosts(self) -> list[Host]:
        """Each once, also one that is both a node and a gateway."""
        return list(dict.fromkeys([*self.nodes.values(), *self.gateways]))

    # --- life ---

    def keep_up(self) -> None:
        """Start everything, and again whatever ends."""
        self._is_resting = False
        self._keepers = {host.name: asyncio.create_task(self._keep(host)) for host in self.hosts}

    def add_node(self) -> NodeMachine:
        """A new machine with an empty disk, under a number that no node has ever had."""
        self._nodes_ever += 1
        machine = NodeMachine(self._nodes_ever, self._around, self._died)
        self.nodes[machine.node_id] = machine
        self._keepers[machine.name] = asyncio.create_task(self._keep(machine))
        return machine

    async def take_away(self, machine: NodeMachine) -> None:
        """The node is stopped, and its machine is gone with all that is on it."""
        self.kept_down.add(machine.name)
        keeper = self._keepers.pop(machine.name)
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        machine.resume()
        await machine.stop()
        machine.end(loses_power=True)
        del self.nodes[machine.node_id]
        self._gone_at_wall_ms = max(self._gone_at_wall_ms, machine.clock.wall_ms())

    async def rest(self) -> None:
        """Stop all nodes gracefully; gateways just end."""
        self.must_stay_up = False
        self._is_resting = True
        for keeper in self._keepers.values():
            keeper.cancel()
        await asyncio.gather(*self._keepers.values(), return_exceptions=True)
        await asyncio.gather(*(machine.stop() for machine in self.nodes.values()))
        for gateway in self.gateways:
            gateway.end()

    async def _keep(self, host: Host) -> None:
        try:
            await self._keep_for_ever(host)
        except Exception as error:
            self._violations.append(f"nobody starts {host.name} any more: {error!r}")
            raise

    async def _keep_for_ever(self, host: Host) -> None:
        is_first = True
        while True:
            if not host.is_up and host.name not in self.kept_down:
                if not is_first and host.name not in self.restart_at_once:
                    await asyncio.sleep(self._random.choice(self._around.options.restart_delays_ms) / 1000)
                self.restart_at_once.discard(host.name)
                is_first = False
                await self._start(host)
            if isinstance(host, NodeMachine):
                await self._end_if_over(host)
            await asyncio.sleep(LOOK_INTERVAL_S)

    async def _start(self, host: Host) -> None:
        assert isinstance(host, NodeMachine | GatewayMachine)
        try:
            await host.start()
        except ProcessDiedError:
            self._around.coverage["died in its start"] += 1
        except START_FAILURES as error:
            self._around.coverage[f"start {type(error).__name__}"] += 1
        else:
            if isinstance(host, NodeMachine) and host.problems and host is not self.rotten:
                self._violations.append(f"recovery of {host.name} found damage that no fault explains: {host.problems}")

    async def _end_if_over(self, machine: NodeMachine) -> None:
        """A node that says that it must be closed is closed, and its machine loses power if its disk is the reason."""
        node, reason = machine.node, machine.reason_to_end
        if node is None or reason is None or machine.process is None or machine.process.is_paused:
            return
        self._around.coverage[f"nodes that gave up: {type(reason).__name__}"] += 1
        await asyncio.sleep(0.3)  # meanwhile it must not confirm anything
        if machine.node is node:
            machine.end(loses_power=node.node.failure is not None)

    def _died(self, host: Host) -> None:
        if self.must_stay_up and host.name not in self.kept_down:
            self._violations.append(f"{host.name} died after everything was healed")

    # --- finding ---

    def latest_wall_ms(self) -> int:
        """The latest that a node's clock says, or said when its machine was taken away: what that one has decided by it
        stays. Jumps that were taken back are not in it."""
        return max(self._gone_at_wall_ms, *(machine.clock.wall_ms() for machine in self.nodes.values()))

    def some_gateway(self) -> HttpClient | None:
        """What a client's load balancer picks."""
        living = self.living_gateways()
        return self._random.choice(living) if living else None

    def living_gateways(self) -> list[HttpClient]:
        return [gateway.http for gateway in self.gateways if gateway.http is not None]

    def directory_on(self, node_id: int) -> str | None:
        """Of the disk that the node's machine has now: "" for an empty one, None where there is no such machine."""
        machine = self.nodes.get(node_id)
        return None if machine is None else machine.directory_id

    def leader_of(self, state: PartitionState) -> NodeMachine | None:
        """The machine of the partition's leader, if that life of it goes on."""
        if state.leader == NO_LEADER:
            return None
        machine = self.nodes.get(state.leader)
        node = None if machine is None else machine.node
        if machine is None or node is None or node.node.incarnation != state.leader_incarnation:
            return None
        return machine

    def leader_of_some_partition(self) -> NodeMachine | None:
        states = [self._store.partitions[place] for place in sorted(self._store.partitions)]
        leaders = [leader for state in states if (leader := self.leader_of(state)) is not None]
        return self._random.choice(leaders) if leaders else None

    def may_rot(self, machine: NodeMachine) -> NodeMachine | None:
        """The one whose disk may lose a bit now."""
        machine = self.rotten or machine
        return machine if self.may_lose_disk(machine) else None

    def may_lose_disk(self, machine: NodeMachine) -> bool:
        """Whether nothing committed is on this disk alone, also after a change of the ISR that is on its way."""
        if self._around.options.min_insync_replicas < 2:
            return False
        for state in self._store.partitions.values():
            others = [
                node_id
                for node_id in state.isr
                if node_id != machine.node_id
                and (self.rotten is None or node_id != self.rotten.node_id)
                and self.directory_on(node_id) == state.directory_of(node_id)
            ]
            if machine.node_id in state.replicas and len(others) < 2:
                return False
        return bool(self._store.partitions)
