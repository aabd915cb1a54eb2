"""Judges what readers are told of a log's end by what the nodes themselves know, or have known, to be committed."""

from app.processes.cluster_node import ClusterNode
from storage.log.log_table import LogKind
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.inspector import replicas_of
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

    def look(self) -> None:
        """Remember what the nodes know now."""
        for node in self._nodes.values():
            self._look_at(node)
        for machine in self._hardware.nodes.values():
            node, process = machine.node, machine.process
            if node is not None and process is not None and process.name not in self._nodes:
                for ended in [name for name in self._nodes if name.startswith(f"{machine.name}.")]:
                    del self._nodes[ended]
                self._nodes[process.name] = node
                self._look_at(node)

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

    def _look_at(self, node: ClusterNode) -> None:
        for host in replicas_of(node):
            topic = host.topic
            if topic.name != self._queue:  # most are of other topics, and this is done at every turn
                continue
            place, known = (topic.id, host.number), host.high_watermark(LogKind.MESSAGES)
            if known > self._highest.get(place, 0):
                self._highest[place] = known
