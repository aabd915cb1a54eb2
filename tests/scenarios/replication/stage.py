"""Replicas of one partition, and the key that says who leads it. Nothing happens but what the script says."""

from types import SimpleNamespace

import msgspec

from storage.log.log_table import LogKind
from storage.replication.acks import ACKS_ALL
from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity
from storage.replication.follower_events import Answered, FetchFrom
from storage.replication.isr import ChangeOutcome, IsrChange
from storage.replication.leader_events import (
    AssignmentUnreadable,
    ChangeIsr,
    CoordinationChanged,
    ForgetHandOvers,
    HandOver,
    IsrChangeEnded,
    ReadAssignment,
    Refusal,
    TopicChanged,
)
from storage.replication.replica_events import GiveUpPlace, LogDamaged, Role
from storage.replication.replication_settings import TopicReplication
from tests.property.replication.model_checks import Checks
from tests.property.replication.model_log import Batch
from tests.property.replication.model_store import ModelStore
from tests.scenarios.replication import narration
from tests.scenarios.replication.actor import Actor

NO_LEADER = -1
LAG_MS = 10_000

REFUSALS = {
    Refusal.NOT_SERVING: "it does not serve",
    Refusal.NOT_ENOUGH_REPLICAS: "too few replicas are in sync",
    Refusal.TOO_MANY_WAITING: "too many appends wait",
}


