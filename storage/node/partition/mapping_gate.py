"""By which of its topic's mappings a partition takes messages now (`cluster.model.mapping_starts`)."""

from collections.abc import Callable, Iterable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.mapping_starts import is_in_force, keeps_order
from cluster.model.values import PartitionState, Topic
from storage.produce.produce_check import mapping_is_over
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.rpc.messages import ANY_MAPPING


class MappingGate:
    """Of one partition, in its leader. `states` are those of its topic's partitions, as far as they are known here.

    `under_way` counts what was taken by a mapping and is neither committed nor given up.
    """

    def __init__(self, states: Callable[[], Iterable[PartitionState]]) -> None:
        self.under_way = 0
        self._states = states
        self._in_force = 0

    def takes(self, topic: Topic) -> bool:
        """Whether what the topic's present mapping puts here may be taken by now."""
        try:
            self.check(topic.mapping, topic)
        except ServerError:
            return False
        return True

    def takes_by_mapping(self, mapping: int, topic: Topic) -> bool:
        """Whether a mapping has put the batch here, which may be taken by it. Raises as `check`."""
        if mapping == ANY_MAPPING:
            return False
        self.check(mapping, topic)
        return True

    def check(self, mapping: int, topic: Topic) -> None:
        """Whether a batch may be taken that `mapping` put here. Raises ServerError: CONFLICT where that is over,
        UNAVAILABLE where it has not begun."""
        if mapping == topic.mapping == self._in_force or not keeps_order(topic):
            return
        if mapping < topic.mapping:
            raise mapping_is_over(topic)
        if mapping > topic.mapping or not is_in_force(mapping, self._states()):
            detail = f"The partitions of {topic.name} have just been changed, and some do not go by it yet."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        self._in_force = mapping
