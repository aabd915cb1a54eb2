"""Three nodes, a coordination store, controllers and a network, all driven by one seed in virtual time."""

import heapq
from collections import Counter
from collections.abc import Callable
from random import Random

from storage.replication.acks import ACKS_ALL
from storage.replication.assignment import Assignment, IsrMember
from storage.replication.isr import ChangeOutcome, IsrChange
from storage.replication.leader_events import (
    AssignmentUnreadable,
    CoordinationChanged,
    HandOver,
    IsrChangeEnded,
)
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest
from tests.property.replication.model_checks import Checks
from tests.property.replication.model_controller import Controller
from tests.property.replication.model_node import LOGS, ModelNode
from tests.property.replication.model_store import ModelStore
from tests.property.replication.options import draw_options

NODES = (1, 2, 3)
HEALING_MS = 3_000


class ModelCluster:
    """Everything that a run consists of. Make it, then `run`."""

    node_type = ModelNode
    store_type = ModelStore
    controller_type = Controller

    def __init__(self, seed: int, *, steps: int) -> None:
        self.random = Random(seed)
        self.options = draw_options(self.random, steps)
        self.now_ms = 0
        self.counters: Counter[str] = Counter()
        self.checks = Checks(self)
        self.nodes = {node_id: self.node_type(self, node_id) for node_id in NODES}
        isr = tuple(IsrMember(node.node_id, node.disk.directory_id) for node in self.nodes.values())
        self.store = self.store_type(Assignment(1, 1, 1, NODES, isr, 1))
        self.controllers = [self.controller_type(self), self.controller_type(self)]
        self.cut_links: dict[tuple[int, int], None] = {}
        self.cut_from_store: dict[int, None] = {}
        self.is_store_down = False
        self.is_healed = False
        self.slow_replica: int | None = None
        self._tokens = 0
        self._values = 0
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._agenda_count = 0

    # --- running -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Raises AssertionError at the first step that breaks a rule."""
        for node in self.nodes.values():
            self.start(node)
        for controller in self.controllers:
            self.at(self.random.randint(0, 20), controller.work)
        self.at(5, self._client)
        self.at(self.options.fault_interval_ms, self._fault)
        for _ in range(self.options.steps):
            self._next()
        self._heal()
        until_ms = self.now_ms + HEALING_MS
        while self.now_ms < until_ms and not self.checks.has_converged():
            self._next()
        self.checks.converged()

    def at(self, delay_ms: int, work: Callable[[], None]) -> None:
        self._agenda_count += 1
        heapq.heappush(self._agenda, (self.now_ms + delay_ms, self._agenda_count, work))

    def count(self, what: str) -> None:
        self.counters[what] += 1

    def _next(self) -> None:
        self.now_ms, _, work = heapq.heappop(self._agenda)
        work()

    # --- nodes -------------------------------------------------------------------------------------------------------

    def start(self, node: ModelNode) -> None:
        node.start()
        self._register(node)
        node.later(self.random.randint(0, 10), node.learn_assignment)
        self._keep_alive(node, node.incarnation)

    def _register(self, node: ModelNode) -> None:
        identity = node.identity

        def register() -> None:
            if node.is_up and node.identity == identity and self._reaches_store(node):
                self.store.registrations[node.node_id] = identity

        self.at(self.random.randint(0, 15), register)

    def _keep_alive(self, node: ModelNode, incarnation: int) -> None:
        """Half a lease after half a lease; the store ends a lease that was not kept, the node is told before."""
        interval_ms = self.options.lease_ms // 2

        def look() -> None:
            if not node.is_up or node.incarnation != incarnation:
                return
            is_kept = self._reaches_store(node) and not node.is_paused
            if is_kept != node.is_coordinated and not node.is_paused:
                node.is_coordinated = is_kept
                node.later(0, lambda: node.step(CoordinationChanged(is_kept)))
            if is_kept:
                self._register(node)
            else:
                self._end_lease(node)
            self.at(interval_ms, look)

        self.at(interval_ms, look)

    def _end_lease(self, node: ModelNode) -> None:
        identity = node.identity

        def end() -> None:
            is_kept = node.is_up and node.identity == identity and not node.is_paused and self._reaches_store(node)
            if not is_kept and self.store.registrations.get(node.node_id) == identity:
                del self.store.registrations[node.node_id]

        self.at(self.options.lease_ms, end)

    def stop(self, node: ModelNode, *, is_power_loss: bool) -> None:
        self._end_lease(node)
        node.stop(is_power_loss=is_power_loss)
        self.checks.touch()

    def disk_delay_ms(self, node: ModelNode) -> int:
        if self.slow_replica == node.node_id:
            return self.random.randint(50, 200)
        is_slow = not self.is_healed and self.random.random() < self.options.slow_disk
        return self.random.randint(10, 80) if is_slow else self.random.randint(1, 3)

    # --- network -----------------------------------------------------------------------------------------------------

    def send_fetch(self, sender: ModelNode, to: int, request: FetchRequest) -> None:
        target = self.nodes[to]
        self._deliver(sender, target, lambda: target.fetch_arrived(request))

    def send_answer(self, sender: ModelNode, to: int, mode: FetchMode, answer: FetchAnswer) -> None:
        target = self.nodes[to]
        self._deliver(sender, target, lambda: target.answer_arrived(sender.node_id, mode, answer))

    def _deliver(self, sender: ModelNode, target: ModelNode, work: Callable[[], None]) -> None:
        """Messages are lost, doubled, late, and may even reach a later life of the target."""
        link = (sender.node_id, target.node_id)
        copies = 1
        if not self.is_healed:
            if link in self.cut_links or self.random.random() < self.options.loss:
                return
            copies += self.random.random() < self.options.duplication
        for _ in range(copies):
            delay_ms = self.random.randint(0, 2)
            if not self.is_healed and self.random.random() < self.options.slow_message:
                delay_ms = self.random.randint(5, 150)
            self.at(delay_ms, lambda: target.later(0, work) if target.is_up else None)

    # --- coordination ------------------------------------------------------------------------------------------------

    def _reaches_store(self, node: ModelNode) -> bool:
        return not self.is_store_down and node.node_id not in self.cut_from_store

    def assignment_changed(self) -> None:
        """The watches of all nodes, each with its own lag."""
        self.checks.touch()
        for node in self.nodes.values():
            self._tell_assignment(node)

    def _tell_assignment(self, node: ModelNode) -> None:
        def tell() -> None:
            if node.is_up:
                if self._reaches_store(node):
                    node.later(0, node.learn_assignment)
                else:
                    self.at(20, tell)

        is_slow = not self.is_healed and self.random.random() < 0.2
        self.at(self.random.randint(20, 150) if is_slow else self.random.randint(0, 5), tell)

    def look_for_leader(self, node: ModelNode) -> None:
        self._tell_assignment(node)

    def read_assignment(self, node: ModelNode) -> None:
        def read() -> None:
            if self._reaches_store(node):
                node.learn_assignment()
            else:
                node.step(AssignmentUnreadable())

        node.later(self.random.randint(1, 5), read)

    def change_isr(self, node: ModelNode, change: IsrChange) -> None:
        """Its outcome may be unknown: then it happens before that is said, or later, or never."""
        self.count("isr change")

        def execute() -> tuple[ChangeOutcome, int]:
            outcome, revision = self.store.change_isr(change)
            if outcome is ChangeOutcome.DONE:
                self.assignment_changed()
            return outcome, revision

        def tell(outcome: ChangeOutcome, revision: int = -1) -> None:
            node.later(self.random.randint(0, 3), lambda: node.step(IsrChangeEnded(change.serial, outcome, revision)))

        def arrive() -> None:
            if not self._reaches_store(node):
                tell(ChangeOutcome.NOT_DONE)
            elif not self.is_healed and self.random.random() < self.options.store_trouble:
                self.count("outcome unknown")
                if self.random.random() < 0.8:
                    self.at(self.random.choice([0, 5, 40, 150]), execute)
                self.at(self.random.choice([1, 20]), lambda: tell(ChangeOutcome.UNKNOWN))
            else:
                tell(*execute())

        self.at(self.random.randint(0, 3), arrive)

    def give_up(self, node: ModelNode, isr_floor: int) -> None:
        """Nobody tells what came of it but the assignment."""
        identity = node.identity

        self._decide_and_write(
            node, "place given up", lambda now: self.store.give_up(identity, now, isr_floor=isr_floor)
        )

    def hand_over(self, node: ModelNode, effect: HandOver) -> None:
        """As with a place that is given up."""
        identity = node.identity
        self._decide_and_write(node, "handed over", lambda now: self.store.hand_over(identity, now, effect))

    def forget_hand_overs(self, node: ModelNode) -> None:
        identity = node.identity
        self._decide_and_write(node, "hand-overs forgotten", lambda now: self.store.forget_hand_overs(identity, now))

    def _decide_and_write(self, node: ModelNode, what: str, write: Callable[[Assignment], bool]) -> None:
        """Written on what was known when it reached the store, perhaps a while later."""

        def arrive() -> None:
            if self._reaches_store(node):
                now = self.store.assignment
                is_late = not self.is_healed and self.random.random() < self.options.store_trouble
                self.at(self.random.choice([5, 40, 150]) if is_late else 0, lambda: do(now))

        def do(now: Assignment) -> None:
            if write(now):
                self.count(what)
                self.assignment_changed()

        self.at(self.random.randint(0, 3), arrive)

    # --- clients -----------------------------------------------------------------------------------------------------

    def _client(self) -> None:
        self.at(self.random.randint(1, self.options.client_interval_ms), self._client)
        node = self.random.choice([*self.nodes.values()])
        if not node.leads or node.is_paused or (self.is_healed and self.checks.has_appended(node)):
            return
        acks = self.random.choice([ACKS_ALL, ACKS_ALL, ACKS_ALL, 1, 2, 0])
        if node.admits(acks):
            self.append(node, acks)
        if self.options.trims and self.random.random() < 0.1:
            node.trim(self.random.randrange(LOGS))
        node.pump()

    def append(self, node: ModelNode, acks: int) -> None:
        self._tokens += 1
        values = [self._values + each for each in range(self.random.choice([1, 1, 2, 4]))]
        self._values += len(values)
        log = self.random.randrange(LOGS)
        self.checks.appended(self._tokens, log, node.disk.logs[log].written_end, values, acks)
        node.append(log, values, acks, self._tokens)

    # --- faults ------------------------------------------------------------------------------------------------------

    def _fault(self) -> None:
        if self.is_healed:
            return
        self.at(self.random.randint(1, 2 * self.options.fault_interval_ms), self._fault)
        kind = self.random.choice(self.options.faults)
        self.count(kind)
        leader = self.store.assignment.leader
        node = self.nodes[self.random.choice([*NODES, leader if leader in NODES else 1])]
        duration_ms = self.random.choice([5, 40, 150, 400])
        match kind:
            case "crash" | "power" | "wipe" | "quick_restart":
                self._crash(node, kind, 1 if kind == "quick_restart" else duration_ms)
            case "pause" if node.is_up and not node.is_paused:
                self._pause(node, duration_ms)
            case "cut":
                links = self.random.sample([(a, b) for a in NODES for b in NODES if a != b], self.random.randint(1, 4))
                self.cut_links.update(dict.fromkeys(links))
                self.at(duration_ms, lambda: [self.cut_links.pop(link, None) for link in links])
            case "cut_store":
                self.cut_from_store[node.node_id] = None
                self.at(duration_ms, lambda: self.cut_from_store.pop(node.node_id, None))
            case "store_down":
                self.is_store_down = True
                self.at(duration_ms, self._store_up)
            case "move":
                self.random.choice(self.controllers).move_leadership()
            case "rot" if self.checks.may_rot(node):
                self.checks.rotten()
                node.rot()
            case "slow_replica":
                self.slow_replica = node.node_id
                self.at(duration_ms, self._nobody_is_slow)

    def _crash(self, node: ModelNode, kind: str, duration_ms: int) -> None:
        if not node.is_up:
            return
        self.stop(node, is_power_loss=kind in ("power", "wipe") or self.random.random() < 0.3)
        if kind == "wipe" and self.checks.may_wipe(node):
            self.checks.wiped(node)
            node.disk = node.new_disk()
        self.at(duration_ms, lambda: self.start(node))

    def _pause(self, node: ModelNode, duration_ms: int) -> None:
        node.is_paused = True
        incarnation = node.incarnation

        def resume() -> None:
            if node.is_up and node.incarnation == incarnation and node.is_paused:
                node.resume()

        self.at(duration_ms, resume)
        self._end_lease(node)

    def _store_up(self) -> None:
        self.is_store_down = False

    def _nobody_is_slow(self) -> None:
        self.slow_replica = None

    def _heal(self) -> None:
        self.is_healed = True
        self.cut_links.clear()
        self.cut_from_store.clear()
        self.is_store_down = False
        self.slow_replica = None
        for node in self.nodes.values():
            if node.is_up and node.is_paused:
                node.resume()
            if node.is_up:
                node.later(0, node.notice_rot)
