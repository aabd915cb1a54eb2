"""All that the controller knows: a copy of the store, arranged for its decisions. Fed by events; knows no time."""

from collections.abc import Iterable

import msgspec

from cluster.controller.catalog_image import CatalogImage, Entry
from cluster.metadata.membership import Membership
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.steering import ClusterSteering
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Changed, Event, KeyValue, key_of

_IRRELEVANT = (keys.OFFSETS, keys.GROUPS, keys.NAMESPACES, keys.SQS_QUEUES, keys.DIRECTORIES)


class ClusterImage:
    """The cluster as of `revision`. `version` rises with every change that may call for a move of replicas.

    With a `sole` node, that node in its present life is the whole cluster, whatever is registered.
    """

    def __init__(
        self,
        items: Iterable[KeyValue] = (),
        *,
        revision: int = 0,
        version: int = 0,
        sole: NodeRegistration | None = None,
    ) -> None:
        self.revision = revision
        self.version = version + 1
        self.catalog = CatalogImage()
        self.membership = Membership(sole=sole)
        self.steering = ClusterSteering()
        self._undecodable: dict[str, str] = {}
        for item in items:
            self.apply(Changed(item))

    @classmethod
    def of(
        cls, entries: Iterable[Entry], *, membership: Membership, steering: ClusterSteering, revision: int
    ) -> "ClusterImage":
        """From what somebody else has read and decoded: to look at, not to decide and write by."""
        image = cls(revision=revision)
        image.membership, image.steering = membership, steering
        for entry in entries:
            image.catalog.put(entry)
        return image

    @property
    def undecodable(self) -> dict[str, str]:
        """What a newer version wrote: nothing is decided about what it concerns."""
        return self._undecodable | self.catalog.undecodable | self.membership.undecodable

    def apply(self, event: Event) -> None:
        key = key_of(event)
        if self.membership.apply(event):
            self.mark_all_changed()
            return
        if key == keys.STEERING_CLUSTER:
            self._set_steering(event)
        else:
            self.catalog.apply(event)
        if not key.startswith(_IRRELEVANT):
            self.version += 1

    def take_changed(self) -> list[Entry]:
        """The topics and ids that something may have to be decided about, each told once."""
        return self.catalog.take_changed()

    def mark_all_changed(self) -> None:
        """Something concerns everything, or what was decided could not be done."""
        self.catalog.mark_all_changed()
        self.version += 1

    def _set_steering(self, event: Event) -> None:
        self._undecodable.pop(keys.STEERING_CLUSTER, None)
        self.steering = ClusterSteering()
        if isinstance(event, Changed):
            try:
                self.steering = decode(ClusterSteering, event.item.value)
            except msgspec.DecodeError as error:
                self._undecodable[keys.STEERING_CLUSTER] = str(error)
                self.steering = ClusterSteering(automatic_moves=False)
