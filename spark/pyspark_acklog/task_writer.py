"""What one task writes: its requests one after the other, but for those that an earlier attempt has stored."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from acklog import Client
from acklog.errors import AcklogError, IdempotencyKeyReused
from acklog.runtime import monotonic_ms
from pyspark_acklog import fetch, plan
from pyspark_acklog.connection import pause
from pyspark_acklog.failures import DataLossError, WriteError, of_server
from pyspark_acklog.ledger import Entry, Ledger
from pyspark_acklog.options import FetchOptions, WriteIdentity, WriteOptions
from pyspark_acklog.outgoing import OutgoingRows
from pyspark_acklog.ranges import OffsetRange
from pyspark_acklog.request_cutter import Layout, OutgoingRequest, RequestCutter
from pyspark_acklog.write_identity import HEADER, TaskIdentity

RETRY_PAUSE_S = 0.5


@dataclass(slots=True)
class Written(WriterCommitMessage):
    """What a task did: `repeated` of its requests had been stored by an earlier attempt."""

    messages: int = 0
    requests: int = 0
    repeated: int = 0


@dataclass(slots=True)
class _Target:
    """A topic that the task writes to, and which of its requests are there already."""

    layout: Layout
    stored: frozenset[int] = field(default_factory=frozenset)


class TaskWriter:
    """`since`: where in the ledger entries of this write may begin."""

    def __init__(self, options: WriteOptions, schema: StructType, identity: TaskIdentity, *, since: int) -> None:
        self._options = options
        self._identity = identity
        self._since = since
        self._rows = OutgoingRows(schema, options.topic)
        self._cutter = RequestCutter(
            task=identity.task, messages_max=options.batch_messages, bytes_max=options.batch_bytes
        )
        self._targets: dict[str, _Target] = {}
        self._written = Written()

    def write(self, batches: Iterable[pa.RecordBatch]) -> Written:
        """Raises SparkSourceError."""
        connection = self._options.connection
        try:
            with connection.client(timeout_s=connection.timeout_s) as client:
                for batch in batches:
                    for row in self._rows.messages(batch):
                        target = self._targets.get(row.topic) or self._begin(client, row.topic)
                        for request in self._cutter.add(row, target.layout):
                            self._send(client, request)
                for request in self._cutter.rest():
                    self._send(client, request)
        except AcklogError as error:
            raise of_server(error, connection.urls, f"writing as {self._identity}") from None
        return self._written

    def _begin(self, client: Client, topic: str) -> _Target:
        timeout_s = self._options.connection.timeout_s
        if self._options.identity is WriteIdentity.WINDOW:
            described = plan.described_topic(client, topic, deadline_s=timeout_s)
            target = _Target(Layout(topic, described.partitions, frozenset(described.decommissioned)))
        else:
            begun = Ledger(client, since=self._since, timeout_s=timeout_s).begin(self._identity, topic)
            entry = begun.entry
            layout = Layout(topic, entry.partitions, frozenset(entry.decommissioned))
            target = _Target(layout, self._stored(client, entry) if begun.is_retry else frozenset())
        self._targets[topic] = target
        return target

    def _stored(self, client: Client, entry: Entry) -> frozenset[int]:
        """Which requests of this task the topic holds, read from the positions that were noted before the first."""
        now = plan.described_topic(client, entry.topic, deadline_s=self._options.connection.timeout_s)
        if now.id != entry.topic_id:
            raise fetch.changed(entry.topic, entry.topic_id, now.id)
        options = FetchOptions(connection=self._options.connection)
        found: set[int] = set()
        for state in now.partition_states:
            start, end = entry.positions.get(str(state.partition)), state.high_watermark
            if start is None or end is None or start >= end:
                continue
            range_ = OffsetRange(entry.topic, entry.topic_id, state.partition, start, end)
            try:
                for page in fetch.pages(range_, options):
                    for batch in page.batches:
                        found.update(sequences_in(batch, self._identity))
            except DataLossError as error:
                raise WriteError(
                    f"whether an earlier try of {self._identity} was stored cannot be told any more ({error.line}); "
                    "writeIdentity=window writes without looking"
                ) from None
        return frozenset(found)

    def _send(self, client: Client, request: OutgoingRequest) -> None:
        self._written.requests += 1
        self._written.messages += len(request.messages)
        if request.sequence in self._targets[request.topic].stored:
            self._written.repeated += 1
            return
        name = self._identity.request(request.sequence)
        first = request.messages[0]
        request.messages[0] = msgspec.structs.replace(first, headers={**(first.headers or {}), HEADER: name})
        for message in request.messages:
            message.partition = request.partition
        until_ms = monotonic_ms() + self._options.connection.timeout_s * 1000
        while True:
            results = client.send_many(request.topic, request.messages, idempotency_key=name)
            errors = [result for result in results if isinstance(result, AcklogError)]
            if not errors:
                return
            self._raise_permanent(request, errors)
            if monotonic_ms() >= until_ms:
                raise errors[0]
            pause(RETRY_PAUSE_S)

    def _raise_permanent(self, request: OutgoingRequest, errors: list[AcklogError]) -> None:
        for error in errors:
            if isinstance(error, IdempotencyKeyReused):
                raise WriteError(
                    f"an earlier try of {self._identity} wrote other rows at this place of topic {request.topic!r}: "
                    "the query is not deterministic (random values, the time of day, an order that changes)"
                )
            if not error.retriable:
                raise error


def sequences_in(records: pa.RecordBatch, identity: TaskIdentity) -> set[int]:
    """The requests of the task whose first messages are among the records."""
    headers = records.column("headers")
    if headers.null_count == len(headers):
        return set()
    found = set()
    for pairs in headers.drop_null().to_pylist():
        for name, value in pairs:
            sequence = identity.sequence_of(value) if name == HEADER else None
            if sequence is not None:
                found.add(sequence)
    return found
