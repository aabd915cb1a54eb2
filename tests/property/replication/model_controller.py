"""A controller that is not alone, decides on what it read a while ago, and writes by compare-and-set."""

from typing import TYPE_CHECKING

from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity

if TYPE_CHECKING:
    from tests.property.replication.model_cluster import ModelCluster


class Controller:
    """Elects from the ISR; a replica whose directory is another one than its place was earned with is not in it."""

    def __init__(self, cluster: "ModelCluster") -> None:
        self.cluster = cluster

    def work(self) -> None:
        cluster = self.cluster
        cluster.at(cluster.random.randint(1, 2 * cluster.options.controller_interval_ms), self.work)
        if not cluster.is_store_down:
            self._write(self._decide(cluster.store.assignment, dict(cluster.store.registrations)))

    def move_leadership(self) -> None:
        """As when a preferred leader gets its place back."""
        assignment = self.cluster.store.assignment
        eligible = self._eligible(assignment, self.cluster.store.registrations)
        if eligible and not self.cluster.is_store_down:
            self._write(self._elect(assignment, assignment.isr, eligible))

    def _write(self, new: Assignment | None) -> None:
        if new is None:
            return
        cluster = self.cluster

        def write() -> None:
            if not cluster.is_store_down and cluster.store.write(new, expected_revision=new.revision):
                cluster.count("controller's change")
                cluster.assignment_changed()

        cluster.at(cluster.random.choice([0, 2, 30]), write)

    def _decide(self, now: Assignment, registrations: dict[int, ReplicaIdentity]) -> Assignment | None:
        """The revision of the answer is the one that it was decided on."""
        isr = self._without_strangers(now.isr, registrations)
        eligible = self._eligible(now, registrations)
        leader = registrations.get(now.leader)
        may_lead = leader is not None and now.is_led_by(leader) and leader in eligible
        if not may_lead:
            return self._elect(now, isr, eligible) if eligible else None
        if isr != now.isr:
            return Assignment(now.leader, now.leader_incarnation, now.leader_epoch, now.replicas, isr, now.revision)
        return None

    def _without_strangers(
        self, isr: tuple[IsrMember, ...], registrations: dict[int, ReplicaIdentity]
    ) -> tuple[IsrMember, ...]:
        """Never nobody: the last ones are waited for."""
        kept = tuple(
            member
            for member in isr
            if member.node_id not in registrations or registrations[member.node_id].directory_id == member.directory_id
        )
        return kept or isr

    def _eligible(self, now: Assignment, registrations: dict[int, ReplicaIdentity]) -> list[ReplicaIdentity]:
        return [
            registrations[member.node_id]
            for member in now.isr
            if member.node_id in registrations and registrations[member.node_id].directory_id == member.directory_id
        ]

    def _elect(self, now: Assignment, isr: tuple[IsrMember, ...], eligible: list[ReplicaIdentity]) -> Assignment:
        random = self.cluster.random
        chosen = random.choice(eligible)
        if random.random() >= self.cluster.options.keeps_dead_in_isr:
            alive = [identity.node_id for identity in eligible]
            dead = [member for member in isr if member.node_id not in alive]
            leaving = dead[: max(len(isr) - self.cluster.options.min_insync_replicas, 0)]
            isr = tuple(member for member in isr if member not in leaving)
        return Assignment(chosen.node_id, chosen.incarnation, now.leader_epoch + 1, now.replicas, isr, now.revision)
