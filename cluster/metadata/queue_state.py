"""The queues of SQS as of one revision. Fed by events."""

from collections.abc import Iterable

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.sqs_queue import SqsQueue
from cluster.ports.coordination import Changed, Event, KeyValue, key_of


class QueueState:
    """Claims, and queues whose topics are gone, are among them. `undecodable` has the keys whose values are not
    understood (a newer version's): these do not show."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.undecodable: dict[str, str] = {}
        self._by_name: dict[str, SqsQueue] = {}
        for item in items:
            self.apply(Changed(item))

    def find(self, name: str) -> SqsQueue | None:
        return self._by_name.get(name)

    def all(self) -> list[SqsQueue]:
        """By name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    def __len__(self) -> int:
        return len(self._by_name)

    def apply(self, event: Event) -> bool:
        """Whether the event concerned a queue."""
        key = key_of(event)
        if not key.startswith(keys.SQS_QUEUES):
            return False
        name = key.removeprefix(keys.SQS_QUEUES)
        self.undecodable.pop(key, None)
        self._by_name.pop(name, None)
        if isinstance(event, Changed):
            try:
                self._by_name[name] = decode(SqsQueue, event.item.value)
            except (msgspec.DecodeError, ValueError) as error:
                self.undecodable[key] = str(error)
        return True
