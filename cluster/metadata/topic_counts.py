"""How much there is of each topic, without a look at what there is of others."""


class TopicCounts:
    """By the topics' ids."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, topic_id: str) -> int:
        """0 where there is nothing."""
        return self._counts.get(topic_id, 0)

    def add(self, topic_id: str) -> None:
        """One more."""
        self._counts[topic_id] = self.of(topic_id) + 1

    def remove(self, topic_id: str) -> None:
        """One less, of those that there are."""
        self._counts[topic_id] -= 1
        if not self._counts[topic_id]:
            del self._counts[topic_id]
