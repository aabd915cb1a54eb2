"""Which topics have changed lately: for who keeps something about each and is told that something has changed."""

from collections import OrderedDict

KEPT_MAX = 1_000
"""Topics whose last change is remembered. Who has missed more looks at all of them."""


class ChangedTopics:
    """`number` counts the changes."""

    def __init__(self) -> None:
        self.number = 0
        self._complete_since = 0
        self._last: OrderedDict[str, int] = OrderedDict()

    def note(self, topic_id: str) -> None:
        """The topic has come, changed or gone."""
        self.number += 1
        self._last[topic_id] = self.number
        self._last.move_to_end(topic_id)
        if len(self._last) > KEPT_MAX:
            self._complete_since = self._last.popitem(last=False)[1]

    def lose_track(self) -> None:
        """Any of them may have changed."""
        self.number += 1
        self._complete_since = self.number
        self._last.clear()

    def since(self, number: int) -> list[str] | None:
        """Ids of topics with a change behind that one; None: any of them."""
        if number < self._complete_since:
            return None
        found = []
        for topic_id in reversed(self._last):
            if self._last[topic_id] <= number:
                break
            found.append(topic_id)
        return found
