"""The call of producers that have a name."""

import msgspec

from acklog.client.call import JSON, Call, Request, encode_document, read_as, segment


class OpenedProducer(msgspec.Struct, rename="camel"):
    """What the requests of a named producer carry: which it is, and which of those that had its name."""

    producer_id: str
    epoch: int


_read_opened = read_as(OpenedProducer)


def open_producer(topic: str, name: str, *, instance: str) -> Call[OpenedProducer]:
    """Take the name over. The same `instance` again, with nobody in between, gets the same epoch."""
    path = f"/topics/{segment(topic)}/producers/{segment(name)}"
    return Call(Request("PUT", path, encode_document({"instanceId": instance}), JSON), _read_opened)
