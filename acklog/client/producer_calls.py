"""The call of producers that have a name."""

from collections.abc import Sequence

import msgspec

from acklog.acklog_error import AcklogError
from acklog.client.call import JSON, Call, Request, encode_document, read_as, segment
from acklog.client.message_calls import read_stored
from acklog.client.wire_message import WireMessage, wire_message
from acklog.messages import OutgoingMessage, Sent


class OpenedProducer(msgspec.Struct, rename="camel"):
    """What the requests of a named producer carry: which it is, and which of those that had its name."""

    producer_id: str
    epoch: int


_read_opened = read_as(OpenedProducer)


def open_producer(topic: str, name: str, *, instance: str) -> Call[OpenedProducer]:
    """Take the name over. The same `instance` again, with nobody in between, gets the same epoch."""
    path = f"/topics/{segment(topic)}/producers/{segment(name)}"
    return Call(Request("PUT", path, encode_document({"instanceId": instance}), JSON), _read_opened)


class _NamedBatch(msgspec.Struct):
    queue: str
    messages: list[WireMessage]


def send_as(
    topic: str, messages: Sequence[OutgoingMessage], opened: OpenedProducer, sequence: int
) -> Call[list[Sent | AcklogError]]:
    """Send as a named producer; no other request of its epoch may have that `sequence`. A result for each message."""
    headers = {
        **JSON,
        "Producer-Id": opened.producer_id,
        "Producer-Epoch": str(opened.epoch),
        "Producer-Sequence": str(sequence),
    }
    document = _NamedBatch(topic, [wire_message(message) for message in messages])
    request = Request("POST", "/messages", encode_document(document), headers)
    return Call(request, lambda response: read_stored(response, len(messages)))
