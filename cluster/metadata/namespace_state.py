"""The namespaces as of one revision. Fed by events."""

from collections.abc import Iterable

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.namespace import Namespace
from cluster.ports.coordination import Changed, Event, KeyValue, key_of


class NamespaceState:
    """`undecodable` has the keys whose values are not understood (a newer version's): these do not show."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.undecodable: dict[str, str] = {}
        self._by_name: dict[str, Namespace] = {}
        self._by_id: dict[str, Namespace] = {}
        for item in items:
            self.apply(Changed(item))

    def find(self, name: str) -> Namespace | None:
        return self._by_name.get(name)

    def by_id(self, namespace_id: str) -> Namespace | None:
        return self._by_id.get(namespace_id)

    def all(self) -> list[Namespace]:
        """By name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def __len__(self) -> int:
        return len(self._by_name)

    def apply(self, event: Event) -> bool:
        """Whether the event concerned a namespace."""
        key = key_of(event)
        if not key.startswith(keys.NAMESPACES):
            return False
        name = key.removeprefix(keys.NAMESPACES)
        self.undecodable.pop(key, None)
        before = self._by_name.pop(name, None)
        if before is not None:
            del self._by_id[before.id]
        if isinstance(event, Changed):
            try:
                namespace = decode(Namespace, event.item.value)
            except (msgspec.DecodeError, ValueError) as error:
                self.undecodable[key] = str(error)
                return True
            self._by_name[name] = self._by_id[namespace.id] = namespace
        return True
