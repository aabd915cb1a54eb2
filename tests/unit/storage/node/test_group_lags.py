"""How much groups have left, where the offset store holds what this version does not understand."""

from typing import Any, cast

import msgspec
import pytest

from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.ports.coordination import Put
from cluster.stores.memory_store import MemoryStore
from cluster.stores.store_settings import StoreSettings
from storage.groups.assignors.task import Place
from storage.log.log_table import LogKind
from storage.node.group_lags import GroupLags
from storage.node.replicas.held_replicas import HeldReplicas
from storage.replication.messages import PartitionId
from tests.support.manual_clock import ManualClock


class Log:
    log_start = 0


class Host:
    """A replica whose log has a hundred messages."""

    def __init__(self) -> None:
        self.logs = {LogKind.MESSAGES: Log()}
        self.high_watermarks = {LogKind.MESSAGES: 100}


class Held:
    def __init__(self, *topic_ids: str) -> None:
        self.hosts: dict[PartitionId, Any] = {PartitionId(topic_id, 0): Host() for topic_id in topic_ids}


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b"\xff" * 40])
async def test_a_damaged_value_counts_as_nothing_done_and_the_others_as_they_are(damaged: bytes) -> None:
    clock = ManualClock()
    store = MemoryStore(clock, StoreSettings())
    whole = msgspec.json.encode(ProjectedOffsets({"0": ProjectedPartition(70, 5, 1, 1)}))
    await store.transact([], [Put("/acklog/offsets/group/a", damaged), Put("/acklog/offsets/group/b", whole)])
    lags = GroupLags(cast(HeldReplicas, Held("a", "b")), store, clock=clock, interval_ms=1_000)
    await lags.refresh("group")
    assert lags.of("group", [Place("a", 0), Place("b", 0)]) == {Place("a", 0): 100, Place("b", 0): 25}
