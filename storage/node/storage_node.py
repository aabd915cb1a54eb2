"""A storage node: the partitions that it leads, and the calls that gateways make of it (`storage.rpc.node_api`).

It follows the metadata: a partition whose state names this node *and this incarnation* as leader is opened with the
epoch found there; one that names somebody else is closed. Data is removed only for a topic with a tombstone (R13).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import structlog

from acklog.wire.problems import ProblemCode
from cluster.clock import Clock
from cluster.coordination import CoordinationStore
from cluster.entropy import Entropy
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import Group, GroupMode, PartitionState, Topic
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.log.store import LogStore
from storage.node.batch_cache import BatchCache
from storage.node.dead_letter_sink import DeadLetterSink
from storage.node.housekeeping import Housekeeping
from storage.node.offset_projection import OffsetProjection
from storage.node.opening import PartitionOpener, remove_partition_data, report_orphans
from storage.node.partition import Partition
from storage.node.receiver import Receiver
from storage.node.settings import NodeSettings
from storage.rpc import messages

logger = structlog.get_logger(__name__)

UNAVAILABLE_RETRY_MS = 200
PartitionKey = tuple[str, int]


class StorageNode:
    """Create, `start`, use, `close`. Implements NodeApi."""

    def __init__(
        self,
        *,
        node_id: int,
        incarnation: int,
        store: CoordinationStore,
        metadata: MetadataView,
        dead_letters: DeadLetterSink,
        disk: Disk,
        io: IoExecutor,
        clock: Clock,
        entropy: Entropy,
        settings: NodeSettings,
    ) -> None:
        self.node_id = node_id
        self.incarnation = incarnation
        self._store = store
        self._metadata = metadata
        self._dead_letters = dead_letters
        self._disk = disk
        self._io = io
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._cache = BatchCache(bytes_max=settings.batch_cache_bytes_max)
        self._topics: dict[str, dict[int, Partition]] = {}
        self._receiver = Receiver(self._partitions_of, clock=clock, waiting_max=settings.waiting_receives_max)
        self._projection = OffsetProjection(store, clock=clock, interval_ms=settings.projection_interval_ms)
        self._started_groups: set[tuple[str, str]] = set()
        self._opened: dict[PartitionKey, asyncio.Future[None]] = {}
        self._failures: dict[PartitionKey, AcklogError] = {}
        self._metadata_changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._unsubscribe: Callable[[], None] | None = None
        self._is_closing = False
        self._waiting_records = 0

    # --- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Recover the logs, open what this node leads, then follow the metadata."""
        self.logs = await LogStore.open(
            disk=self._disk,
            io=self._io,
            clock=self._clock,
            entropy=self._entropy,
            settings=self._settings.log_store,
        )
        _log_recovery(self.logs)
        self._opener = PartitionOpener(
            self.logs,
            store=self._store,
            metadata=self._metadata,
            dead_letters=self._dead_letters,
            disk=self._disk,
            io=self._io,
            cache=self._cache,
            clock=self._clock,
            entropy=self._entropy,
            settings=self._settings,
            on_high_watermark=lambda topic_id, number: self._receiver.readers(topic_id).note_all(number),
            on_returned=lambda topic_id, group_id, number: self._receiver.readers(topic_id).note(group_id, number),
        )
        await self._reconcile()
        await report_orphans(self.logs, self._metadata, self._store)
        self._housekeeping = Housekeeping(
            self._all_partitions,
            store=self._store,
            metadata=self._metadata,
            clock=self._clock,
            projection=self._projection,
            settings=self._settings,
            on_group_removed=self._forget_group,
        )
        self._unsubscribe = self._metadata.subscribe(self._metadata_changed.set)
        create_task = asyncio.get_running_loop().create_task
        self._tasks = [create_task(self._follow_metadata()), create_task(self._housekeeping.run())]

    async def close(self) -> None:
        """Answer who waits, finish what was accepted, leave snapshots and checkpoints."""
        self.stop_waiting()
        if self._unsubscribe is not None:
            self._unsubscribe()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(partition.close() for partition in self._all_partitions()), return_exceptions=True)
        await self._projection.flush(self._all_partitions())
        await self.logs.close()

    def stop_waiting(self) -> None:
        """The first step of a graceful stop: long polls are answered at once, new work is refused."""
        self._is_closing = True
        self._receiver.stop()
        for partition in self._all_partitions():
            partition.host.stop_waiting()

    @property
    def failure(self) -> str | None:
        """Why the node stopped serving its data directory; None while all is well."""
        return self.logs.failure

    @property
    def waiting_receives(self) -> int:
        return self._receiver.waiting

    @property
    def cache_bytes(self) -> int:
        return self._cache.size_bytes

    @property
    def partitions_refused(self) -> int:
        """Partitions that the node should lead and cannot open."""
        return len(self._failures)

    def partitions_led(self) -> list[Partition]:
        return self._all_partitions()

    # --- following the metadata ----------------------------------------------------------------------------------

    async def _follow_metadata(self) -> None:
        while True:
            await self._metadata_changed.wait()
            self._metadata_changed.clear()
            try:
                await self._reconcile()
            except AcklogError as error:
                logger.error("partitions_not_reconciled", reason=str(error))

    async def _reconcile(self) -> None:
        """Open and close partitions until what runs here is what the metadata says."""
        wanted: dict[PartitionKey, tuple[Topic, PartitionState]] = {}
        for topic in self._metadata.topics():
            for state in self._metadata.partitions(topic.id):
                if state.leader == self.node_id and state.leader_incarnation == self.incarnation:
                    wanted[topic.id, state.partition] = (topic, state)
        gone = [
            partition for partition in self._all_partitions() if (partition.topic_id, partition.number) not in wanted
        ]
        for partition in gone:
            await self._close_partition(partition)
        permits = asyncio.Semaphore(self._settings.partitions_opened_at_once)
        missing = [key for key in wanted if key[1] not in self._topics.get(key[0], {})]
        await asyncio.gather(*(self._open_partition(*wanted[key], permits) for key in missing))
        for topic, state in wanted.values():
            held = self._topics.get(topic.id, {}).get(state.partition)
            if held is not None:
                held.host.topic = topic
        if missing or gone:
            self._started_groups.clear()
            self._receiver.wake_everybody()

    async def _open_partition(self, topic: Topic, state: PartitionState, permits: asyncio.Semaphore) -> None:
        key = (topic.id, state.partition)
        async with permits:
            try:
                partition = await self._opener.open(topic, state)
            except AcklogError as error:
                logger.error("partition_not_opened", topic=topic.name, partition=state.partition, reason=str(error))
                self._failures[key] = error
                return
            finally:
                self._announce(key)
        self._failures.pop(key, None)
        self._topics.setdefault(topic.id, {})[state.partition] = partition

    def _announce(self, key: PartitionKey) -> None:
        future = self._opened.pop(key, None)
        if future is not None and not future.done():
            future.set_result(None)

    async def _close_partition(self, partition: Partition) -> None:
        topic = partition.host.topic
        del self._topics[topic.id][partition.number]
        if not self._topics[topic.id]:
            del self._topics[topic.id]
        await partition.close()
        self._cache.drop(partition.host.log.key)
        if self._metadata.topic_by_id(topic.id) is None:
            self._receiver.forget_topic(topic.id)
            await remove_partition_data(self.logs, self._store, topic.id, partition.number)

    def _forget_group(self, group_id: str) -> None:
        self._receiver.forget_group(group_id)
        self._started_groups = {started for started in self._started_groups if started[0] != group_id}

    # --- finding partitions --------------------------------------------------------------------------------------

    def _partitions_of(self, topic_id: str) -> Mapping[int, Partition]:
        return self._topics.get(topic_id, {})

    def _all_partitions(self) -> list[Partition]:
        return [partition for partitions in self._topics.values() for partition in partitions.values()]

    async def _partition(self, topic_id: str, number: int) -> Partition:
        """The partition, waiting while it is being opened. Raises AcklogError: UNAVAILABLE, STORAGE_FAILED."""
        partition = self._topics.get(topic_id, {}).get(number)
        if partition is None:
            await self._wait_until_open(topic_id, number)
            partition = self._topics.get(topic_id, {}).get(number)
        if self._is_closing:
            raise AcklogError(
                ProblemCode.SHUTTING_DOWN, "The node is shutting down.", retry_after_ms=UNAVAILABLE_RETRY_MS
            )
        if partition is None:
            raise self._failures.get((topic_id, number)) or AcklogError(
                ProblemCode.UNAVAILABLE,
                f"Node {self.node_id} does not lead partition {number} of the topic {topic_id}.",
                retry_after_ms=UNAVAILABLE_RETRY_MS,
            )
        return partition

    async def _wait_until_open(self, topic_id: str, number: int) -> None:
        state = self._metadata.partition(topic_id, number)
        is_mine = state is not None and state.leader == self.node_id and state.leader_incarnation == self.incarnation
        if not is_mine or (topic_id, number) in self._failures:
            return
        future = self._opened.setdefault((topic_id, number), asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(self._settings.partition_open_timeout_ms / 1000):
                await asyncio.shield(future)
        except TimeoutError:
            return

    def _group(self, group_id: str) -> Group:
        group = self._metadata.group_by_id(group_id)
        if group is None:
            raise AcklogError(ProblemCode.GROUP_NOT_FOUND, "There is no group with this id.", field="group")
        if group.mode is not GroupMode.SHARED:
            raise AcklogError(
                ProblemCode.WRONG_GROUP_MODE, f"The group's mode is {group.mode.value}; only shared ones are served."
            )
        return group

    # --- NodeApi -------------------------------------------------------------------------------------------------

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        partition = await self._partition(request.topic_id, request.partition)
        return await self._within(request.timeout_ms, partition.host.produce(request))

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        group = self._group(request.group_id)
        self._check_health()
        for topic_id in request.topic_ids:
            if (group.id, topic_id) not in self._started_groups:
                await self._start_group(group, topic_id)
        return await self._receiver.receive(request, group)

    async def _start_group(self, group: Group, topic_id: str) -> None:
        """A group's first contact with the topic here: its start positions become durable, in one round."""
        topic = self._metadata.topic_by_id(topic_id)
        if topic is None:
            raise AcklogError(ProblemCode.TOPIC_NOT_FOUND, "There is no topic with this id.", field="queue")
        led = [
            state.partition
            for state in self._metadata.partitions(topic_id)
            if state.leader == self.node_id and (topic_id, state.partition) not in self._failures
        ]
        opened = [await self._partition(topic_id, number) for number in led]
        projected = await self._projection.read(group.id, topic_id) if opened else {}
        await asyncio.gather(*(partition.groups.start(group, projected.get(partition.number)) for partition in opened))
        self._started_groups.add((group.id, topic_id))

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        partition = await self._partition(request.topic_id, request.partition)
        group = self._group(request.group_id)
        return messages.SettleResponse(await partition.groups.settle(request, group))

    async def inspect(self, request: messages.InspectRequest) -> messages.InspectResponse:
        partition = await self._partition(request.topic_id, request.partition)
        host = partition.host
        if request.offset < host.log.log_start:
            raise AcklogError(ProblemCode.MESSAGE_EXPIRED, "Retention has removed the message.", field="messageId")
        not_found = AcklogError(ProblemCode.MESSAGE_NOT_FOUND, "There is no such message.", field="messageId")
        if request.offset >= host.high_watermark:
            raise not_found
        batch, record = await partition.reader.record_at(request.offset, high_watermark=host.high_watermark)
        if batch.header.leader_epoch != request.leader_epoch:
            raise not_found
        return messages.InspectResponse(
            record, batch.header.leader_epoch, batch.header.append_time_ms, partition.groups.views(request.offset)
        )

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse:
        partition = await self._partition(request.topic_id, request.partition)
        host = partition.host
        offset = request.offset
        if request.time_ms >= 0:
            offset = min(await host.log.offset_at_time(request.time_ms), host.high_watermark)
        if not host.log.log_start <= offset <= host.high_watermark:
            raise AcklogError(
                ProblemCode.OFFSET_OUT_OF_RANGE,
                f"The offset {offset} is outside the log, which goes from {host.log.log_start} "
                f"to {host.high_watermark}.",
                field="offset",
                extra={"logStart": host.log.log_start, "highWatermark": host.high_watermark},
            )
        if request.wait_ms and offset == host.high_watermark:
            await self._wait_for_records(partition, offset, request.wait_ms)
        found = []
        if offset < host.high_watermark:
            found = await host.log.read(offset, max_bytes=request.max_bytes, until=host.high_watermark)
        return messages.RecordsResponse(
            b"".join(stored.data for stored in found),
            offset,
            found[-1].header.next_offset if found else offset,
            host.log.log_start,
            host.high_watermark,
        )

    async def _wait_for_records(self, partition: Partition, offset: int, wait_ms: int) -> None:
        if self._waiting_records >= self._settings.waiting_records_max:
            raise AcklogError(
                ProblemCode.TOO_MANY_WAITING,
                f"{self._waiting_records} reads wait for records already, "
                f"the limit is {self._settings.waiting_records_max}.",
                retry_after_ms=1000,
            )
        self._waiting_records += 1
        try:
            await partition.host.wait_for_records(offset, wait_ms)
        finally:
            self._waiting_records -= 1

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse:
        partition = await self._partition(request.topic_id, request.partition)
        host = partition.host
        return messages.PositionsResponse(
            host.log.log_start,
            host.high_watermark,
            host.log.size_bytes,
            host.leader_epoch,
            partition.groups.positions(),
        )

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse:
        partition = await self._partition(request.topic_id, request.partition)
        group = self._group(request.group_id)
        offset = await self._seek_target(partition, request)
        projected = await self._projection.read(group.id, request.topic_id)
        await partition.groups.start(group, projected.get(partition.number))
        previous = await partition.groups.seek(group, offset, dry_run=request.dry_run)
        return messages.SeekResponse(offset, previous)

    async def _seek_target(self, partition: Partition, request: messages.SeekRequest) -> int:
        host = partition.host
        if request.to == "earliest":
            return host.log.log_start
        if request.to == "latest":
            return host.high_watermark
        if request.to == "time":
            return min(await host.log.offset_at_time(request.value), host.high_watermark)
        if request.to != "offset":
            raise AcklogError(ProblemCode.INVALID_FIELD, "to must be earliest, latest, offset or time.", field="to")
        if not host.log.log_start <= request.value <= host.high_watermark:
            raise AcklogError(
                ProblemCode.OFFSET_OUT_OF_RANGE,
                f"The offset {request.value} is outside the log, which goes from {host.log.log_start} "
                f"to {host.high_watermark}.",
                field="to",
                extra={"logStart": host.log.log_start, "highWatermark": host.high_watermark},
            )
        return request.value

    def _check_health(self) -> None:
        if self.failure is not None:
            raise AcklogError(ProblemCode.STORAGE_FAILED, self.failure)

    async def _within(self, timeout_ms: int, answer: Awaitable[messages.ProduceResponse]) -> messages.ProduceResponse:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await answer
        except TimeoutError as error:
            raise AcklogError(
                ProblemCode.OUTCOME_UNKNOWN,
                f"The append was not confirmed within {timeout_ms} ms; it may still be stored.",
                retry_after_ms=UNAVAILABLE_RETRY_MS,
            ) from error


def _log_recovery(logs: LogStore) -> None:
    """Say what recovery did. A cut tail held nothing acknowledged; a corrupt place did."""
    report = logs.report
    logger.info(
        "logs_recovered",
        was_clean=report.was_clean,
        logs=report.logs,
        batches_verified=report.batches_verified,
        batches_replayed=report.batches_replayed,
        cut_bytes=report.cut_bytes,
        duration_ms=report.duration_ms,
    )
    for tail in report.torn_tails:
        logger.warning(
            "torn_tail_cut", log=str(tail.key), offset=tail.offset, size_bytes=tail.size_bytes, reason=tail.reason
        )
    for place in report.corrupt_places:
        logger.error(
            "records_corrupt",
            log=str(place.key),
            offset=place.offset,
            next_offset=place.next_offset,
            reason=place.reason,
        )
    for key, reason in report.refused.items():
        logger.error("log_refused", log=str(key), reason=reason)
    if logs.failure is not None:
        logger.critical("storage_failed", reason=logs.failure)
