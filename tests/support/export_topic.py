"""Topics with every kind of message, and what an export of them must hold."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from acklog import Client, OutgoingMessage
from acklog.errors import AcklogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CARRIERS = ("AA", "B6", "UA")
FIRST_MS = 1_357_034_400_000

Place = tuple[int, int]
Rows = dict[Place, dict[str, Any]]


def messages(numbers: Iterable[int]) -> list[OutgoingMessage]:
    """Objects, strings and bytes, with and without keys, headers and tags."""
    return [_message(number) for number in numbers]


def _message(number: int) -> OutgoingMessage:
    timestamp_ms = FIRST_MS + number * 60_000
    if number % 50 == 7:
        return OutgoingMessage(bytes([255, 0, number % 256]), content_type="image/png", timestamp_ms=timestamp_ms)
    if number % 50 == 9:
        return OutgoingMessage(msgspec.Raw(b'"a \\"quoted\\" \\u00e9"'), key="text", headers={}, tags=[])
    carrier = CARRIERS[number % len(CARRIERS)]
    body = f'{{"carrier": "{carrier}",  "delay": {number % 60}, "number": {number}}}'.encode()
    headers = {"n": str(number)} if number % 2 else None
    return OutgoingMessage(
        msgspec.Raw(body), key=f"k{number % 17}", tags=[carrier], headers=headers, timestamp_ms=timestamp_ms
    )


def fill(client: Client, topic: str, numbers: range, *, batch: int = 500) -> None:
    """Raises the first failure of a message."""
    for start in range(numbers.start, numbers.stop, batch):
        for result in client.send_many(topic, messages(range(start, min(start + batch, numbers.stop)))):
            if isinstance(result, AcklogError):
                raise result


def stored(client: Client, topic: str) -> Rows:
    """What the server has, by (partition, offset)."""
    rows: Rows = {}
    for state in client.topics.get(topic).partition_states:
        offset, end = state.log_start or 0, state.high_watermark or 0
        while offset < end:
            page = client.records(topic, state.partition, offset=offset)
            for each in page.messages:
                rows[each.partition, each.offset] = {
                    "key": each.key,
                    "value": each.body_bytes,
                    "headers": each.headers or {},
                    "tags": each.tags,
                    "timestamp": each.timestamp_ms,
                    "contentType": each.content_type,
                }
            offset = page.next_offset
    return rows


def exported(table: "DataFrame") -> Rows:
    """What a table has; fails for a row that is there twice."""
    found: Rows = {}
    for row in table.toArrow().to_pylist():
        place = (row["partition"], row["offset"])
        assert place not in found, f"{place} is there twice"
        found[place] = {
            "key": row["key"],
            "value": row["value"],
            "headers": dict(row["headers"] or {}),
            "tags": list(row["tags"] or []),
            "timestamp": round(row["timestamp"].timestamp() * 1000),
            "contentType": row["contentType"],
        }
    return found


def contents(rows: Mapping[Place, Mapping[str, Any]]) -> list[str]:
    """The messages whatever their places are, in an order of their own."""
    return sorted(repr(sorted(row.items())) for row in rows.values())
