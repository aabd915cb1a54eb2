"""The recurring schedules as of one revision. Fed by events."""

from collections.abc import Iterable

import msgspec

from cluster.metadata.topic_counts import TopicCounts
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.ports.coordination import Changed, Event, KeyValue, key_of

Home = tuple[str, int]
"""The id of a topic, and the number of a partition."""


class RecurringState:
    """`undecodable` has the keys whose values are not understood (a newer version's): these schedules are unknown."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.undecodable: dict[str, str] = {}
        self._by_key: dict[str, RecurringSchedule] = {}
        self._by_home: dict[Home, dict[str, RecurringSchedule]] = {}
        self._counts = TopicCounts()
        for item in items:
            self.apply(Changed(item))

    def find(self, topic_id: str, name: str) -> RecurringSchedule | None:
        return self._by_key.get(keys.recurring(topic_id, name))

    def of_topic(self, topic_id: str) -> list[RecurringSchedule]:
        """By name."""
        prefix = keys.recurring_of(topic_id)
        return [self._by_key[key] for key in sorted(self._by_key) if key.startswith(prefix)]

    def count_of_topic(self, topic_id: str) -> int:
        return self._counts.of(topic_id)

    def of_home(self, topic_id: str, partition: int) -> list[RecurringSchedule]:
        """Those that the partition's leader sends. In no order."""
        return list(self._by_home.get((topic_id, partition), {}).values())

    def homes(self) -> list[Home]:
        """All that send some, in no order."""
        return list(self._by_home)

    def all(self) -> list[RecurringSchedule]:
        """In no order."""
        return list(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def apply(self, event: Event) -> bool:
        """Whether the event concerned a recurring schedule."""
        key = key_of(event)
        if not key.startswith(keys.RECURRING):
            return False
        self.undecodable.pop(key, None)
        before = self._by_key.pop(key, None)
        if before is not None:
            self._counts.remove(before.topic_id)
            home = (before.topic_id, before.home)
            del self._by_home[home][key]
            if not self._by_home[home]:
                del self._by_home[home]
        if isinstance(event, Changed):
            try:
                schedule = decode(RecurringSchedule, event.item.value)
            except (msgspec.DecodeError, ValueError) as error:
                self.undecodable[key] = str(error)
                return True
            self._by_key[key] = schedule
            self._counts.add(schedule.topic_id)
            self._by_home.setdefault((schedule.topic_id, schedule.home), {})[key] = schedule
        return True
