"""The topics beside the others that see to themselves: who sends there, receives there, and judges what came of it."""

from collections.abc import Coroutine
from typing import Any

from tests.sim.clients import Surroundings
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.committed_topics import CommittedTopics
from tests.sim.cluster.expiring_topic import ExpiringTopic
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.letter_topics import LetterTopics
from tests.sim.cluster.limited_topic import LimitedTopic
from tests.sim.cluster.machines import Surrounding
from tests.sim.cluster.moving_topic import MovingTopic
from tests.sim.cluster.named_topic import NamedTopic
from tests.sim.cluster.recurring_topic import RecurringTopic
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.cluster.trimmed_topic import TrimmedTopic
from tests.sim.cluster.view_topic import ViewTopic

_SideTopic = (
    LetterTopics
    | TrimmedTopic
    | RecurringTopic
    | ExpiringTopic
    | NamedTopic
    | MovingTopic
    | CommittedTopics
    | ViewTopic
    | LimitedTopic
)


class SideTopics:
    """Those that the options want."""

    def __init__(
        self,
        machines: Surrounding,
        clients: Surroundings,
        administrator: Administrator,
        hardware: Hardware,
        store: StoreObserver,
    ) -> None:
        options = machines.options
        self._topics: list[_SideTopic] = []
        if options.letters:
            self._topics.append(LetterTopics(machines, clients, administrator))
        if options.has_trims:
            self._topics.append(TrimmedTopic(machines, clients, administrator))
        if options.recurring:
            self._topics.append(RecurringTopic(machines, clients, administrator))
        if options.has_lifetimes:
            self._topics.append(ExpiringTopic(machines, clients, administrator, hardware, store))
        if options.name_takers:
            self._topics.append(NamedTopic(machines, clients, administrator))
        if options.moving:
            self._topics.append(MovingTopic(machines, clients, hardware, store))
        if options.committers:
            self._topics.append(CommittedTopics(machines, clients, administrator))
        if options.view_messages:
            self._topics.append(ViewTopic(machines, clients, administrator))
        if options.limited_per_second:
            self._topics.append(LimitedTopic(machines, clients, administrator, hardware, store))

    def runs(self) -> list[Coroutine[Any, Any, None]]:
        """Each ends some time after all is calm."""
        return [topic.run() for topic in self._topics]

    @property
    def violations(self) -> list[str]:
        """Complete once all have run."""
        return [violation for topic in self._topics for violation in topic.violations]