class Stage:
    """`checks` are those of the random model (`tests/property/replication`): what is committed stays, logs match,
    high watermarks rise. They raise AssertionError."""

    def __init__(self, node_ids: list[int], isr: list[int], min_insync_replicas: int, epoch: int) -> None:
        self.now_ms = 0
        self.lines: list[str] = []
        self.names = narration.Names()
        self.topic = TopicReplication(min_insync_replicas, LAG_MS)
        self.options = SimpleNamespace(min_insync_replicas=min_insync_replicas)  # for the checks
        self.nodes = {node_id: Actor(self, node_id) for node_id in node_ids}
        members = tuple(IsrMember(each, self.nodes[each].disk.directory_id) for each in isr)
        self.store = ModelStore(Assignment(NO_LEADER, 0, epoch, tuple(node_ids), members, 1))
        self.checks = Checks(self)
        self._silent: set[int] = set()
        self._tokens = 0
        self._fetches: dict[str, tuple[int, ReplicaIdentity, FetchFrom]] = {}
        self._answers: dict[str, tuple[int, Answered]] = {}
        self._late_changes: list[IsrChange] = []

    def tell(self, who: int | str, line: str) -> None:
        self.lines.append(f"{who}  {line}")

    def count(self, what: str) -> None:
        """For the checks, which count what they see."""

    def check(self) -> None:
        """From the first start on: before that its logs are being written."""
        if not self.store.registrations:
            return
        for node in self.nodes.values():
            if node.is_up:
                node.replica.check_invariants()
        self.checks.touch()
        self.checks.check()

    # --- the key -----------------------------------------------------------------------------------------------------

    def elect(
        self,
        leader: int,
        *,
        isr: list[int] | None = None,
        hidden_from: list[int] | None = None,
        is_unclean: bool = False,
    ) -> None:
        """By a controller, from the ISR: the next epoch."""
        now = self.store.assignment
        node = self.nodes[leader]
        members = now.isr if isr is None else tuple(each for each in now.isr if each.node_id in isr)
        if is_unclean:
            members = (IsrMember(leader, node.disk.directory_id),)
            self._forget_what_is_lost(node)
        assert any(each.node_id == leader for each in members), f"{leader} is not in sync"
        epoch = now.leader_epoch + 1
        unclean_epoch = epoch if is_unclean else now.unclean_epoch
        new = Assignment(
            leader, node.incarnation, epoch, now.replicas, members, -1, now.given_up_by, unclean_epoch=unclean_epoch
        )
        self.store.write(new, expected_revision=now.revision)
        self._tell_key(hidden_from or [])

    def take_out(self, node_ids: list[int]) -> None:
        """Of the ISR, by a controller, within the epoch."""
        now = self.store.assignment
        isr = tuple(each for each in now.isr if each.node_id not in node_ids)
        self.store.write(msgspec.structs.replace(now, isr=isr), expected_revision=now.revision)
        self._tell_key([])

    def _tell_key(self, hidden_from: list[int]) -> None:
        self.lines.append(narration.key(self.store.assignment))
        for node in self.nodes.values():
            if node.is_up and node.node_id not in hidden_from:
                node.learn_assignment()

    def _forget_what_is_lost(self, node: Actor) -> None:
        for committed, log in zip(self.checks.committed, node.disk.logs, strict=True):
            kept = [each for at, each in enumerate(committed) if log.records[at : at + 1] == [each]]
            committed[:] = kept

    # --- life --------------------------------------------------------------------------------------------------------

    def write_log(self, node_id: int, epochs: list[tuple[int, list[str]]], *, high_watermark: int, log: int) -> None:
        """Before it starts; one record a batch."""
        disk = self.nodes[node_id].disk
        for epoch, names in epochs:
            for name in names:
                disk.logs[log].append(Batch(disk.logs[log].written_end, epoch, [self.names.number_of(name)]))
        disk.logs[log].sync(disk.logs[log].written_end)
        self.checkpoint(node_id, log, high_watermark)

    def checkpoint(self, node_id: int, log: int, high_watermark: int) -> None:
        """What is on a disk about its high watermark, and all that its next life knows of it."""
        node = self.nodes[node_id]
        node.disk.high_watermarks[log] = high_watermark
        known = self.checks.committed[log]
        known += node.disk.logs[log].records[len(known) : high_watermark]

    def start(self, node_ids: list[int]) -> None:
        for node_id in node_ids:
            node = self.nodes[node_id]
            node.start()
            self.store.registrations[node_id] = node.identity
            self.tell(node_id, f"begins life {node.incarnation}")
            if self.store.assignment.leader != NO_LEADER:
                node.learn_assignment()

    def stop(self, node_ids: list[int], *, is_power_loss: bool = False) -> None:
        for node_id in node_ids:
            self.nodes[node_id].stop(is_power_loss=is_power_loss)
            self.store.registrations.pop(node_id, None)

    def wipe(self, node_id: int) -> None:
        node = self.nodes[node_id]
        assert not node.is_up
        self.checks.wiped(node)
        node.wipe()

    # --- appends -----------------------------------------------------------------------------------------------------

    def append(self, node_id: int, names: list[str], *, acks: int = ACKS_ALL, log: int = LogKind.MESSAGES) -> None:
        """Refused, or one batch, whose acknowledgement is awaited."""
        node = self.nodes[node_id]
        leader = node.replica.leader
        refusal = Refusal.NOT_SERVING if leader is None else leader.refusal(acks)
        if refusal is not None:
            self.tell(node_id, f"refuses: {REFUSALS[refusal]}")
            return
        self._tokens += 1
        values = [self.names.number_of(each) for each in names]
        self.tell(node_id, f"writes {' '.join(names)} as #{self._tokens}")
        self.checks.appended(self._tokens, log, node.disk.logs[log].written_end, values, acks)
        node.append(log, values, acks=acks, token=self._tokens)

    def trim(self, node_id: int, offset: int) -> None:
        self.nodes[node_id].disk.logs[LogKind.MESSAGES].remove_before(offset)

    # --- fetches -----------------------------------------------------------------------------------------------------

    def send(self, node_id: int, name: str) -> bool:
        """The follower's fetch is on its way, under a name."""
        node = self.nodes[node_id]
        if not node.is_up or node.fetch is None:
            self.tell(node_id, "fetches nothing")
            return False
        fetch = node.fetch
        self._fetches[name] = (fetch.leader, node.identity, fetch)
        said = narration.asked(fetch.positions)
        self.tell(f"{node_id} > {fetch.leader}", f"fetch of epoch {fetch.leader_epoch}, {said}")
        return True

    def arrive(self, name: str) -> bool:
        """It arrives, perhaps a second time; the answer is on its way."""
        leader, follower, fetch = self._fetches[name]
        node = self.nodes[leader]
        if not node.is_up:
            self.tell(leader, "is down")
            return False
        self._answers[name] = (follower.node_id, node.answer(follower, fetch))
        return True

    def deliver(self, name: str) -> None:
        follower, answer = self._answers[name]
        self.nodes[follower].step(answer)

    def fetch(self, node_ids: list[int]) -> None:
        """There and back."""
        for node_id in node_ids:
            name = str(node_id)
            if self.send(node_id, name) and self.arrive(name):
                self.deliver(name)

    def settle(self) -> None:
        """Fetches, disks and wishes, until nothing more happens; only what came of it is told."""
        before, self.lines = self.lines, []
        last: list[object] = []
        while last != (last := self._everything()):
            for node in self.nodes.values():
                if node.is_up:
                    node.is_disk_slow = False
                    node.finish_disk_work()
                if node.is_up and node.fetch is not None:
                    self.fetch([node.node_id])
                while node.is_up and node.wishes:
                    self.grant(node.node_id)
        self.lines = before
        self.show()

    def _everything(self) -> list[object]:
        known = [node.replica.high_watermarks for node in self.nodes.values() if node.is_up]
        return [self.store.assignment, known, [log.version for node in self.nodes.values() for log in node.disk.logs]]

    # --- wishes ------------------------------------------------------------------------------------------------------

    def grant(self, node_id: int, *, outcome: str = "") -> None:
        """What a replica wants of the coordination store arrives there. `outcome`: "unknown", for a change that may
        happen later (`arrive_late`), or "unreached"."""
        node = self.nodes[node_id]
        if not node.wishes:
            self.tell(node_id, "wants nothing")
            return
        wish = node.wishes.pop(0)
        now, identity = self.store.assignment, node.identity
        match wish:
            case ChangeIsr():
                self._change_isr(node, wish.change, outcome)
                return
            case ReadAssignment():
                if outcome == "unreached":
                    node.step(AssignmentUnreadable())
                else:
                    node.learn_assignment()
                return
            case GiveUpPlace():
                is_done = self.store.give_up(identity, now, isr_floor=wish.isr_floor)
            case HandOver():
                is_done = self.store.hand_over(identity, now, wish)
            case ForgetHandOvers():
                is_done = self.store.forget_hand_overs(identity, now)
        if is_done:
            self._tell_key([])
        else:
            self.lines.append("key  nothing changes")

    def _change_isr(self, node: Actor, change: IsrChange, outcome: str) -> None:
        if outcome == "unknown":
            self._late_changes.append(change)
            node.step(IsrChangeEnded(change.serial, ChangeOutcome.UNKNOWN))
        elif outcome == "unreached":
            node.step(IsrChangeEnded(change.serial, ChangeOutcome.NOT_DONE))
        else:
            answer, revision = self.store.change_isr(change)
            if answer is ChangeOutcome.DONE:
                self.lines.append(narration.key(self.store.assignment))
            else:
                self.lines.append("key  refused: it is not as the change expects it")
            node.step(IsrChangeEnded(change.serial, answer, revision))
            if answer is ChangeOutcome.DONE:
                self._let_others_see(node)

    def _let_others_see(self, node: Actor) -> None:
        for other in self.nodes.values():
            if other is not node and other.is_up:
                other.learn_assignment()

    def arrive_late(self) -> None:
        """The oldest change of unknown outcome happens after all, or is refused; nobody is told."""
        outcome, _ = self.store.change_isr(self._late_changes.pop(0))
        done = narration.key(self.store.assignment)
        self.lines.append(done if outcome is ChangeOutcome.DONE else "key  refused: it is not as the change expects it")

    # --- circumstances -----------------------------------------------------------------------------------------------

    def see(self, node_ids: list[int]) -> None:
        for node_id in node_ids:
            self.nodes[node_id].learn_assignment()

    def set_coordinated(self, node_ids: list[int], *, is_reachable: bool) -> None:
        for node_id in node_ids:
            self.nodes[node_id].step(CoordinationChanged(is_reachable))

    def set_silent(self, node_ids: list[int]) -> None:
        """These fetch no more, without being down; the others do all the time, whether there is news or not."""
        self._silent = set(node_ids)

    def set_minimum(self, min_insync_replicas: int) -> None:
        self.topic = TopicReplication(min_insync_replicas, LAG_MS)
        self.options.min_insync_replicas = min_insync_replicas
        for node in self.nodes.values():
            if node.is_up:
                node.step(TopicChanged(self.topic))

    def damage(self, node_id: int, log: int) -> None:
        self.nodes[node_id].step(LogDamaged(log))

    def heard_ms(self, leader: Actor) -> dict[int, int]:
        """When a leader last heard each of its followers."""
        heard = {
            node.node_id: self.now_ms
            for node in self.nodes.values()
            if node.is_up and node.node_id not in self._silent and node.replica.role is Role.FOLLOWER
        }
        heard.pop(leader.node_id, None)
        return heard

    def pass_time(self, milliseconds: int) -> None:
        """What is due is done when it is due."""
        until_ms = self.now_ms + milliseconds
        while True:
            due = [
                (deadline_ms, node.node_id)
                for node in self.nodes.values()
                if node.is_up and (deadline_ms := node.replica.next_deadline()) is not None and deadline_ms <= until_ms
            ]
            if not due:
                break
            at_ms, node_id = min(due)
            self.now_ms = max(self.now_ms, at_ms)
            told = len(self.lines)
            self.nodes[node_id].time_passed()
            self.lines[told:] = [f"{line}  (at {self.now_ms} ms)" for line in self.lines[told:]]
        self.now_ms = until_ms

    # --- showing -----------------------------------------------------------------------------------------------------

    def show(self) -> None:
        """The key, and every replica with its logs."""
        self.lines.append(narration.key(self.store.assignment))
        for node in self.nodes.values():
            self.tell(node.node_id, f"{self._role(node):<24} {self._logs(node)}".rstrip())

    def _role(self, node: Actor) -> str:
        if not node.is_up:
            return "down"
        replica = node.replica
        if replica.leader is not None:
            return f"{replica.leader.service.value} leader of {replica.leader_epoch}"
        if replica.follower is not None:
            return f"follower in {replica.leader_epoch}"
        return f"no role in {replica.leader_epoch}"

    def _logs(self, node: Actor) -> str:
        known = node.replica.high_watermarks if node.is_up else node.disk.high_watermarks
        shown = [
            self.names.log(
                log.records, log_start=log.log_start, high_watermark=known[number], durable_end=log.durable_end
            )
            for number, log in enumerate(node.disk.logs)
            if number == LogKind.MESSAGES or log.records
        ]
        return "; delivery ".join(shown)
