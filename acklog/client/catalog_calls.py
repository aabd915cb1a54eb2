"""The calls that describe and change topics and groups, and those that ask how a server is."""

from collections.abc import Mapping, Sequence
from typing import Any

from acklog.catalog import (
    BlockedDecision,
    BlockedMessages,
    Group,
    GroupDemand,
    GroupOffsets,
    GroupPage,
    PartitionDescription,
    SeekResult,
    Topic,
    TopicDescription,
    TopicPage,
    camel_case,
)
from acklog.client.call import JSON, Call, Request, encode_document, read_as, read_nothing, segment, target
from acklog.deletions import DeletionResult
from acklog.errors import InvalidArgument
from acklog.positions import CommitResult, CopyResult, Position

PAGE_LENGTH = 1000
_read_topic = read_as(Topic)
_read_description = read_as(TopicDescription)
_read_partition = read_as(PartitionDescription)
_read_topics = read_as(TopicPage)
_read_group = read_as(Group)
_read_groups = read_as(GroupPage)
_read_offsets = read_as(GroupOffsets)
_read_demand = read_as(GroupDemand)
_read_blocked = read_as(BlockedMessages)
_read_decision = read_as(BlockedDecision)
_read_commit = read_as(CommitResult)
_read_copy = read_as(CopyResult)
_read_seek = read_as(SeekResult)
_read_deletion = read_as(DeletionResult)
_read_status = read_as(dict[str, str])


def list_topics(after: str | None, *, with_internal: bool) -> Call[TopicPage]:
    pairs = [("limit", PAGE_LENGTH), ("after", after), ("internal", "true" if with_internal else None)]
    return Call(Request("GET", target("/topics", pairs)), _read_topics)


def get_topic(name: str) -> Call[TopicDescription]:
    return Call(Request("GET", _topic(name)), _read_description)


def create_topic(
    name: str, *, partitions: int | None, replication_factor: int | None, config: Mapping[str, Any]
) -> Call[Topic]:
    body = _topic_document(partitions, replication_factor, config)
    return Call(Request("PUT", _topic(name), body, JSON), _read_topic)


def update_topic(
    name: str,
    *,
    partitions: int | None,
    replication_factor: int | None,
    config: Mapping[str, Any],
    allow_data_loss: bool,
) -> Call[Topic]:
    """Changes what is not None, or in `config`."""
    path = target(_topic(name), [("allowDataLoss", allow_data_loss or None)])
    body = _topic_document(partitions, replication_factor, config)
    return Call(Request("PATCH", path, body, JSON), _read_topic)


def get_partition(name: str, partition: int) -> Call[PartitionDescription]:
    return Call(Request("GET", f"{_topic(name)}/partitions/{segment(str(partition))}"), _read_partition)


def decommission(name: str, partitions: Sequence[int]) -> Call[Topic]:
    body = encode_document({"partitions": list(partitions)})
    return Call(Request("PUT", f"{_topic(name)}/decommissioned", body, JSON), _read_topic)


def delete_topic(name: str) -> Call[None]:
    return Call(Request("DELETE", _topic(name)), read_nothing, is_repeatable=False)


def purge(name: str, partitions: Sequence[int] | None, *, dry_run: bool) -> Call[DeletionResult]:
    """A second try would take what was sent since the first."""
    document = {**_given(partitions=None if partitions is None else list(partitions)), "dryRun": dry_run}
    request = Request("POST", f"{_topic(name)}/purge", encode_document(document), JSON)
    return Call(request, _read_deletion, is_repeatable=dry_run)


def delete_before(
    name: str, *, offsets: Mapping[int, int] | None, time_ms: int | None, dry_run: bool
) -> Call[DeletionResult]:
    """Raises InvalidArgument unless exactly one of the two is given."""
    if (offsets is None) == (time_ms is None):
        raise InvalidArgument("give offsets, or a time_ms", field="offsets")
    places = [{"partition": partition, "offset": offset} for partition, offset in (offsets or {}).items()]
    document = {**_given(offsets=None if offsets is None else places, time=time_ms), "dryRun": dry_run}
    return Call(Request("POST", f"{_topic(name)}/delete-before", encode_document(document), JSON), _read_deletion)


def list_groups(after: str | None) -> Call[GroupPage]:
    return Call(Request("GET", target("/groups", [("limit", PAGE_LENGTH), ("after", after)])), _read_groups)


def get_group(name: str) -> Call[Group]:
    return Call(Request("GET", _group(name)), _read_group)


def create_group(name: str, *, mode: str | None, settings: Mapping[str, Any]) -> Call[Group]:
    document = _given(mode=mode, settings=camel_case(settings) or None)
    return Call(Request("PUT", _group(name), encode_document(document), JSON), _read_group)


