"""Partitions whose leaders a test moves, and nodes whose answers it decides, on virtual time: what is around a
`PartitionLeaders`, without the rest of a gateway."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from acklog.wire.problems import ProblemCode
from app.configuration.server_settings import Settings
from app.gateway.dependencies import Gateway
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import PartitionState, Topic
from storage.rpc.node_api import NodeApi
from tests.sim.environment import MachineClock, SimClock, SimEntropy
from tests.sim.loop import SimLoop, simulate

_Result = TypeVar("_Result")
TOPIC_ID = "0123456789abc"


class LedMetadata:
    """One topic. A partition's leader is (node, epoch)."""

    def __init__(self, *, partitions: int = 1, replicas: int = 3) -> None:
        self.topics: dict[str, Topic] = {TOPIC_ID: Topic(TOPIC_ID, "orders", partitions, replicas, 0)}
        self.states: dict[tuple[str, int], PartitionState] = {}
        self.looks = 0
        self._replicas = tuple(range(1, replicas + 1))
        self._listeners: list[Callable[[], None]] = []
        for number in range(partitions):
            self.lead(number, 1, 1)

    def lead(self, partition: int, node_id: int, epoch: int) -> None:
        self.states[TOPIC_ID, partition] = PartitionState(
            TOPIC_ID, partition, self._replicas, self._replicas, node_id, 1, epoch
        )
        self.tell()

    def delete_topic(self) -> None:
        self.topics.clear()
        self.states.clear()
        self.tell()

    def tell(self) -> None:
        for listener in self._listeners:
            listener()

    def topic_by_id(self, topic_id: str) -> Topic | None:
        return self.topics.get(topic_id)

    def partition(self, topic_id: str, partition: int) -> PartitionState | None:
        self.looks += 1
        return self.states.get((topic_id, partition))

    def partitions(self, topic_id: str) -> list[PartitionState]:
        self.looks += 1
        return [state for (topic, _), state in sorted(self.states.items()) if topic == topic_id]

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


class LedCluster:
    """`nodes` by number; one that is not there cannot be reached."""

    def __init__(self, loop: SimLoop, *, partitions: int = 1, replicas: int = 3) -> None:
        self.loop = loop
        self.clock = SimClock(MachineClock(loop))
        self.metadata = LedMetadata(partitions=partitions, replicas=replicas)
        self.nodes: dict[int, Any] = {}
        nothing = cast(Any, None)
        self.gateway = Gateway(
            metadata=cast(MetadataView, self.metadata),
            topics=nothing,
            groups=nothing,
            producers=nothing,
            recurring=nothing,
            redrives=nothing,
            stored_tokens=nothing,
            namespaces=nothing,
            queues=nothing,
            steering=nothing,
            nodes=self,
            clock=self.clock,
            entropy=SimEntropy(1),
            settings=Settings(),
        )

    def client(self, node_id: int) -> NodeApi:
        if node_id not in self.nodes:
            raise ServerError(ProblemCode.UNAVAILABLE, f"node {node_id} is not registered")
        return cast(NodeApi, self.nodes[node_id])

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.loop.call_later(delay_ms / 1000, action)

    async def pass_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)


def with_led_cluster(
    main: Callable[[LedCluster], Coroutine[Any, Any, _Result]], *, partitions: int = 1, replicas: int = 3
) -> _Result:
    """Run `main(cluster)` on a simulated loop."""

    async def run(loop: SimLoop) -> _Result:
        return await main(LedCluster(loop, partitions=partitions, replicas=replicas))

    result, _ = simulate(1, run)
    return result
