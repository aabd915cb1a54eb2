"""What a node takes while its disk has less free than it keeps in reserve."""

import dataclasses

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.internal_topics import AUDIT_TOPIC, audit_topic_config
from cluster.model.values import Encryption
from storage.log.log_settings import LogStoreSettings
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

RESERVE = 1 << 20
SETTINGS = dataclasses.replace(
    SMALL,
    log_store=LogStoreSettings(journal_file_bytes=256 * 1024, reserve_bytes=RESERVE, free_check_interval_ms=1_000),
)


def test_what_makes_room_can_be_recorded() -> None:
    """Where nothing may be done that is not recorded, nobody could delete a topic otherwise."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        config = audit_topic_config(
            min_insync_replicas=1, retention_ms=-1, retention_bytes=-1, encryption=Encryption.OFF
        )
        audit = await sim.topics.get_or_create(AUDIT_TOPIC, partitions=1, config=config, replication_factor=1)
        await sim.send(topic, b"1")
        sim.disk.capacity_bytes = sim.disk.used_bytes + RESERVE * 3 // 4
        await sim.clock.sleep(1_000)
        with pytest.raises(ServerError) as caught:
            await sim.send(topic, b"2")
        assert caught.value.code is ProblemCode.STORAGE_FULL
        assert (await sim.send(audit, b"intended")).base_offset == 0
        sim.disk.capacity_bytes = sim.disk.used_bytes + RESERVE // 4
        await sim.clock.sleep(1_000)
        with pytest.raises(ServerError) as caught:
            await sim.send(audit, b"the rest is for acknowledgements")
        assert caught.value.code is ProblemCode.STORAGE_FULL

    with_node(main, SETTINGS)
