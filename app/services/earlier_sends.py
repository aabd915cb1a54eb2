"""What an earlier try of a request has stored, where the topic's keys were mapped to before its partitions changed."""

from collections.abc import Set as AbstractSet

from acklog.wire.problems import ProblemCode
from app.calls.send import Message, Outgoing, Produce, Sendable, deciding_key, dedup_id_of
from app.calls.send_result import SendResult
from app.gateway.dependencies import Gateway
from app.gateway.partition_choice import partition_of_key
from app.gateway.routing import PartitionLeaders
from app.services.fan_out import ask_each
from app.services.keyed_batch import without_known
from app.services.keyed_runs import Run, by_time, keys_of, name_at, request_name, runs_of
from cluster.errors import ServerError
from cluster.model.topic_mapping import earlier_topics
from cluster.model.values import PartitionLife, Topic
from storage.rpc.messages import KeyedResult, KnownKeysRequest
from storage.rpc.node_api import NodeApi

NOTHING: AbstractSet[int] = frozenset()


class EarlierSends:
    """What is not found where an earlier mapping puts it is never stored there by that mapping later: the partition's
    leader takes no more keys by it once it was asked. So it may be stored where it belongs now (rule R28)."""

    def __init__(self, gateway: Gateway, leaders: PartitionLeaders) -> None:
        self._metadata = gateway.metadata
        self._clock = gateway.clock
        self._leaders = leaders

    async def find(self, produce: Produce, result: SendResult, known: AbstractSet[int] = NOTHING) -> AbstractSet[int]:
        """Note in `result` what of the messages with idempotency keys is stored already; the places of these messages,
        and of those that are `known` and not looked for.

        Raises ServerError: nothing is stored yet of what was not found. All has to be asked for first, or a further try
        would make other runs of what is left.
        """
        if produce.idempotency_key is None and not any(map(_has_dedup_id, produce.messages)):
            return known
        found = set(known)
        for earlier in earlier_topics(result.topic, self._clock.now_ms()):
            await self._ask(self._runs(produce, found, earlier, result), result)
            found.update(result.faults, *(each[0] for each in result.runs), *(each[0] for each in result.scheduled))
        return found

    def _runs(self, produce: Produce, found: set[int], earlier: Topic, result: SendResult) -> dict[int, list[Run]]:
        """By partition, what a request with these messages would have stored by the earlier mapping."""
        places: dict[int, list[int]] = {}
        for index, message in enumerate(produce.messages):
            if isinstance(message, ServerError) or (index in found and dedup_id_of(message) is None):
                continue
            partition = self._partition_of(message, produce.idempotency_key, earlier)
            if partition is not None:
                places.setdefault(partition, []).append(index)
        name = request_name(produce, earlier.mapping)
        runs = {}
        for partition, indexes in places.items():
            left: list[Run] = []
            for timing, some in by_time(produce, indexes, earlier):
                left += runs_of(produce, some, name_at(name, timing), result, found)
            if left:
                runs[partition] = left
        return runs

    def _partition_of(self, message: Sendable, idempotency_key: str | None, earlier: Topic) -> int | None:
        """None where the message has no name to be found by, or cannot have been stored in a partition that is left."""
        if idempotency_key is None and dedup_id_of(message) is None:
            return None
        if isinstance(message, Outgoing) and message.partition is not None:
            partition = message.partition
            if partition >= earlier.partitions or partition in earlier.decommissioned:
                return None
        else:
            key = deciding_key(message, idempotency_key)
            assert key is not None, "an idempotency key decides where a message without a key goes"
            partition = partition_of_key(key, earlier)
        state = self._metadata.partition(earlier.id, partition)
        return None if state is not None and state.life is PartitionLife.GONE else partition

    async def _ask(self, runs: dict[int, list[Run]], result: SendResult) -> None:
        async def ask(partition: int) -> list[KeyedResult]:
            return await self._known(result.topic, partition, runs[partition], result.deadline_ms)

        failure: ServerError | None = None
        for partition, answer in zip(runs, await ask_each(list(runs), ask), strict=True):
            if isinstance(answer, ServerError):
                failure = answer
            else:
                without_known(answer, partition, runs[partition], result)
        if failure is not None:
            raise failure

    async def _known(self, topic: Topic, partition: int, runs: list[Run], deadline_ms: int) -> list[KeyedResult]:
        count = sum(len(run.records) for run in runs)

        async def ask(node: NodeApi, remaining_ms: int) -> list[KeyedResult]:
            request = KnownKeysRequest(topic.id, partition, keys_of(runs), count, topic.mapping, remaining_ms)
            return (await node.known_keys(request)).known

        try:
            return await self._leaders.call(topic.id, partition, ask, deadline_ms=deadline_ms)
        except ServerError as error:
            if error.code is ProblemCode.UNSUPPORTED:
                return []  # a node of an earlier version: such a send was stored again there, too
            if error.code is ProblemCode.MESSAGE_EXPIRED:
                return []  # the partition is gone, since it was asked
            raise


def _has_dedup_id(message: Message) -> bool:
    return not isinstance(message, ServerError) and dedup_id_of(message) is not None
