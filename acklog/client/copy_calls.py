"""The calls of which backups and restores are made: settings as they are, so that what is new in them is kept, too."""

from typing import Any

import msgspec

from acklog.client.call import (
    JSON,
    Call,
    Request,
    Response,
    encode_document,
    raise_for_problem,
    read_as,
    read_nothing,
    segment,
    target,
)
from acklog.wire.log_page import MEDIA_TYPE

_OCTETS = {"Content-Type": "application/octet-stream"}
Document = dict[str, Any]
Fields = dict[str, msgspec.Raw]
"""What a document says, as the text that it is."""
read_document = read_as(Document)


class PartitionCut(msgspec.Struct, rename="camel"):
    """Where a partition is cut: all of one moment."""

    topic_id: str
    log_start: int
    high_watermark: int
    epoch: int
    groups: dict[str, str]
    state: bytes


class BatchPage(msgspec.Struct):
    """Batches as they are stored, back to back, from the topic of that id."""

    topic_id: str
    content: bytes
    next_offset: int


class DelayedMessage(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """A message that is to be seen later, as a server shows it: its body is the text that it was. `offset` is where it
    was delivered."""

    schedule_id: str
    partition: int
    state: str
    deliver_at: int = 0
    key: str | None = None
    body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    body_base64: str | None = None
    content_type: str | None = None
    headers: dict[str, str] | None = None
    tags: list[str] | None = None
    ttl_seconds: float | None = None
    offset: int = -1


class RestoredTo(msgspec.Struct, rename="camel"):
    """How far a partition is restored."""

    partition: int
    end: int
    scheduled_end: int


class RestoreState(msgspec.Struct, rename="camel"):
    """A topic that is being restored, or was."""

    topic: str
    topic_id: str
    restore_id: str
    restoring: bool
    partitions: list[RestoredTo]


_read_cut = read_as(PartitionCut)
_read_progress = read_as(RestoredTo)
_read_restore = read_as(RestoreState)
_read_fields = read_as(Fields)
_read_delayed = read_as(DelayedMessage)


def document_at(path: str, **query: object) -> Call[Document]:
    return Call(Request("GET", target(path, [(name, value) for name, value in query.items() if value])), read_document)


def fields_at(path: str) -> Call[Fields]:
    return Call(Request("GET", path), _read_fields)


def delayed_message(topic: str, schedule_id: str) -> Call[DelayedMessage]:
    path = f"/topics/{segment(topic)}/scheduled/{segment(schedule_id)}"
    return Call(Request("GET", path), _read_delayed)


def put_document(path: str, document: Document | Fields) -> Call[Document]:
    return Call(Request("PUT", path, encode_document(document), JSON), read_document)


def cut(topic: str, partition: int) -> Call[PartitionCut]:
    return Call(Request("GET", f"{_partition(topic, partition)}/state"), _read_cut)


def batches(topic: str, partition: int, offset: int, *, epoch: int | None, max_bytes: int) -> Call[BatchPage]:
    query = [("offset", offset), ("epoch", epoch), ("maxBytes", max_bytes)]
    path = target(f"{_partition(topic, partition)}/records", query)
    return Call(Request("GET", path, headers={"Accept": MEDIA_TYPE}), _read_page)


def begin_restore(topic: str, document: Document) -> Call[RestoreState]:
    return Call(Request("PUT", _restore(topic), encode_document(document), JSON), _read_restore)


def restore_batches(
    topic: str, partition: int, restore_id: str, content: bytes, *, log: str | None = None, fill_to: int | None = None
) -> Call[RestoredTo]:
    query = [("restoreId", restore_id), ("log", log), ("fillTo", fill_to)]
    path = target(f"{_restore(topic)}/partitions/{partition}/batches", query)
    return Call(Request("POST", path, content, _OCTETS), _read_progress)


def restore_groups(
    topic: str, partition: int, restore_id: str, groups: dict[str, str], state: bytes
) -> Call[RestoredTo]:
    document = {"restoreId": restore_id, "groups": groups, "state": state}
    path = f"{_restore(topic)}/partitions/{partition}/groups"
    return Call(Request("POST", path, encode_document(document), JSON), _read_progress)


def finish_restore(topic: str, document: Document) -> Call[Document]:
    return Call(Request("POST", f"{_restore(topic)}/finish", encode_document(document), JSON), read_document)


def delete_topic(topic: str) -> Call[None]:
    return Call(Request("DELETE", f"/topics/{segment(topic)}"), read_nothing)


def look_at_restore(topic: str) -> Call[RestoreState]:
    return Call(Request("GET", _restore(topic)), _read_restore)


def _read_page(response: Response) -> BatchPage:
    raise_for_problem(response)
    headers = response.headers
    return BatchPage(headers["x-acklog-topic-id"], response.body, int(headers["x-acklog-next-offset"]))


def _partition(topic: str, partition: int) -> str:
    return f"/topics/{segment(topic)}/partitions/{partition}"


def _restore(topic: str) -> str:
    return f"/topics/{segment(topic)}/restore"
