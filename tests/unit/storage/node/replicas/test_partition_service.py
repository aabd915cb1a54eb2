"""Opening and closing what a replica serves, with everything around it faked."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.partition.batch_cache import BatchCache
from storage.node.replicas.background_tasks import BackgroundTasks
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.partition_service import PartitionService, ServingReplica

KEY = LogKey("t", 0, LogKind.MESSAGES)


class FakePartition:
    """Settles when it is told to."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.may_settle = asyncio.Event()
        self.host = SimpleNamespace(stop_waiting=lambda: None, log=SimpleNamespace(key=KEY))
        self.schedule = SimpleNamespace(scheduled=self.host)

    async def follow_cut_log(self) -> None:
        return

    def topic_changed(self) -> None:
        return

    async def begin(self) -> None:
        self.done.append("begun")

    def end_leadership(self) -> None:
        self.done.append("ended")

    async def settle_down(self, timeout_ms: int) -> None:
        await self.may_settle.wait()

    async def close(self) -> None:
        self.done.append("closed")


class Scene:
    def __init__(self) -> None:
        self.is_serving = True
        self.leader_epoch = 1
        self.partitions: list[FakePartition] = []
        self.heard: list[str] = []
        replica = cast(ServingReplica, self)
        tasks, scene = BackgroundTasks(lambda error: None), cast(Any, self)
        self.service = PartitionService(replica, scene, BatchCache(bytes_max=1000), tasks, scene, scene)

    async def open(self, replica: ServingReplica) -> Partition:
        await asyncio.sleep(0)
        self.partitions.append(FakePartition())
        return cast(Partition, self.partitions[-1])

    def pass_on_high_watermarks(self) -> None:
        self.heard.append("high watermarks")

    topic = None

    def is_due(self, topic: object) -> bool:
        return False

    def opened(self, partition: Partition) -> None:
        self.heard.append("opened")

    def closed(self, partition: Partition) -> None:
        self.heard.append("closed")


async def opened() -> Scene:
    scene = Scene()
    scene.service.open()
    assert scene.service.opening is not None
    await scene.service.opening
    assert scene.heard == ["high watermarks", "opened"]
    return scene


async def test_what_ends_while_it_settles_is_closed() -> None:
    scene = await opened()
    [partition] = scene.partitions
    closing = asyncio.ensure_future(scene.service.close(1000))
    await asyncio.sleep(0)
    scene.service.end()
    partition.may_settle.set()
    await closing
    assert partition.done == ["begun", "ended", "closed"], "or its uncommitted batches would stay in memory"


async def test_a_leadership_that_ends_while_it_opens_opens_nothing() -> None:
    scene = Scene()
    scene.service.open()
    scene.leader_epoch = 2
    assert scene.service.opening is not None
    await scene.service.opening
    [partition] = scene.partitions
    assert scene.service.partition is None
    assert partition.done == ["ended", "closed"]
    assert scene.heard == []


async def test_nothing_is_opened_before_what_ended_is_at_rest() -> None:
    scene = await opened()
    scene.service.end()
    scene.service.open()
    assert scene.service.opening is None
    await scene.service.close_ended()
    scene.service.open()
    assert scene.service.opening is not None
    await scene.service.opening
    assert len(scene.partitions) == 2
