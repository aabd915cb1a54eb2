"""Judges what readers are told of a log's end by what the nodes themselves know, or have known, to be committed."""

from app.processes.cluster_node import ClusterNode
from storage.log.log_table import LogKind
from storage.node.replicas.replica_host import ReplicaHost
from tests.sim.cluster.hardware import Hardware
from tests.sim.history import EndListed, RecordsRead

Place = tuple[str, int]  # topic id, partition


class Watermarks:
    """5. Nobody is told of more than what some node knew to be committed. It stays committed when that node is dead or
    has given its replica away, and the others have not heard of it yet: a gateway goes on showing what it was told
    (rule R35).

    `look` is to be called after each turn of the loop, so that no node takes what it knew with it."""

    def __init__(self, hardware: Hardware, queue: str) -> None:
        """Of the one topic that is read."""
        self.violations: list[str] = []
        self._hardware = hardware
        self._queue = queue
        self._nodes: dict[str, ClusterNode] = {}
        """By the last process of each machine, also while it stops, and when it is dead."""
        self._highest: dict[Place, int] = {}
        self._hosts: dict[str, tuple[list[ReplicaHost], list[ReplicaHost]]] = {}
        """By process: all that its node held at the last look, and those of the topic. This is asked at every turn of
        the loop, and seldom is anything else."""

    def look(self) -> None:
        """Remember what the nodes know now."""
        for name, node in self._nodes.items():
            self._look_at(name, node)
        for machine in self._hardware.nodes.values():
            node, process = machine.node, machine.process
            if node is not None and process is not None and process.name not in self._nodes:
                for ended in [name for name in self._nodes if name.startswith(f"{machine.name}.")]:
                    del self._nodes[ended]
                    self._hosts.pop(ended, None)
                self._nodes[process.name] = node
                self._look_at(process.name, node)

    def starting(self) -> frozenset[str]:
        """The storage processes that may serve already, while nobody can look into them yet."""
        self.look()
        processes = [machine.process for machine in self._hardware.nodes.values()]
        return frozenset(
            process.name
            for process in processes
            if process is not None and not process.is_dead and process.name not in self._nodes
        )

    def judge(self, topic_id: str, told: RecordsRead | EndListed, starting: frozenset[str]) -> None:
        """`starting` are those of before the reader asked."""
        self.look()
        highest = self._highest.get((topic_id, told.partition), 0)
        if told.high_watermark <= highest or starting or self.starting():
            return
        self.violations.append(
            f"{told.reader} was told a high watermark of {told.high_watermark} for {told.queue}/{told.partition}, "
            f"no node has known more than {highest}"
        )

    def _look_at(self, name: str, node: ClusterNode) -> None:
        held = list(node.node._held.hosts.values())
        known = self._hosts.get(name)
        if known is None or known[0] != held:
            known = self._hosts[name] = held, [host for host in held if host.topic.name == self._queue]
        for host in known[1]:
            place, high_watermark = (host.topic.id, host.number), host.high_watermark(LogKind.MESSAGES)
            if high_watermark > self._highest.get(place, 0):
                self._highest[place] = high_watermark
