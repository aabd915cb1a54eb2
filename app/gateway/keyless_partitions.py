"""Where messages without a key go."""

from collections import OrderedDict
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from cluster.model.values import Topic


def _never_busy(partition: int) -> bool:
    return False


class KeylessPartitions:
    """Batch by batch to one partition, and over time the same number of bytes to each (KIP-794). Partitions that are
    busy are passed over while others are not, and those without a leader while others have one; decommissioned ones get
    nothing."""

    def __init__(self, has_leader: Callable[[str, int], bool], *, topics_max: int) -> None:
        self._has_leader = has_leader
        self._topics_max = topics_max
        self._balances: OrderedDict[str, _Balance] = OrderedDict()

    def __len__(self) -> int:
        return len(self._balances)

    def choose(self, topic: Topic, size_bytes: int, is_busy: Callable[[int], bool] = _never_busy) -> int:
        """The partition of the next batch, which has `size_bytes`."""
        balance = self._balances.get(topic.id)
        if balance is None or balance.partitions != topic.partitions or balance.without != topic.decommissioned:
            balance = _Balance(topic.partitions, topic.decommissioned)
            self._balances[topic.id] = balance
            if len(self._balances) > self._topics_max:
                self._balances.popitem(last=False)
        self._balances.move_to_end(topic.id)

        def has_leader(number: int) -> bool:
            return self._has_leader(topic.id, number)

        return balance.take(size_bytes, lambda number: has_leader(number) and not is_busy(number), has_leader)


class _Balance:
    """How many bytes each partition got, as a heap: the least loaded one is next."""

    def __init__(self, partitions: int, without: tuple[int, ...]) -> None:
        self.partitions = partitions
        self.without = without
        self._loads = [(0, number) for number in range(partitions) if number not in without]
        heapify(self._loads)

    def take(self, size_bytes: int, *preferences: Callable[[int], bool]) -> int:
        """By the first of the preferences that some partition fulfils, or by none."""
        load, chosen = self._least(preferences)
        heappush(self._loads, (load + size_bytes + 1, chosen))  # empty messages count, too
        return chosen

    def _least(self, preferences: tuple[Callable[[int], bool], ...]) -> tuple[int, int]:
        for is_preferred in preferences:
            found = self._first(is_preferred)
            if found is not None:
                return found
        return heappop(self._loads)

    def _first(self, is_preferred: Callable[[int], bool]) -> tuple[int, int] | None:
        """Taken from the heap. What those passed over miss they are not given later: a partition that comes back would
        get everything at once."""
        passed_over: list[tuple[int, int]] = []
        while self._loads:
            load, number = heappop(self._loads)
            if is_preferred(number):
                for _, other in passed_over:
                    heappush(self._loads, (load, other))
                return load, number
            passed_over.append((load, number))
        self._loads = passed_over  # in ascending order, so it is a heap
        return None
