"""What an earlier try of a request has stored, where the topic's keys were mapped to before its partitions changed."""

from acklog.wire.problems import ProblemCode
from app.calls.send import Checked, Outgoing
from app.calls.send_result import Run, SendResult
from app.gateway.dependencies import Gateway
from app.gateway.partition_choice import partition_of_key
from app.gateway.routing import PartitionLeaders
from app.services.fan_out import ask_each
from app.services.keyed_batch import (
    KeyedRun,
    StoredRuns,
    is_named_by_request,
    keys_of,
    named_by,
    runs_without,
    without_known,
)
from cluster.errors import ServerError
from cluster.model.topic_mapping import earlier_topics
from cluster.model.values import PartitionLife, Topic
from storage.rpc.messages import KeyedResult, KnownKeysRequest
from storage.rpc.node_api import NodeApi


class EarlierSends:
    """What is not found where an earlier mapping puts it is never stored there by that mapping later: the partition's
    leader takes no more keys by it once it was asked. So it may be stored where it belongs now (rule R28)."""

    def __init__(self, gateway: Gateway, leaders: PartitionLeaders) -> None:
        self._metadata = gateway.metadata
        self._clock = gateway.clock
        self._leaders = leaders

    def may_know(self, topic: Topic) -> bool:
        """Whether the topic's partitions have changed within its window."""
        return bool(earlier_topics(topic, self._clock.now_ms()))

    async def find(self, messages: list[Checked], result: SendResult) -> set[int]:
        """Note in `result` what of the messages with idempotency keys is stored already; the places of these messages.

        Raises ServerError: nothing is stored yet of what was not found. All has to be asked for first, or a further try
        would make other runs of what is left.
        """
        found: set[int] = set()
        if not any(isinstance(each, Outgoing) and each.dedup_key is not None for each in messages):
            return found
        for earlier in earlier_topics(result.topic, self._clock.now_ms()):
            stored = StoredRuns()
            runs = self._runs(messages, found, earlier, stored)
            await self._ask(runs, result, stored)
            result.faults.update(stored.faults)
            found.update(stored.faults, *(run.indexes for run in result.runs))
        return found

    def _runs(
        self, messages: list[Checked], found: set[int], earlier: Topic, stored: StoredRuns
    ) -> dict[int, list[KeyedRun]]:
        """By partition, what a request with these messages would have stored by the earlier mapping."""
        parts: dict[int, tuple[list[int], list[Outgoing]]] = {}
        for index, message in enumerate(messages):
            if not isinstance(message, Outgoing) or (index in found and is_named_by_request(message)):
                continue
            partition = self._partition_of(message, earlier)
            if partition is not None:
                indexes, part = parts.setdefault(partition, ([], []))
                indexes.append(index)
                part.append(named_by(message, earlier.mapping))
        return {
            partition: left
            for partition, (indexes, part) in parts.items()
            if (left := runs_without(found, indexes, part, stored))
        }

    def _partition_of(self, message: Outgoing, earlier: Topic) -> int | None:
        """None where the message has no name to be found by, or cannot have been stored in a partition that is left."""
        if message.dedup_key is None:
            return None
        if message.partition is not None:
            partition = message.partition
            if partition >= earlier.partitions or partition in earlier.decommissioned:
                return None
        else:
            key = message.record.key if message.record.key is not None else message.sticks_to
            assert key is not None, "an idempotency key decides where a message without a key goes"
            partition = partition_of_key(key, earlier)
        state = self._metadata.partition(earlier.id, partition)
        return None if state is not None and state.life is PartitionLife.GONE else partition

    async def _ask(self, runs: dict[int, list[KeyedRun]], result: SendResult, stored: StoredRuns) -> None:
        async def ask(partition: int) -> list[KeyedResult]:
            return await self._known(result.topic, partition, runs[partition], result.deadline_ms)

        failure: ServerError | None = None
        for partition, answer in zip(runs, await ask_each(list(runs), ask), strict=True):
            if isinstance(answer, ServerError):
                failure = answer
                continue
            placed = len(stored.placed)
            without_known(answer, runs[partition], stored)
            for indexes, place in stored.placed[placed:]:
                result.runs.append(Run(partition, place.epoch, place.offset, indexes))
        if failure is not None:
            raise failure

    async def _known(self, topic: Topic, partition: int, runs: list[KeyedRun], deadline_ms: int) -> list[KeyedResult]:
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
