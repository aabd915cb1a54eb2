"""Which consumers receive for a group, as far as this node is asked: for who decides how many there should be.

Sans-IO. A consumer counts from its receive on for as long as what it gets is leased, a minute at least; it is told by
its name, and those without one count as one.
"""

from collections import OrderedDict

SEEN_MS_MIN = 60_000
SEEN_MS_MAX = 600_000
"""Who is gone with a lease of hours is not counted for hours."""
CONSUMERS_MAX = 10_000
"""Of all groups together; who was seen longest ago is forgotten first."""


class ConsumersSeen:
    def __init__(self) -> None:
        self._until_ms: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._groups: dict[str, dict[str, None]] = {}

    def saw(self, group_id: str, consumer: str, *, now_ms: int, wait_ms: int, visibility_ms: int) -> None:
        key = group_id, consumer
        self._until_ms[key] = now_ms + wait_ms + min(max(visibility_ms, SEEN_MS_MIN), SEEN_MS_MAX)
        self._until_ms.move_to_end(key)
        self._groups.setdefault(group_id, {})[consumer] = None
        if len(self._until_ms) > CONSUMERS_MAX:
            self._forget(*next(iter(self._until_ms)))

    def names(self, group_id: str, *, now_ms: int, limit: int) -> list[str]:
        """Up to `limit` of those who are there."""
        for consumer in list(self._groups.get(group_id, ())):
            if self._until_ms[group_id, consumer] < now_ms:
                self._forget(group_id, consumer)
        return sorted(self._groups.get(group_id, ()))[:limit]

    def _forget(self, group_id: str, consumer: str) -> None:
        del self._until_ms[group_id, consumer]
        consumers = self._groups[group_id]
        del consumers[consumer]
        if not consumers:
            del self._groups[group_id]
