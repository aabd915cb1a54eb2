"""The call that looks a key up: its latest value, in a topic that keeps the last message of each."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.mapping_starts import mapping_at, mappings_below
from cluster.ports.clock import Clock
from storage.log.keys import LogKey
from storage.node.replicas.led_partition import Partition
from storage.node.table.table_figures import TableFigures
from storage.node.table.table_keeper import TableKeeper
from storage.produce.produce_check import mapping_is_over
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, confirm
from storage.rpc.table_messages import LatestRequest, LatestResponse
from storage.table.table_index import NOWHERE, TableIndexes
from storage.table.table_settings import TableSettings

TRIES_MAX = 5
"""A message may be removed between being found and being read: then there is a later one."""


class TableViews:
    """Of one node: what its partitions' keys are, as far as somebody has asked."""

    def __init__(self, indexes: TableIndexes, metadata: MetadataView, clock: Clock, settings: TableSettings) -> None:
        self._indexes = indexes
        self._metadata = metadata
        self._clock = clock
        self._settings = settings
        self.figures = TableFigures()
        self._keepers: dict[LogKey, TableKeeper] = {}  # the one asked longest ago first

    def __len__(self) -> int:
        return len(self._keepers)

    async def latest(self, partition: Partition, request: LatestRequest) -> LatestResponse:
        """Raises ServerError TOPIC_NOT_COMPACTED, CONFLICT, UNAVAILABLE, OVERLOADED, RECORDS_CORRUPT."""
        try:
            answer = self._placed(await self._latest(partition, request), partition)
        except ServerError:
            self.figures.failed += 1
            raise
        if answer.record is None:
            self.figures.without_value += 1
        else:
            self.figures.found += 1
        return answer

    def _placed(self, answer: LatestResponse, partition: Partition) -> LatestResponse:
        """With what its place among the topic's mappings is. Who leads knows all starts of his partition that anything
        has come behind: it was written before, into the same state as his leadership."""
        state = self._metadata.partition(partition.topic_id, partition.number)
        if state is not None:
            answer.removed_of = mappings_below(state, partition.host.readable_start)
            if answer.offset != NOWHERE:
                answer.mapping = mapping_at(state, answer.offset)
        return answer

    async def _latest(self, partition: Partition, request: LatestRequest) -> LatestResponse:
        await confirm(partition.leadership)
        host = partition.host
        topic = host.topic
        if not topic.config.is_compacted:
            raise ServerError(ProblemCode.TOPIC_NOT_COMPACTED, f"{topic.name!r} keeps all messages of a key")
        if request.mapping < topic.mapping:
            raise mapping_is_over(topic)
        for _ in range(TRIES_MAX):
            topic, end = host.topic, host.readable_end  # what is below the end was sent by a mapping that is known here
            keeper = await self._keeper(partition)
            offset = await keeper.find(request.key, topic, until=end)
            if offset < host.readable_start:
                return LatestResponse(NOWHERE)
            batch, record = await partition.reader.record_at(offset, readable_end=host.readable_end)
            if record is None:
                if end < host.readable_end:
                    continue
                return LatestResponse(NOWHERE)  # a tombstone that has stayed for long enough
            if record.key != request.key:
                await keeper.make_anew(f"it says of a key that it is at {offset}, and there is another one")
                break
            header = batch.header
            found = LatestResponse(offset, header.leader_epoch, header.append_time_ms)
            ttl_ms = topic.config.ttl_ms if record.ttl_ms is None else record.ttl_ms
            is_over = ttl_ms is not None and self._clock.now_ms() >= header.append_time_ms + ttl_ms
            if not record.is_tombstone and not is_over:
                found.record = record
            return found
        detail = "The partition's messages are changing under the index of its keys."
        raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)

    async def _keeper(self, partition: Partition) -> TableKeeper:
        log = partition.host.log
        known = self._keepers.pop(log.key, None)
        if known is not None and known.log is log:
            self._keepers[log.key] = known
            return known
        if len(self._keepers) >= self._settings.open_max:
            await self._close_one()
        keeper = self._keepers.setdefault(
            log.key, TableKeeper(log, indexes=self._indexes, settings=self._settings, figures=self.figures)
        )
        if known is not None:
            await known.close()  # of an earlier life of the log
        return keeper

    async def _close_one(self) -> None:
        """Raises ServerError OVERLOADED."""
        key = next((key for key, keeper in self._keepers.items() if not keeper.is_busy), None)
        if key is None:
            detail = f"As many indexes of keys are being made as may be open: {len(self._keepers)}."
            raise ServerError(ProblemCode.OVERLOADED, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        await self._keepers.pop(key).close()

    async def forget(self, key: LogKey) -> None:
        """The node holds the partition no more; nothing of its index is left."""
        keeper = self._keepers.pop(key, None)
        if keeper is not None:
            await keeper.close()
        await self._indexes.run(lambda: self._indexes.remove(key))

    async def close(self) -> None:
        keepers = list(self._keepers.values())
        self._keepers.clear()
        for keeper in keepers:
            await keeper.close()
