"""Who belongs to the cluster, who controls it, and what its operators want, as of one revision. Fed by events."""

from collections.abc import Iterable

import msgspec

from cluster.metadata.membership import Membership
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.steering import ClusterSteering, PartitionOrder
from cluster.model.values import ControllerClaim
from cluster.ports.coordination import Changed, Event, KeyValue, key_of

_CONCERNED = (keys.NODES, keys.INCARNATIONS, keys.STEERING, keys.CONTROLLER)


class SteeringState:
    """What `cluster.metadata.metadata_state` leaves out. `undecodable` has the keys that a newer version wrote: a wish
    that is not understood counts as not made, and moves count as paused."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.membership = Membership()
        self.controller: ControllerClaim | None = None
        self.cluster = ClusterSteering()
        self._undecodable: dict[str, str] = {}
        self._orders: dict[str, dict[int, PartitionOrder]] = {}
        for item in items:
            self.apply(Changed(item))

    @property
    def undecodable(self) -> dict[str, str]:
        return self._undecodable | self.membership.undecodable

    def orders(self, topic_id: str) -> dict[int, PartitionOrder]:
        """What is ordered of the topic's partitions and not carried out yet, by number."""
        return dict(self._orders.get(topic_id, {}))

    def apply(self, event: Event) -> None:
        key = key_of(event)
        if not key.startswith(_CONCERNED) or self.membership.apply(event):
            return
        value = event.item.value if isinstance(event, Changed) else None
        self._undecodable.pop(key, None)
        try:
            self._set(key, value)
        except (msgspec.DecodeError, ValueError) as error:
            self._undecodable[key] = str(error)

    def _set(self, key: str, value: bytes | None) -> None:
        if key == keys.CONTROLLER:
            self.controller = None
            self.controller = None if value is None else decode(ControllerClaim, value)
        elif key == keys.STEERING_CLUSTER:
            self.cluster = ClusterSteering(automatic_moves=value is None)
            if value is not None:
                self.cluster = decode(ClusterSteering, value)
        elif key.startswith(keys.STEERING_PARTITIONS):
            topic_id, _, number = key.removeprefix(keys.STEERING_PARTITIONS).partition("/")
            self._set_order(topic_id, int(number), value)

    def _set_order(self, topic_id: str, number: int, value: bytes | None) -> None:
        orders = self._orders.setdefault(topic_id, {})
        orders.pop(number, None)
        try:
            if value is not None:
                orders[number] = decode(PartitionOrder, value)
        finally:
            if not orders:
                del self._orders[topic_id]
