"""Where messages without a key go."""

from collections import OrderedDict
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from cluster.model import Topic


class StickyPartitions:
    """Runs of messages to one partition, so that batches are large, and over time the same number of bytes to each
    (KIP-794). Partitions without a leader are passed over while others have one; decommissioned ones get nothing."""

    def __init__(self, has_leader: Callable[[str, int], bool], *, run_bytes: int, topics_max: int) -> None:
        self._has_leader = has_leader
        self._run_bytes = run_bytes
        self._topics_max = topics_max
        self._balances: OrderedDict[str, _Balance] = OrderedDict()

    def __len__(self) -> int:
        return len(self._balances)

    def choose(self, topic: Topic, size_bytes: int) -> int:
        """The partition of the next `size_bytes` without a key."""
        balance = self._balances.get(topic.id)
        if balance is None or balance.partitions != topic.partitions or balance.without != topic.decommissioned:
            balance = _Balance(topic.partitions, topic.decommissioned)
            self._balances[topic.id] = balance
            if len(self._balances) > self._topics_max:
                self._balances.popitem(last=False)
        return balance.take(size_bytes, self._run_bytes, lambda number: self._has_leader(topic.id, number))

    def end_run(self, topic_id: str) -> None:
        """A batch has gone out: the next message may go elsewhere."""
        balance = self._balances.get(topic_id)
        if balance is not None:
            balance.end_run()


class _Balance:
    """How many bytes each partition got, as a heap: the least loaded one is next."""

    def __init__(self, partitions: int, without: tuple[int, ...]) -> None:
        self.partitions = partitions
        self.without = without
        self._loads = [(0, number) for number in range(partitions) if number not in without]
        heapify(self._loads)
        self._current = -1
        self._current_load = 0
        self._run_bytes = 0

    def take(self, size_bytes: int, run_bytes_max: int, is_usable: Callable[[int], bool]) -> int:
        if self._current < 0 or not is_usable(self._current):
            self.end_run()
            self._begin_run(is_usable)
        chosen = self._current
        self._current_load += size_bytes + 1  # empty messages count, too
        self._run_bytes += size_bytes
        if self._run_bytes >= run_bytes_max:
            self.end_run()
        return chosen

    def end_run(self) -> None:
        if self._current >= 0:
            heappush(self._loads, (self._current_load, self._current))
            self._current = -1
            self._run_bytes = 0

    def _begin_run(self, is_usable: Callable[[int], bool]) -> None:
        passed_over = []
        while self._loads:
            entry = heappop(self._loads)
            if is_usable(entry[1]):
                break
            passed_over.append(entry)
        else:
            entry = passed_over.pop(0)
        for other in passed_over:
            heappush(self._loads, other)
        self._current_load, self._current = entry
