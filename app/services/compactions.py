"""Having a topic compacted soon, on every node that holds a part of it."""

import asyncio
from collections.abc import Iterable, Sequence

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.compactions import (
    IDLE,
    RUNNING,
    WAITING,
    CompactionView,
    PartitionCompactionItem,
    ReplicaCompactionItem,
)
from app.calls.problem_item import problem_item
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Topic
from storage.rpc.compaction_messages import CompactRequest, CompactResponse

ASK_TIMEOUT_MS = 2_000
"""How long a node may take to say how the compaction of one replica goes."""

UNHEARD_RETRY_MS = 500
"""When to ask again a node that has not heard yet of a partition just made: it hears of it by its watch."""


class CompactionService:
    """Needs the right to manage the topic, also to see how it goes: that names nodes."""

    def __init__(self, gateway: Gateway, catalog: Catalog) -> None:
        self._nodes = gateway.nodes
        self._metadata = gateway.metadata
        self._catalog = catalog

    async def ask(self, name: str, partitions: Sequence[int] | None, principal: Principal) -> CompactionView:
        """Returns at once; `state` tells how it goes. A node that starts anew meanwhile does not know of it. Raises
        ServerError TOPIC_NOT_FOUND, PARTITION_NOT_FOUND, TOPIC_NOT_COMPACTED; and when it failed everywhere and alike,
        UNAVAILABLE, UNSUPPORTED (nodes of an earlier version)."""
        topic = await self._catalog.compacted_topic(name, principal, Action.MANAGE)
        for number in partitions or ():
            topic = await self._catalog.grown(topic, number)
            self._catalog.check_partition(topic, number)
        return await self._view(topic, partitions or range(topic.partitions), is_asked=True)

    async def state(self, name: str, principal: Principal) -> CompactionView:
        """Raises ServerError as `ask`."""
        topic = await self._catalog.compacted_topic(name, principal, Action.MANAGE)
        return await self._view(topic, range(topic.partitions), is_asked=False)

    async def _view(self, topic: Topic, numbers: Iterable[int], *, is_asked: bool) -> CompactionView:
        states = [self._metadata.partition(topic.id, number) for number in sorted(set(numbers))]
        places = [(state.partition, node) for state in states if state is not None for node in state.replicas]

        async def ask_one(place: tuple[int, int]) -> CompactResponse:
            number, node = place
            try:
                async with asyncio.timeout(ASK_TIMEOUT_MS / 1000):
                    return await self._nodes.client(node).compact(CompactRequest(topic.id, number, is_asked))
            except TimeoutError as error:
                raise ServerError(ProblemCode.UNAVAILABLE, f"Node {node} does not answer.") from error
            except ServerError as error:
                raise _retriable(error) from error

        answers = await ask_each(places, ask_one)
        faults = [each for each in answers if isinstance(each, ServerError)]
        if faults and len(faults) == len(places) and len({fault.code for fault in faults}) == 1:
            raise faults[0]
        by_partition: dict[int, PartitionCompactionItem] = {}
        for (number, node), answer in zip(places, answers, strict=True):
            partition = by_partition.setdefault(number, PartitionCompactionItem(number, []))
            partition.replicas.append(_replica(node, answer))
        return CompactionView(topic.name, list(by_partition.values()), len(faults))


def _retriable(error: ServerError) -> ServerError:
    """The partition is there, or nobody would have asked this node: a node that knows nothing of it is late, and who
    compacts a topic just made is not told that there is none."""
    if error.code is not ProblemCode.PARTITION_NOT_FOUND:
        return error
    return ServerError(ProblemCode.UNAVAILABLE, error.detail, retry_after_ms=UNHEARD_RETRY_MS)


def _replica(node: int, answer: CompactResponse | ServerError) -> ReplicaCompactionItem:
    if isinstance(answer, ServerError):
        return ReplicaCompactionItem(node, problem=problem_item(answer))
    state = RUNNING if answer.is_under_way else WAITING if answer.is_wanted else IDLE
    return ReplicaCompactionItem(node, state, answer.clean_bytes, answer.dirty_bytes)
