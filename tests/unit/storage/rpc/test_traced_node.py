"""A node whose calls are recorded: what is remembered has limits, and who knows nothing of traces is not disturbed."""

from typing import cast

import msgspec
import pytest

from acklog.wire.record import Record
from acklog.wire.tracing import TRACES_MAX
from cluster.metadata.metadata_view import MetadataView
from storage.rpc import messages
from storage.rpc.traced_node import TracedNode
from tests.support.fake_node import GROUP_ID, TOPIC_ID, FakeNode
from tests.support.memory_gateway import MemoryMetadata
from tests.support.recorded_spans import SAMPLED, UNSAMPLED, RecordedSpans, links_of, parent_of


def trace(number: int) -> str:
    return f"00-{number:032x}-b7ad6b7169203331-01"


class Rig:
    """A node that leases one message for each of `traces`."""

    def __init__(self, traces: list[str], *, leases_max: int = 1_000) -> None:
        self.spans = RecordedSpans()
        node = FakeNode()
        delivered = [
            messages.DeliveredMessage(
                TOPIC_ID, 0, offset, 1, 0, 1, "r", Record(b"1", headers={"traceparent": traceparent})
            )
            for offset, traceparent in enumerate(traces)
        ]
        node.behave("receive", lambda request: messages.ReceiveResponse(delivered))
        node.behave("settle", lambda request: messages.SettleResponse([""] * len(request.items)))
        metadata = cast(MetadataView, MemoryMetadata())
        self.node = TracedNode(node, self.spans.tracer, metadata, leases_max=leases_max)

    async def receive(self) -> None:
        await self.node.receive(messages.ReceiveRequest([TOPIC_ID], GROUP_ID, "", 1_000, 1_000_000))

    async def ack(self, *offsets: int, group_id: str = GROUP_ID) -> None:
        items = [messages.SettleItem(offset, 0, 1, 1) for offset in offsets]
        await self.node.settle(messages.SettleRequest(TOPIC_ID, 0, group_id, "ack", items))


async def test_a_span_is_linked_to_so_many_messages() -> None:
    rig = Rig([trace(number) for number in range(1, TRACES_MAX + 9)])
    await rig.receive()
    [span] = rig.spans.ended
    assert parent_of(span) == trace(1)
    assert links_of(span) == [trace(number) for number in range(2, TRACES_MAX + 1)]


async def test_the_last_leases_are_remembered() -> None:
    rig = Rig([trace(1), trace(2), trace(3)], leases_max=2)
    await rig.receive()
    rig.spans.forget()
    await rig.ack(0)
    assert rig.spans.ended == []
    await rig.ack(0, 1, 2)
    [span] = rig.spans.ended
    assert [parent_of(span), *links_of(span)] == [trace(2), trace(3)]


async def test_a_settlement_of_another_group_is_not_of_the_trace() -> None:
    rig = Rig([trace(1)])
    await rig.receive()
    rig.spans.forget()
    await rig.ack(0, group_id="another")
    assert rig.spans.ended == []


@pytest.mark.parametrize("traceparent", [UNSAMPLED, "", "nonsense"])
async def test_what_is_not_of_a_recorded_trace_is_passed_on(traceparent: str) -> None:
    rig = Rig([traceparent])
    await rig.receive()
    await rig.ack(0)
    assert rig.spans.ended == []


class _EarlierSettleRequest(msgspec.Struct, array_like=True):
    topic_id: str
    partition: int
    group_id: str
    action: str
    items: list[messages.SettleItem]


def test_an_earlier_node_passes_over_what_a_request_is_a_part_of() -> None:
    request = messages.SettleRequest(TOPIC_ID, 0, GROUP_ID, "ack", [], traces=[SAMPLED])
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=_EarlierSettleRequest)
    assert (read.topic_id, read.action) == (TOPIC_ID, "ack")
    said = msgspec.msgpack.encode(_EarlierSettleRequest(TOPIC_ID, 0, GROUP_ID, "ack", []))
    assert msgspec.msgpack.decode(said, type=messages.SettleRequest).traces == []
