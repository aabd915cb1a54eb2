"""Judges what readers are told of a log's end by what the nodes themselves know at that moment."""

from storage.log.log_table import LogKind
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.inspector import replicas_of
from tests.sim.history import RecordsRead


class Watermarks:
    """5. Nobody is told of more than what some node knows to be committed. `lives` is asked before and after: where a
    node has ended meanwhile, or is about to, nobody can say what it knew."""

    def __init__(self, hardware: Hardware) -> None:
        self.violations: list[str] = []
        self._hardware = hardware

    def lives(self) -> frozenset[str]:
        """The storage processes that run."""
        machines = self._hardware.nodes.values()
        return frozenset(
            f"{machine.process.name} {'serves' if machine.node is not None else 'begins or ends'}"
            for machine in machines
            if machine.process is not None and not machine.process.is_dead
        )

    def judge(self, topic_id: str, read: RecordsRead, lives: frozenset[str]) -> None:
        """`lives` are those of before the reader asked."""
        if lives != self.lives() or any(not life.endswith("serves") for life in lives):
            return
        highest = self._highest(topic_id, read.partition)
        if read.high_watermark > highest:
            self.violations.append(
                f"{read.reader} was told a high watermark of {read.high_watermark} for {read.queue}/{read.partition}, "
                f"no node knows more than {highest}"
            )

    def _highest(self, topic_id: str, partition: int) -> int:
        nodes = [machine.node for machine in self._hardware.nodes.values() if machine.node is not None]
        known = [
            host.high_watermark(LogKind.MESSAGES)
            for node in nodes
            for host in replicas_of(node)
            if (host.topic.id, host.number) == (topic_id, partition)
        ]
        return max(known, default=0)
