"""Messages of an export, sent again: with their keys, headers, tags and producer timestamps, each once.

Batches are cut the same way every time and carry a name of their own, which the server stores with them. A replay that
is begun again reads what the target has got since the replay's first start, and sends what is not there; what is on its
way at that moment is told by the same names within the topic's deduplication window.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa

from acklog import Client, OutgoingMessage
from acklog.catalog import TopicDescription
from acklog.errors import AcklogError
from pyspark_acklog.archive.replay_plan import (
    Batch,
    Lanes,
    Placing,
    ReplayPlan,
    Selection,
    TargetPartition,
    name_of,
    narrowed,
)
from pyspark_acklog.archive.table import newest_topic_id, rows_of, table_of
from pyspark_acklog.archive.target_log import TargetLog
from pyspark_acklog.connection import Connection
from pyspark_acklog.export.directory import HIDDEN
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.manifest import decode, encode
from pyspark_acklog.export.storage import Storage
from pyspark_acklog.export.table import Table
from pyspark_acklog.failures import SparkSourceError, of_server, one_line
from pyspark_acklog.plan import described_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME_PATTERN = r"[A-Za-z0-9._-]{1,48}"
_REPLAYS = f"{HIDDEN}/replays"
_COUNTS_DDL = "sent bigint, alreadyThere bigint"
_COUNTS = pa.schema([pa.field("sent", pa.int64()), pa.field("alreadyThere", pa.int64())])


class Replayed(NamedTuple):
    """`already_there` were sent by an earlier start of the same replay."""

    name: str
    target: str
    sent: int
    already_there: int
    is_resumed: bool


class Replay:
    """One replay out of one export."""

    def __init__(
        self, storage: Storage, connection: Connection, open_spark: "Callable[[], SparkSession]", *, now_ms: int
    ) -> None:
        self._storage = storage
        self._connection = connection
        self._open_spark = open_spark
        self._now_ms = now_ms

    def run(self, selection: Selection, target: str, *, name: str = "", placing: Placing | None = None) -> Replayed:
        """Send it, or what is left of it. Raises SparkSourceError."""
        table = table_of(self._storage, selection.topic)
        plan, is_resumed = self._begun(self._plan(table, selection, target, name, placing))
        done = self._storage.read(f"{_REPLAYS}/{plan.name}.done.json")
        if done is not None:
            raise ExportError(
                f"replay {plan.name!r} is complete: everything was sent to {plan.target}; to send it once more give"
                " another --name"
            )
        sent, already_there = self._send(table, plan, is_resumed=is_resumed)
        outcome = {"sent": sent, "alreadyThere": already_there}
        self._storage.put_if_absent(f"{_REPLAYS}/{plan.name}.done.json", msgspec.json.encode(outcome))
        return Replayed(plan.name, plan.target, sent, already_there, is_resumed)

    # --- the plan ----------------------------------------------------------------------------------------------------

    def _plan(self, table: Table, selection: Selection, target: str, name: str, placing: Placing | None) -> ReplayPlan:
        topic_id = selection.topic_id or newest_topic_id(table)
        positions = [span for span in table.positions.values() if span.topic_id == topic_id]
        spans = narrowed(positions, partitions=selection.partitions, start=selection.start, end=selection.end)
        if not spans:
            has = ", ".join(map(str, sorted(positions))) or f"nothing with the id {topic_id}"
            raise ExportError(f"nothing is selected: the export of {selection.topic} has {has}")
        found = self._described(target)
        targets = _taking(found)
        numbers = {each.partition for each in targets}
        can_keep = all(span.partition in numbers for span in spans)
        if placing == "keep" and not can_keep:
            missing = next(span.partition for span in spans if span.partition not in numbers)
            raise ExportError(f"{target} has no partition {missing} that takes messages: place them by key")
        return ReplayPlan(
            name=name or name_of(self._storage.root, selection, target),
            selection=selection,
            spans=spans,
            target=target,
            target_id=found.id,
            dedup_window_ms=found.config.dedup_window_ms,
            targets=targets,
            placing=placing or ("keep" if can_keep else "key"),
            begun_at_ms=self._now_ms,
        )

    def _described(self, target: str) -> TopicDescription:
        with self._connection.client() as client:
            try:
                return described_topic(client, target, deadline_s=self._connection.timeout_s)
            except AcklogError as error:
                raise of_server(error, self._connection.urls, f"planning the replay to {target}") from None

    def _begun(self, plan: ReplayPlan) -> tuple[ReplayPlan, bool]:
        """The plan as it was written down, and whether that was done before. Raises ExportError for a name that was
        used for something else."""
        path = f"{_REPLAYS}/{plan.name}.json"
        if self._storage.put_if_absent(path, encode(plan)):
            return plan, False
        content = self._storage.read(path)
        if content is None:
            raise ExportError(f"{path} is gone from {self._storage.root}")
        begun = decode(ReplayPlan, content, path=path)
        if not begun.is_of(plan):
            raise ExportError(
                f"replay {plan.name!r} was begun with another selection or another target topic: give another --name"
            )
        return begun, True

    # --- sending -----------------------------------------------------------------------------------------------------

    def _send(self, table: Table, plan: ReplayPlan, *, is_resumed: bool) -> tuple[int, int]:
        from pyspark.sql import functions as F  # noqa: N812

        spark = self._open_spark()
        try:
            rows = rows_of(spark, self._storage, table, plan.spans)
            if plan.selection.since_ms >= 0:
                rows = rows.where(F.unix_millis("appendTime") >= plan.selection.since_ms)
            if plan.selection.until_ms >= 0:
                rows = rows.where(F.unix_millis("appendTime") < plan.selection.until_ms)
            # A source partition is one task's, in order: what of a key came first is sent first.
            ordered = rows.repartition(len(plan.spans), "partition").sortWithinPartitions("partition", "offset")
            counts = ordered.mapInArrow(_sender(plan, self._connection, is_resumed=is_resumed), _COUNTS_DDL).collect()
        except SparkSourceError:
            raise
        except Exception as error:
            raise ExportError(one_line(error)) from error
        return sum(int(row.sent) for row in counts), sum(int(row.alreadyThere) for row in counts)


def _taking(target: TopicDescription) -> tuple[TargetPartition, ...]:
    """The partitions that take messages. Raises ExportError where there is none."""
    taking = tuple(
        TargetPartition(state.partition, state.high_watermark)
        for state in target.partition_states
        if state.high_watermark is not None and state.partition not in target.decommissioned
    )
    if not taking:
        raise ExportError(f"no partition of {target.name} takes messages")
    return taking


def _sender(
    plan: ReplayPlan, connection: Connection, *, is_resumed: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def send_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        task = TaskContext.get()
        is_first = not is_resumed and (task is None or task.attemptNumber() == 0)
        with connection.client(timeout_s=connection.timeout_s) as client, TargetLog(plan, connection) as log:
            sending = Sending(plan, client, None if is_first else log)
            for batch in batches:
                sending.take(batch)
            sending.end()
        yield pa.RecordBatch.from_pydict({"sent": [sending.sent], "alreadyThere": [sending.already_there]}, _COUNTS)

    return send_all


class Sending:
    """One task's: rows in order of partition and offset become requests. With a `log` it sends what is not in it."""

    def __init__(self, plan: ReplayPlan, client: Client, log: TargetLog | None) -> None:
        self._plan = plan
        self._client = client
        self._log = log
        self._source = -1
        self._lanes = Lanes(plan, -1)
        self._waiting: dict[int, OutgoingMessage] = {}
        self._number = 0
        self.sent = 0
        self.already_there = 0

    def take(self, rows: pa.RecordBatch) -> None:
        """Raises ExportError."""
        for row in rows.to_pylist():
            if row["partition"] != self._source:
                self.end()
                self._source = row["partition"]
                self._lanes = Lanes(self._plan, self._source)
            self._number += 1
            full = list(self._lanes.add(self._number, row["offset"], row["key"], len(row["value"])))
            self._waiting[self._number] = _message(row)
            for batch in full:
                self._send(batch)

    def end(self) -> None:
        """Send what is left. Raises ExportError."""
        for batch in self._lanes.rest():
            self._send(batch)

    def _send(self, batch: Batch) -> None:
        messages = [self._waiting.pop(number) for number in batch.rows]
        if self._log is not None and self._log.has(batch.key, batch.target):
            self.already_there += len(messages)
            return
        for message in messages:
            message.partition = batch.target
        try:
            results = self._client.send_many(self._plan.target, messages, idempotency_key=batch.key)
        except AcklogError as error:
            raise ExportError(f"sending to {self._plan.target}: {error}") from None
        for result in results:
            if isinstance(result, AcklogError):
                raise ExportError(f"sending to {self._plan.target}: {result}") from None
        self.sent += len(messages)


def _message(row: dict[str, Any]) -> OutgoingMessage:
    """As it was sent first. JSON goes as it stands, to the byte."""
    headers, tags = row["headers"], row["tags"]
    return OutgoingMessage(
        body=msgspec.Raw(row["value"]) if row["contentType"] is None else row["value"],
        key=row["key"],
        headers=None if headers is None else dict(headers),
        tags=None if tags is None else list(tags),
        timestamp_ms=int(row["timestamp"].timestamp() * 1000 + 0.5),
        content_type=row["contentType"],
    )
