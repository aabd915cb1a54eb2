"""The log as an Arrow stream: cut and joined to record batches of a bounded size, the same rows as the log's."""

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.wire.batch import encode_batch, stamp
from acklog.wire.record import Record
from app.calls.records import RecordsRead
from app.http.answers import records_arrow
from app.http.answers.records_arrow import arrow_stream
from cluster.model.values import TopicConfig
from storage.rpc.messages import RecordsResponse

TEXTS = st.none() | st.text(max_size=3)
RECORDS = st.builds(
    Record,
    st.binary(max_size=5),
    key=TEXTS,
    headers=st.none() | st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2),
    tags=st.none() | st.lists(st.text(max_size=2), max_size=2),
    timestamp_ms=st.none() | st.integers(0, 10**12),
    content_type=TEXTS,
    ttl_ms=st.none() | st.integers(1, 10**10),
)
TTLS_MS = st.none() | st.integers(1, 10**10)


def read_of(batches: list[list[Record]], *, offset: int = 0, ttl_ms: int | None = None) -> RecordsRead:
    stored = bytearray()
    base = 0
    for number, records in enumerate(batches):
        batch = encode_batch(records)
        stamp(batch, base_offset=base, leader_epoch=1, append_time_ms=1_000 + number)
        stored += batch
        base += len(records)
    topic: Any = SimpleNamespace(id="t", name="t", config=TopicConfig(ttl_ms=ttl_ms))
    return RecordsRead(topic, 3, RecordsResponse(bytes(stored), offset, base, 0, base))


def expiry_of(record: Record, appended: int, topic_ttl_ms: int | None) -> int | None:
    ttl_ms = topic_ttl_ms if record.ttl_ms is None else record.ttl_ms
    return None if ttl_ms is None else appended + ttl_ms


def expected_rows(batches: list[list[Record]], offset: int, ttl_ms: int | None) -> list[dict[str, object]]:
    flat = [(1_000 + number, record) for number, records in enumerate(batches) for record in records]
    return [
        {
            "partition": 3,
            "offset": at,
            "key": record.key,
            "value": record.body,
            "headers": None if record.headers is None else list(record.headers.items()),
            "tags": record.tags,
            "timestamp": appended if record.timestamp_ms is None else record.timestamp_ms,
            "appendTime": appended,
            "contentType": record.content_type,
            "expiresAt": expiry_of(record, appended, ttl_ms),
        }
        for at, (appended, record) in enumerate(flat)
        if at >= offset
    ]


def rows_of(stream: bytes) -> tuple[list[int], list[dict[str, object]]]:
    table = pa.ipc.open_stream(stream).read_all()
    sizes = [batch.num_rows for batch in table.to_batches()]
    times = {name: table.column(name).cast(pa.int64()) for name in ("timestamp", "appendTime", "expiresAt")}
    for name, column in times.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return sizes, table.to_pylist()


@settings(deadline=None)  # the first example imports pyarrow.compute
@given(st.lists(st.lists(RECORDS, min_size=1, max_size=7), max_size=5), TTLS_MS, st.data())
async def test_the_rows_are_those_of_the_log(
    batches: list[list[Record]], ttl_ms: int | None, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, sum(map(len, batches))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_arrow, "ROWS_MAX", 4)
        sizes, rows = rows_of(await arrow_stream(read_of(batches, offset=offset, ttl_ms=ttl_ms)))
    assert rows == expected_rows(batches, offset, ttl_ms)
    assert all(size == 4 for size in sizes[:-1])


async def test_many_small_batches_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_arrow, "ROWS_MAX", 100)
    sizes, _ = rows_of(await arrow_stream(read_of([[Record(b"1")] for _ in range(250)])))
    assert sizes == [100, 100, 50]


async def test_a_record_batch_has_about_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_arrow, "BYTES_MAX", 10_000)
    sizes, _ = rows_of(await arrow_stream(read_of([[Record(b"x" * 1_000) for _ in range(50)]])))
    assert sum(sizes) == 50
    assert all(8 <= size <= 11 for size in sizes[:-1])
