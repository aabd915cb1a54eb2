"""A topic that is deleted while it is in use, and created again under its name, some times over."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from tests.sim.clients import Surroundings, outcome_of
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.machines import Surrounding
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.consumer import Consumer
from tests.sim.history import Outcome
from tests.sim.producer import Producer
from tests.sim.queue_label import PASSING, queue_label

GROUP = "passing-group"
MESSAGES_MAX = 150
NOT_THERE = frozenset({"TOPIC_NOT_FOUND", "PARTITION_NOT_FOUND"})
"""What clients may be told between two topics of the name."""


@dataclass(frozen=True, slots=True)
class Life:
    """One topic of the name. `deletion_ms` is when a deletion was asked for that may have been its end, None of one
    that is there."""

    label: str
    creation_ms: float
    deletion_ms: float | None


@dataclass(slots=True)
class _Deletion:
    """`ended_ms` None: no answer came that says so, and it may be done at any time."""

    began_ms: float
    ended_ms: float | None = None


class PassingTopic:
    """`around` is what its clients share, and nobody else does."""

    def __init__(
        self, machines: Surrounding, clients: Surroundings, store: StoreObserver, administrator: Administrator
    ) -> None:
        server = replace(clients.options, messages_max=MESSAGES_MAX, auto_ack_probability=0.0)
        also_expected = clients.also_expected | NOT_THERE
        self.around = replace(clients, options=server, also_expected=also_expected)
        self._options = machines.options
        self._coverage = machines.coverage
        self._store = store
        self._administrator = administrator
        self._random = random.Random(f"passing topic {machines.options.seed}")
        self._deletions: list[_Deletion] = []

    def clients(self, until: Callable[[], bool]) -> list[Coroutine[Any, Any, None]]:
        consumer = Consumer("passing-consumer", GROUP, PASSING, self.around)
        return [Producer("passing-producer", PASSING, self.around).run(), consumer.run(until)]

    async def run(self) -> None:
        """Returns when there is one that stays."""
        began_s, duration_s = self.around.now_ms() / 1000, self._options.duration_ms / 1000
        moments = sorted(self._random.uniform(0, duration_s) for _ in range(self._options.deletions))
        await self._create()
        for at_s in moments:
            await asyncio.sleep(max(0.0, began_s + at_s - self.around.now_ms() / 1000))
            await self._delete()
            await self._create()
        while not self.around.calm:
            await self._administrator.pause()
        await self._create()  # a deletion may have been on its way for a while

    async def _create(self) -> None:
        document = {
            "partitions": self._random.randint(1, 2),
            "replicationFactor": self._options.replication_factor,
            "config": {
                "dedupWindowMs": self._options.server.dedup_window_ms,
                "minInsyncReplicas": self._options.min_insync_replicas,
                "maxReplicaLagMs": self._options.max_replica_lag_ms,
            },
        }
        while True:
            answer = await self._administrator.ask("PUT", f"/topics/{PASSING}", document)
            if answer is not None and answer.status == 201:
                self._coverage["topics created again"] += bool(self._deletions)
            if answer is not None and answer.status in {200, 201}:
                return
            if answer is not None and answer.json["code"] == "TOPIC_EXISTS":
                if "replicationFactor" not in answer.json["differing"]:
                    return  # there is one already, with another number of partitions
                # A send was first, and made it for all nodes of the moment: some of these are to leave.
                await self._delete()
                continue
            await self._administrator.pause()

    async def _delete(self) -> None:
        while True:
            deletion = _Deletion(self.around.now_ms())
            self._deletions.append(deletion)
            answer = await self._administrator.ask("DELETE", f"/topics/{PASSING}")
            code = "OUTCOME_UNKNOWN" if answer is None else "" if answer.status == 204 else answer.json["code"]
            if outcome_of(code) is not Outcome.UNKNOWN:
                deletion.ended_ms = self.around.now_ms()
            if code in {"", "TOPIC_NOT_FOUND"}:
                self._coverage["topics deleted"] += 1
                return
            await self._administrator.pause()

    def lives(self) -> list[Life]:
        """All that there were, as the store saw them; the last one last."""
        found = []
        for topic, creation_ms in self._store.topics_ever:
            if topic.name == PASSING:
                asked = [each.began_ms for each in self._deletions if (each.ended_ms or creation_ms) >= creation_ms]
                is_gone = topic.id not in self._store.topics
                deletion_ms = min(asked, default=creation_ms) if is_gone else None
                found.append(Life(queue_label(PASSING, topic.id), creation_ms, deletion_ms))
        return found
