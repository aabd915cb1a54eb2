"""Topics that restores have begun and not finished: what a server says of them, which needs no backup."""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from acklog.backup.restore_plan import TopicPlan
from acklog.backup.server_catalog import ServerCatalog
from acklog.client import copy_calls
from acklog.errors import Forbidden, TopicNotFound

if TYPE_CHECKING:
    from acklog.client.copies import Copies


class BegunRestore(NamedTuple):
    """The topic that the restore of that id fills."""

    topic: str
    restore_id: str

    def is_of_run(self, run_id: str) -> bool:
        return self.restore_id.startswith(f"{run_id}-")

    def is_of(self, plan: TopicPlan) -> bool:
        """Whatever time it is to go up to: one that is given as `2h` is another time now."""
        return self.topic == plan.name and f"{self.restore_id}-".startswith(f"{plan.whole_id}-")


class BegunRestores:
    """Every call raises AcklogError."""

    def __init__(self, copies: "Copies") -> None:
        self._copies = copies

    def all(self) -> list[BegunRestore]:
        """Those that the token may manage."""
        found: list[BegunRestore] = []
        for each in ServerCatalog(self._copies).topics():
            if each.get("restoring"):
                with suppress(Forbidden):
                    found += self.of([each["name"]])
        return found

    def of(self, topics: Iterable[str]) -> list[BegunRestore]:
        """Those of these topics; others are whole, or not there."""
        found = []
        for topic in topics:
            with suppress(TopicNotFound):
                state = self._copies.perform(copy_calls.look_at_restore(topic))
                if state.restoring:
                    found.append(BegunRestore(topic, state.restore_id))
        return found

    def give_up(self, begun: BegunRestore) -> None:
        with suppress(TopicNotFound):  # an earlier try, whose answer was lost, has done it
            self._copies.perform(copy_calls.delete_topic(begun.topic))
