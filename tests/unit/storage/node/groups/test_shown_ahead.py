"""What is shown of a partition's messages before a group wants it is bounded, in messages and in bytes."""

import dataclasses

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.record import Record
from cluster.model.values import GroupMode, GroupSettings
from storage.rpc import messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

BODY = b"x" * 1_000
BATCHES = 20


@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_so_many_bytes_are_decoded_ahead_and_not_one_batch_more(ahead: int) -> None:
    batch = encode_batch([Record(BODY, key="k")])

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.groups.create("workers", mode=GroupMode.KEY_ORDERED, settings=GroupSettings())
        for _ in range(BATCHES):
            await sim.node.produce(messages.ProduceRequest(topic.id, 0, bytearray(batch)))
        received = await sim.receive(topic, group, max_messages=BATCHES)
        assert len(received.messages) == 1 + ahead

    with_node(main, settings=dataclasses.replace(SMALL, shown_ahead_bytes_max=ahead * len(batch)))
