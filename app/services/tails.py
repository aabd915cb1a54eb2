"""Tails of topics: messages as they come, to whoever listens; no group, no lease."""

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.records import FirstOffset, RecordsCommand
from app.calls.tail import TAIL_PARTITIONS_MAX, TailCommand
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.gateway.stream_figures import TAIL, StreamFigures
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from app.services.log_ends import LogEnds
from app.services.records import RecordsService
from app.services.stream_places import StreamPlaces
from app.services.tail_memory import TailMemory
from app.services.tail_position import TailPosition, begun
from app.services.tail_stream import NoHaste, TailStream
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Topic

TAIL_WAITS_MAX = 2_000_000
"""Reads of all tails that wait: each stream has a place, and a bounded number of them."""


class TailService:
    """`places` are those of tails. `records` has waits of its own: who tails takes no long poll's place."""

    def __init__(
        self,
        gateway: Gateway,
        catalog: Catalog,
        leaders: PartitionLeaders,
        ends: LogEnds,
        records: RecordsService,
        figures: StreamFigures,
    ) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._ends = ends
        self._records = records
        self._memory = TailMemory()
        self.places = StreamPlaces(
            lambda: gateway.settings.tails_max, setting="--tails-max", stream=TAIL, figures=figures
        )

    async def begin(self, command: TailCommand, principal: Principal) -> TailStream:
        """Find where it begins. Raises ServerError FORBIDDEN, TOPIC_NOT_FOUND, PARTITION_NOT_FOUND, INVALID_FIELD,
        TOO_MANY_WATCHERS, and why a leader cannot be asked."""
        topic = await self._catalog.topic(command.topic, principal, Action.RECEIVE, field="topic")
        for number in command.partitions:
            topic = await self._catalog.topic_with_partition(command.topic, number, principal, Action.RECEIVE)
        for number in command.offsets:
            topic = await self._catalog.topic_with_partition(command.topic, number, principal, Action.RECEIVE)
        self.places.check(principal)
        wanted = self._wanted(command, topic)
        cursor = command.cursor
        is_replaced = cursor is not None and cursor.topic_id != topic.id
        if cursor is not None and not is_replaced:
            known = {each.partition: each for each in cursor.places}
            position = TailPosition(topic.id, [known[number] for number in wanted if number in known])
            for number in wanted:
                if number not in known:
                    position.add(number)
        elif is_replaced:
            position = TailPosition(topic.id, begun(dict.fromkeys(wanted, 0)))
        else:
            position = TailPosition(topic.id, begun(await self._first_offsets(command, topic, wanted, principal)))
        return TailStream(
            command,
            topic,
            principal,
            position,
            gateway=self._gateway,
            records=self._records,
            memory=self._memory,
            is_replaced=is_replaced,
        )

    def _wanted(self, command: TailCommand, topic: Topic) -> list[int]:
        """Raises ServerError INVALID_FIELD."""
        numbers = command.partitions or [
            number for number in range(topic.partitions) if not self._leaders.is_gone(topic.id, number)
        ]
        if len(numbers) > TAIL_PARTITIONS_MAX:
            detail = f"the topic has {len(numbers)} partitions, a stream reads {TAIL_PARTITIONS_MAX}: name some"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partition")
        return list(numbers)

    async def _first_offsets(
        self, command: TailCommand, topic: Topic, wanted: list[int], principal: Principal
    ) -> dict[int, int]:
        """Raises ServerError."""
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def first(partition: int) -> int:
            if partition in command.offsets:
                return command.offsets[partition]
            if command.time_ms >= 0:
                return await self._offset_at(command, partition, principal)
            answer = await self._ends.positions(topic.id, partition, deadline_ms=deadline_ms)
            return answer.high_watermark if command.first is FirstOffset.LATEST else answer.log_start

        found: dict[int, int] = {}
        for partition, offset in zip(wanted, await ask_each(wanted, first), strict=True):
            if isinstance(offset, ServerError):
                raise offset
            found[partition] = offset
        return found

    async def _offset_at(self, command: TailCommand, partition: int, principal: Principal) -> int:
        asked = RecordsCommand(command.topic, partition, FirstOffset.GIVEN, 0, command.time_ms, max_bytes=1, wait_ms=0)
        return (await self._records.read(asked, principal, NoHaste())).response.offset
