"""Which nodes are taken for dead before their leases end. Sans-IO.

A process that dies takes its connections with it, so a broken connection is a reason to look: the node is probed, and
if its machine says that nobody listens there any more, it is declared dead. Where nobody answers at all the process may
live behind links that break: it leads and hands out messages until it notices that it hears no follower, and only then
it is declared dead, or somebody else would have the same messages acknowledged meanwhile (rule R25).

Everything else is left to its lease: a node that was never reached from here, a machine that has gone silent while its
connections stay, and all of them when most of the others are gone at once, as then this node is more likely the one
that is cut off.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class SuspicionSettings:
    tries: int = 3
    """Probes in a row without an answer."""

    try_timeout_ms: int = 100
    """For one of them: dial, ask, hear."""

    try_pause_ms: int = 20

    silent_ms: int = 3_200
    """How long a node that nobody answers for is given, after its connection broke, to notice that it is cut off:
    longer than `ReplicationSettings.contact_ms`."""

    silent_pause_ms: int = 250
    """Between probes meanwhile."""

    declarations_max: int = 10
    """Nodes that are declared dead within `declarations_window_ms`; more than that is left to the leases."""

    declarations_window_ms: int = 60_000

    def __post_init__(self) -> None:
        if self.tries < 1 or self.try_timeout_ms < 1 or self.silent_pause_ms < 1:
            raise ValueError("tries, try_timeout_ms and silent_pause_ms must be positive")
        if self.try_pause_ms < 0 or self.silent_ms < 0:
            raise ValueError("try_pause_ms and silent_ms must not be negative")
        if self.declarations_max < 1 or self.declarations_window_ms < 1:
            raise ValueError("declarations_max and declarations_window_ms must be positive")


# --- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NodesRegistered:
    """The other nodes that are registered now, and their incarnations."""

    incarnations: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Reached:
    """The node answered on a connection that stays."""

    node_id: int
    incarnation: int


@dataclass(frozen=True, slots=True)
class Lost:
    """That connection broke."""

    node_id: int
    incarnation: int


class ProbeOutcome(Enum):
    """How a probe ended."""

    ANSWERED = "answered"
    """In whichever incarnation. One with another incarnation than the registered one is about to register."""

    REFUSED = "refused"
    """The machine is there, the process is not."""

    SILENT = "silent"
    """Nothing came, or the connection broke: the node, its machine, or what is between may be at fault."""


@dataclass(frozen=True, slots=True)
class Probed:
    probe: "Probe"
    finding: ProbeOutcome


SuspicionEvent = NodesRegistered | Reached | Lost | Probed

# --- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Probe:
    """Dial the node, and ask who it is, after `pause_ms`; answer with Probed."""

    node_id: int
    incarnation: int
    attempt: int
    pause_ms: int


@dataclass(frozen=True, slots=True)
class DeclareDead:
    """End the registration of this life of the node, if it is still there."""

    node_id: int
    incarnation: int


@dataclass(frozen=True, slots=True)
class LeaveToLease:
    """The node does not answer, and nothing is done about it."""

    node_id: int
    reason: str


SuspicionEffect = Probe | DeclareDead | LeaveToLease


class _State(Enum):
    UNKNOWN = "unknown"  # never reached, or looked after already: its lease decides
    REACHED = "reached"
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"


@dataclass(slots=True)
class _Node:
    incarnation: int
    state: _State = _State.UNKNOWN
    attempt: int = 0  # counts on, so that a late answer to an earlier probe is not taken for one to this
    tries_left: int = 0
    lost_ms: int = 0  # when its connection broke


class Suspicion:
    """Of one node about the others."""

    def __init__(self, settings: SuspicionSettings) -> None:
        self._settings = settings
        self._nodes: dict[int, _Node] = {}
        self._declared_at_ms: deque[int] = deque()

    def step(self, event: SuspicionEvent, now_ms: int) -> list[SuspicionEffect]:
        match event:
            case NodesRegistered():
                self._registered(event.incarnations)
            case Reached():
                node = self._node(event.node_id, event.incarnation)
                if node is not None:
                    node.state, node.tries_left = _State.REACHED, 0
            case Lost():
                node = self._node(event.node_id, event.incarnation)
                if node is not None and node.state is _State.REACHED:
                    node.state, node.tries_left, node.lost_ms = _State.SUSPECTED, self._settings.tries, now_ms
                    return [self._probe(event.node_id, node, pause_ms=0)]
            case Probed():
                node = self._node(event.probe.node_id, event.probe.incarnation)
                if node is not None and node.state is _State.SUSPECTED and node.attempt == event.probe.attempt:
                    return self._probed(event.probe.node_id, node, event.finding, now_ms)
        return self._decide(now_ms)

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        assert len(self._declared_at_ms) <= self._settings.declarations_max
        for node in self._nodes.values():
            assert (node.tries_left > 0) == (node.state is _State.SUSPECTED)

    def _node(self, node_id: int, incarnation: int) -> _Node | None:
        node = self._nodes.get(node_id)
        return node if node is not None and node.incarnation == incarnation else None

    def _registered(self, incarnations: Mapping[int, int]) -> None:
        self._nodes = {
            node_id: self._node(node_id, incarnation) or _Node(incarnation)
            for node_id, incarnation in incarnations.items()
        }

    def _probe(self, node_id: int, node: _Node, *, pause_ms: int) -> Probe:
        node.attempt += 1
        return Probe(node_id, node.incarnation, node.attempt, pause_ms)

    def _probed(self, node_id: int, node: _Node, finding: ProbeOutcome, now_ms: int) -> list[SuspicionEffect]:
        if finding is ProbeOutcome.ANSWERED:
            node.state, node.tries_left = _State.UNKNOWN, 0
            return self._decide(now_ms)
        left_ms = node.lost_ms + self._settings.silent_ms - now_ms
        if finding is ProbeOutcome.SILENT and left_ms > 0:
            node.tries_left = self._settings.tries
            return [self._probe(node_id, node, pause_ms=min(left_ms, self._settings.silent_pause_ms))]
        node.tries_left -= 1
        if node.tries_left:
            return [self._probe(node_id, node, pause_ms=self._settings.try_pause_ms)]
        node.state = _State.CONFIRMED
        return self._decide(now_ms)

    def _decide(self, now_ms: int) -> list[SuspicionEffect]:
        """About the nodes that did not answer; not before it is known of enough others whether they do."""
        confirmed = [node_id for node_id, node in self._nodes.items() if node.state is _State.CONFIRMED]
        suspected = sum(node.state is _State.SUSPECTED for node in self._nodes.values())
        if not confirmed or (suspected and self._is_most(len(confirmed) + suspected)):
            return []
        effects: list[SuspicionEffect] = []
        for node_id in confirmed:
            node = self._nodes[node_id]
            node.state = _State.UNKNOWN
            if self._is_most(len(confirmed)):
                effects.append(LeaveToLease(node_id, "most of the other nodes are gone: this one may be cut off"))
            elif not self._may_declare(now_ms):
                effects.append(LeaveToLease(node_id, "too many nodes were declared dead lately"))
            else:
                self._declared_at_ms.append(now_ms)
                effects.append(DeclareDead(node_id, node.incarnation))
        return effects

    def _is_most(self, count: int) -> bool:
        """With a single other node there is nothing to compare it with."""
        return len(self._nodes) > 1 and 2 * count > len(self._nodes)

    def _may_declare(self, now_ms: int) -> bool:
        while self._declared_at_ms and self._declared_at_ms[0] <= now_ms - self._settings.declarations_window_ms:
            self._declared_at_ms.popleft()
        return len(self._declared_at_ms) < self._settings.declarations_max
