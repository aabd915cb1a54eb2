"""The keeper of data keys goes through all topics at its start, and then through those that have changed."""

import pytest

from cluster.metadata.metadata_view import MetadataView
from storage.node.encryption.data_key_keeper import DataKeyKeeper
from tests.support.encrypted_node import encrypted_topic, with_keys
from tests.support.simulated_node import SimulatedNode


def test_a_change_costs_a_look_at_what_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    heeded: list[str] = []
    of_one = DataKeyKeeper._heed
    topics = MetadataView.topics

    async def main(sim: SimulatedNode) -> None:
        for number in range(5):
            await sim.topic(f"clear-{number}")
        monkeypatch.setattr(
            DataKeyKeeper, "_heed", lambda self, topic: heeded.append(topic.name) or of_one(self, topic)
        )
        monkeypatch.setattr(MetadataView, "topics", lambda view: counted.append(1) or topics(view))
        counted: list[int] = []
        await sim.group()
        before = len(counted)
        sim.node._replicas.data_keys._heed_changes()
        assert len(counted) == before
        assert heeded == []
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"a body")
        assert set(heeded) == {"orders"}
        await sim.topics.delete("orders")
        await sim.clock.sleep(100)
        assert topic.id not in sim.node._replicas.data_keys._keys

    with_keys(main)
