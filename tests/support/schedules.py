"""Short ways to schedule messages on a node."""

from typing import Any

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.record import Record, Schedule
from cluster.model.values import Topic
from storage.log.keys import LogKey
from storage.rpc import messages
from storage.rpc.schedule_messages import ScheduledItem, ScheduledListRequest, ScheduledRequest
from storage.schedule.memory_index import MemoryScheduleIndexes
from storage.schedule.schedule_index import ScheduleIndex


class KeptIndexes(MemoryScheduleIndexes):
    """They outlive their process, as files do."""

    def __init__(self) -> None:
        self.kept: dict[LogKey, ScheduleIndex] = {}

    def open(self, key: LogKey) -> ScheduleIndex:
        return self.kept.setdefault(key, super().open(key))

    def remove(self, key: LogKey) -> None:
        self.kept.pop(key, None)


async def schedule(
    node: Any, topic: Topic, *bodies: bytes, at_ms: int = -1, delay_ms: int = -1, keys: list[str] | None = None
) -> messages.ProduceResponse:
    """In the topic's first partition."""
    when = Schedule(at_ms, delay_ms)
    dedup = [DedupKey(index, key, bodies[index][:8].ljust(8)) for index, key in enumerate(keys or [])]
    batch = encode_batch([Record(body, schedule=when) for body in bodies], keys=dedup)
    response = await node.schedule(messages.ProduceRequest(topic.id, 0, batch))
    assert isinstance(response, messages.ProduceResponse)
    return response


async def look(
    node: Any, topic: Topic, sent: messages.ProduceResponse, action: str = "look", **options: int
) -> ScheduledItem:
    request = ScheduledRequest(topic.id, 0, action, sent.base_offset, sent.leader_epoch, **options)
    item = (await node.scheduled(request)).item
    assert isinstance(item, ScheduledItem)
    return item


async def listed(node: Any, topic: Topic, *, limit: int = 100) -> list[ScheduledItem]:
    response = await node.scheduled_list(ScheduledListRequest(topic.id, 0, 0, -1, 1 << 60, limit))
    items = response.items
    assert isinstance(items, list)
    return items