def update_group(name: str, *, settings: Mapping[str, Any]) -> Call[Group]:
    document = _given(settings=camel_case(settings) or None)
    return Call(Request("PATCH", _group(name), encode_document(document), JSON), _read_group)


def delete_group(name: str) -> Call[None]:
    return Call(Request("DELETE", _group(name)), read_nothing, is_repeatable=False)


def pause_group(name: str, topic: str | None, partitions: Sequence[int] | None) -> Call[Group]:
    return _change_pauses(name, "pause", topic, partitions)


def resume_group(name: str, topic: str | None, partitions: Sequence[int] | None) -> Call[Group]:
    return _change_pauses(name, "resume", topic, partitions)


def _change_pauses(name: str, change: str, topic: str | None, partitions: Sequence[int] | None) -> Call[Group]:
    document = _given(topic=topic, partitions=None if partitions is None else list(partitions))
    return Call(Request("POST", f"{_group(name)}/{change}", encode_document(document), JSON), _read_group)


def blocked_messages(name: str, topics: Sequence[str], limit: int | None) -> Call[BlockedMessages]:
    query = [*(("topic", each) for each in topics), ("limit", limit)]
    return Call(Request("GET", target(f"{_group(name)}/keys", query)), _read_blocked)


def decide_blocked(
    name: str,
    decision: str,
    *,
    topic: str | None,
    key: str | None,
    partition: int | None,
    offset: int | None,
    message_id: str | None,
) -> Call[BlockedDecision]:
    """A second try would not find it."""
    document = _given(topic=topic, key=key, partition=partition, offset=offset, messageId=message_id)
    body = encode_document(document)
    return Call(Request("POST", f"{_group(name)}/keys/{decision}", body, JSON), _read_decision, is_repeatable=False)


def group_offsets(name: str, topics: Sequence[str]) -> Call[GroupOffsets]:
    return Call(Request("GET", target(f"{_group(name)}/offsets", [("topic", each) for each in topics])), _read_offsets)


def group_demand(
    name: str, topics: Sequence[str], *, target_lag: int | None, target_seconds: float | None
) -> Call[GroupDemand]:
    seconds = None if target_seconds is None else f"{target_seconds:.6f}".rstrip("0").rstrip(".")
    query = [*(("topic", each) for each in topics), ("targetLag", target_lag), ("targetSeconds", seconds)]
    return Call(Request("GET", target(f"{_group(name)}/demand", query)), _read_demand)


def seek(
    name: str,
    topic: str,
    *,
    to_offset: int | None = None,
    to_time_ms: int | None = None,
    to_earliest: bool = False,
    to_latest: bool = False,
    to_relative: int | None = None,
    to_message_id: str | None = None,
    partition: int | None = None,
    dry_run: bool = False,
) -> Call[SeekResult]:
    """Raises InvalidArgument unless exactly one target is given."""
    targets: list[object] = []
    if to_offset is not None:
        targets.append({"offset": to_offset})
    if to_time_ms is not None:
        targets.append({"time": to_time_ms})
    if to_earliest:
        targets.append("earliest")
    if to_latest:
        targets.append("latest")
    if to_relative is not None:
        targets.append({"relative": to_relative})
    if to_message_id is not None:
        targets.append({"messageId": to_message_id})
    if len(targets) != 1:
        detail = "give one of to_offset, to_time_ms, to_earliest, to_latest, to_relative and to_message_id"
        raise InvalidArgument(detail, field="to")
    document = {**_given(topic=topic, to=targets[0], partition=partition), "dryRun": dry_run}
    return Call(Request("PUT", f"{_group(name)}/offsets", encode_document(document), JSON), _read_seek)


def copy_position(name: str, from_group: str, *, topics: Sequence[str] | None, dry_run: bool) -> Call[CopyResult]:
    document = {"from": from_group, **_given(topics=None if topics is None else list(topics)), "dryRun": dry_run}
    return Call(Request("POST", f"{_group(name)}/offsets/copy", encode_document(document), JSON), _read_copy)


def commit(
    name: str, positions: Sequence[Position], *, member: str | None, member_epoch: int | None
) -> Call[CommitResult]:
    """A commit that goes by what it expects says so itself where it comes twice."""
    document = _given(offsets=list(positions), member=member, memberEpoch=member_epoch)
    return Call(Request("PUT", f"{_group(name)}/offsets", encode_document(document), JSON), _read_commit)


def status(path: str) -> Call[dict[str, str]]:
    return Call(Request("GET", path), _read_status)


def _topic_document(partitions: int | None, replication_factor: int | None, config: Mapping[str, Any]) -> bytes:
    document = _given(partitions=partitions, replicationFactor=replication_factor, config=camel_case(config) or None)
    return encode_document(document)


def _topic(name: str) -> str:
    return f"/topics/{segment(name)}"


def _group(name: str) -> str:
    return f"/groups/{segment(name)}"


def _given(**fields: object | None) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}
