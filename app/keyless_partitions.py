"""Where messages without a key go."""

from collections import OrderedDict
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from cluster.model import Topic


class KeylessPartitions:
    """Batch by batch to one partition, and over time the same number of bytes to each (KIP-794). Partitions without a
    leader are passed over while others have one; decommissioned ones get nothing."""

    def __init__(self, has_leader: Callable[[str, int], bool], *, topics_max: int) -> None:
        self._has_leader = has_leader
        self._topics_max = topics_max
        self._balances: OrderedDict[str, _Balance] = OrderedDict()

    def __len__(self) -> int:
        return len(self._balances)

    def choose(self, topic: Topic, size_bytes: int) -> int:
        """The partition of the next batch, which has `size_bytes`."""
        balance = self._balances.get(topic.id)
        if balance is None or balance.partitions != topic.partitions or balance.without != topic.decommissioned:
            balance = _Balance(topic.partitions, topic.decommissioned)
            self._balances[topic.id] = balance
            if len(self._balances) > self._topics_max:
                self._balances.popitem(last=False)
        return balance.take(size_bytes, lambda number: self._has_leader(topic.id, number))


class _Balance:
    """How many bytes each partition got, as a heap: the least loaded one is next."""

    def __init__(self, partitions: int, without: tuple[int, ...]) -> None:
        self.partitions = partitions
        self.without = without
        self._loads = [(0, number) for number in range(partitions) if number not in without]
        heapify(self._loads)

    def take(self, size_bytes: int, is_usable: Callable[[int], bool]) -> int:
        load, chosen = self._next(is_usable)
        heappush(self._loads, (load + size_bytes + 1, chosen))  # empty messages count, too
        return chosen

    def _next(self, is_usable: Callable[[int], bool]) -> tuple[int, int]:
        """The least loaded one that is usable, or of all if none is. What the others miss meanwhile they are not given
        later: a node that comes back would get everything at once."""
        passed_over: list[tuple[int, int]] = []
        while self._loads:
            load, number = heappop(self._loads)
            if is_usable(number):
                for _, other in passed_over:
                    heappush(self._loads, (load, other))
                return load, number
            passed_over.append((load, number))
        self._loads = passed_over[1:]  # in ascending order, so it is a heap
        return passed_over[0]
