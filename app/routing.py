"""Which partition a message goes to, and which node leads it."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from heapq import heapify, heappop, heappush
from typing import TypeVar

from acklog.wire.problems import ProblemCode
from app.dependencies import NodeDirectory
from cluster.clock import Clock
from cluster.entropy import Entropy
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import Topic
from storage.rpc.node_api import NodeApi

_Result = TypeVar("_Result")

RETRY_PAUSE_MIN_MS = 10
RETRY_PAUSE_MAX_MS = 250


class PartitionLeaders:
    """Calls to whoever leads a partition, also while that changes."""

    def __init__(self, metadata: MetadataView, nodes: NodeDirectory, clock: Clock, entropy: Entropy) -> None:
        self._metadata = metadata
        self._nodes = nodes
        self._clock = clock
        self._entropy = entropy

    def deadline_in(self, duration_ms: int) -> int:
        return self._clock.monotonic_ms() + duration_ms

    def has_leader(self, topic_id: str, partition: int) -> bool:
        state = self._metadata.partition(topic_id, partition)
        return state is not None and state.leader >= 0

    def leader(self, topic_id: str, partition: int) -> NodeApi:
        """Raises AcklogError UNAVAILABLE when nobody leads it now."""
        state = self._metadata.partition(topic_id, partition)
        if state is None or state.leader < 0:
            raise AcklogError(ProblemCode.UNAVAILABLE, f"partition {partition} has no leader now")
        return self._nodes.client(state.leader)

    def leaders(self, topic_ids: list[str]) -> list[int]:
        """The nodes that lead some partition of these topics, by number."""
        found = {
            state.leader for topic_id in topic_ids for state in self._metadata.partitions(topic_id) if state.leader >= 0
        }
        return sorted(found)

    async def wait_for_leaders(self, topic_ids: list[str], *, deadline_ms: int) -> list[int]:
        """As `leaders`, once there is one: a topic that was created just now has none for a moment.

        Raises AcklogError UNAVAILABLE.
        """
        while not (found := self.leaders(topic_ids)):
            if self._clock.monotonic_ms() + RETRY_PAUSE_MAX_MS >= deadline_ms:
                raise AcklogError(ProblemCode.UNAVAILABLE, "no partition of the topic has a leader now")
            await self._clock.sleep(RETRY_PAUSE_MIN_MS)
        return found

    async def call(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, int], Awaitable[_Result]],
        *,
        deadline_ms: int,
    ) -> _Result:
        """What `call(node, remaining_ms)` returns. UNAVAILABLE (nothing was done) is tried again until the deadline.

        Raises the last UNAVAILABLE when time is up between two tries, TIMED_OUT when it is up within one.
        """

        async def in_time(node: NodeApi, remaining_ms: int) -> _Result:
            try:
                async with asyncio.timeout(remaining_ms / 1000):
                    return await call(node, remaining_ms)
            except TimeoutError:
                detail = f"partition {partition} did not answer in time; what was asked may still happen"
                raise AcklogError(ProblemCode.TIMED_OUT, detail) from None

        return await self.call_in_time(topic_id, partition, in_time, deadline_ms=deadline_ms)

    async def call_in_time(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, int], Awaitable[_Result]],
        *,
        deadline_ms: int,
    ) -> _Result:
        """As `call`, for one that keeps to its `remaining_ms` by itself, as a produce does."""
        pause_ms = float(RETRY_PAUSE_MIN_MS)
        while True:
            try:
                return await self._call_once(topic_id, partition, call, deadline_ms)
            except AcklogError as error:
                if error.code is not ProblemCode.UNAVAILABLE:
                    raise
                wait_ms = pause_ms * (0.5 + self._entropy.fraction() / 2)
                if self._clock.monotonic_ms() + wait_ms >= deadline_ms:
                    raise
                await self._clock.sleep(wait_ms)
                pause_ms = min(pause_ms * 2, RETRY_PAUSE_MAX_MS)

    async def _call_once(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, int], Awaitable[_Result]],
        deadline_ms: int,
    ) -> _Result:
        node = self.leader(topic_id, partition)
        remaining_ms = deadline_ms - self._clock.monotonic_ms()
        if remaining_ms <= 0:
            raise AcklogError(ProblemCode.TIMED_OUT, "the request was not done within its deadline")
        return await call(node, remaining_ms)


class StickyPartitions:
    """Where messages without a key go: runs of them to one partition, so that batches are large, and over time the
    same number of bytes to each (KIP-794). Partitions without a leader are passed over while others have one."""

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
        if balance is None or balance.partitions != topic.partitions:
            balance = _Balance(topic.partitions)
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

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self._loads = [(0, number) for number in range(partitions)]
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
