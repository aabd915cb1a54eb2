"""Which nodes there are, which of them live, and what operators want of them. Fed by events; knows no time."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.steering import NodeSteering
from cluster.model.values import UNTOLD_PROTOCOL, NodeRegistration
from cluster.ports.coordination import Changed, Compare, Event, KeyValue, absent, key_of, unchanged


@dataclass(frozen=True, slots=True)
class Member:
    """A node that registered at some time, or of which operators want something."""

    node_id: int
    registration: NodeRegistration | None = None
    item: KeyValue | None = None
    is_draining: bool = False

    @property
    def is_live(self) -> bool:
        return self.registration is not None

    @property
    def is_leaving(self) -> bool:
        return self.registration is not None and self.registration.is_leaving

    @property
    def has_impaired_storage(self) -> bool:
        return self.registration is not None and self.registration.has_impaired_storage

    @property
    def newest_protocol(self) -> int:
        """UNTOLD_PROTOCOL also where it does not live: what it will be when it comes back, nobody knows."""
        return UNTOLD_PROTOCOL if self.registration is None else self.registration.newest_protocol

    @property
    def is_usable(self) -> bool:
        """May get replicas and leaderships."""
        return self.is_live and not self.is_draining and not self.is_leaving

    @property
    def rack(self) -> str:
        """What it fails together with; never equal for two nodes that name no rack."""
        named = "" if self.registration is None else self.registration.rack
        return named or f"node {self.node_id}"


class Membership:
    """With a `sole` node there is no other, and none is looked for in the store: the embedded server."""

    def __init__(self, *, sole: NodeRegistration | None = None) -> None:
        self.undecodable: dict[str, str] = {}
        self.drain_items: dict[int, KeyValue] = {}
        self._sole = sole
        self._registrations: dict[int, tuple[NodeRegistration, KeyValue]] = {}
        self._started: dict[int, None] = {}
        self._members: dict[int, Member] | None = None

    def copy(self) -> "Membership":
        """As it is now; later events do not show in it."""
        other = Membership(sole=self._sole)
        other.undecodable, other.drain_items = dict(self.undecodable), dict(self.drain_items)
        other._registrations, other._started = dict(self._registrations), dict(self._started)
        return other

    def apply(self, event: Event) -> bool:
        """Whether it concerned the membership."""
        key = key_of(event)
        if not key.startswith((keys.NODES, keys.INCARNATIONS, keys.STEERING_NODES)):
            return False
        if self._sole is not None:
            return False
        item = event.item if isinstance(event, Changed) else None
        self.undecodable.pop(key, None)
        try:
            self._set(key, item)
        except (msgspec.DecodeError, ValueError) as error:
            self.undecodable[key] = str(error)
        self._members = None
        return True

    def _set(self, key: str, item: KeyValue | None) -> None:
        node_id = int(key.rpartition("/")[2])
        if key.startswith(keys.INCARNATIONS):
            if item is None:
                self._started.pop(node_id, None)
            else:
                self._started[node_id] = None
        elif key.startswith(keys.STEERING_NODES):
            self.drain_items.pop(node_id, None)
            if item is not None:
                decode(NodeSteering, item.value)
                self.drain_items[node_id] = item
        else:
            self._registrations.pop(node_id, None)
            if item is not None:
                self._registrations[node_id] = (decode(NodeRegistration, item.value), item)

    # --- looking up ---

    def get(self, node_id: int) -> Member:
        """A node that nobody has heard of is one that does not live."""
        return self._all().get(node_id) or Member(node_id)

    def members(self) -> list[Member]:
        """Every node ever started, by node id."""
        return list(self._all().values())

    def live(self) -> list[Member]:
        return [member for member in self._all().values() if member.is_live]

    def usable(self) -> list[Member]:
        return [member for member in self._all().values() if member.is_usable]

    def earlier_than(self, protocol: int) -> list[Member]:
        """Registered nodes that do not know yet what this version of the protocol brought."""
        return [member for member in self.live() if member.newest_protocol < protocol]

    def guards(self, node_ids: Iterable[int]) -> tuple[Compare, ...]:
        """Hold as long as none of these nodes registers anew, and none of the registrations ends."""
        if self._sole is not None:
            return ()
        guards = []
        for node_id in node_ids:
            item = self.get(node_id).item
            guards.append(absent(keys.node(node_id)) if item is None else unchanged(item))
        return tuple(guards)

    def placement_guards(self, node_ids: Iterable[int]) -> tuple[Compare, ...]:
        """As `guards`, and hold as long as operators want of these nodes what they want now. Who places something on a
        node on old news must not do so once it shows as drained and empty: it may be stopped for good then."""
        nodes = tuple(node_ids)
        if self._sole is not None:
            return ()
        wishes = [(keys.node_steering(node_id), self.drain_items.get(node_id)) for node_id in nodes]
        return (
            *self.guards(nodes),
            *(absent(key) if item is None else unchanged(item) for key, item in wishes),
        )

    def _all(self) -> dict[int, Member]:
        if self._members is None:
            self._members = self._assembled()
        return self._members

    def _assembled(self) -> dict[int, Member]:
        if self._sole is not None:
            return {self._sole.node_id: Member(self._sole.node_id, self._sole)}
        members = {}
        for node_id in sorted({*self._started, *self._registrations, *self.drain_items}):
            registration, item = self._registrations.get(node_id, (None, None))
            members[node_id] = Member(node_id, registration, item, is_draining=node_id in self.drain_items)
        return members
