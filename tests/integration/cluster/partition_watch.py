"""Who leads what, as etcd says: for the tests' decisions, and as evidence for the checkers.

Asked again and again, past the proxies. An election that an answer shows took place after the question before it was
asked, so its interval is right however slow the machine is.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from cluster.etcd.etcd_store import EtcdStore
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import NodeRegistration, PartitionState, Topic
from cluster.ports.coordination import CoordinationError
from tests.sim.history import Elected, History
from tests.support.waiting import poll_until

INTERVAL_S = 0.1
PATIENCE_S = 90


class PartitionWatch:
    """Of one topic. Run `watch` as a task."""

    def __init__(self, store: EtcdStore, topic: str, history: History) -> None:
        self._store = store
        self._topic = topic
        self._history = history
        self._topic_id = ""
        self._epochs: dict[int, int] = {}
        self._asked_ms = 0.0
        self.elections = 0

    async def watch(self) -> None:
        while True:
            with contextlib.suppress(CoordinationError):  # etcd is away, so nobody is elected
                await self.look()
            await asyncio.sleep(INTERVAL_S)

    async def look(self) -> list[PartitionState]:
        """Raises CoordinationError."""
        asked_ms = time.monotonic() * 1000
        states = await self.states()
        for state in states:
            known = self._epochs.get(state.partition)
            if known is not None and state.leader_epoch > known:
                self.elections += 1
                self._history.add(
                    Elected(
                        began_ms=self._asked_ms,
                        ended_ms=time.monotonic() * 1000,
                        queue=self._topic,
                        partition=state.partition,
                        epoch=state.leader_epoch,
                        leader=state.leader,
                    )
                )
            self._epochs[state.partition] = max(known or 0, state.leader_epoch)
        self._asked_ms = asked_ms
        return states

    async def states(self) -> list[PartitionState]:
        """Raises CoordinationError."""
        if not self._topic_id:
            item = await self._store.get(keys.topic(self._topic))
            assert item is not None, f"there is no topic {self._topic}"
            self._topic_id = decode(Topic, item.value).id
        listing = await self._store.list(keys.partitions_of(self._topic_id))
        return [decode(PartitionState, item.value) for item in listing.items]

    async def registered(self, node: int) -> int | None:
        """The incarnation in which the node is registered."""
        item = await self._store.get(keys.node(node))
        return None if item is None else decode(NodeRegistration, item.value).incarnation

    # --- questions -----------------------------------------------------------------------------------------------

    async def busiest_leader(self) -> int:
        """The node that leads most of the topic, and at least something."""
        leaders = await self.leaders()
        return max(leaders, key=lambda node: (leaders[node], node))

    async def leaders(self) -> Counter[int]:
        """How many partitions each node leads, of those that lead any."""
        await self.until(lambda states: any(state.leader >= 0 for state in states), what="a leader")
        return Counter(state.leader for state in await self.states() if state.leader >= 0)

    async def until_in_sync(self, replicas: int) -> None:
        await self.until(
            lambda states: all(state.leader >= 0 and len(state.isr) == replicas for state in states),
            what=f"{replicas} replicas in sync everywhere",
        )

    async def until_moved_from(self, node: int) -> None:
        await self.until(
            lambda states: all(state.leader not in {node, -1} for state in states), what=f"node {node} leads nothing"
        )

    async def until_unregistered(self, node: int) -> None:
        async def is_gone() -> bool:
            return await self.registered(node) is None

        await self.until_true(is_gone, what=f"node {node} is registered no more")

    async def until(self, holds: Callable[[list[PartitionState]], bool], *, what: str) -> None:
        states: list[PartitionState] = []

        async def is_so() -> bool:
            nonlocal states
            try:
                states = await self.states()
            except CoordinationError:
                return False
            return bool(states) and holds(states)

        try:
            await poll_until(is_so, seconds=PATIENCE_S, what=what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the partitions: {states}") from None

    async def until_true(self, condition: Callable[[], Awaitable[bool]], *, what: str) -> None:
        await poll_until(condition, seconds=PATIENCE_S, what=what)
