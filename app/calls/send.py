"""What a request to send asks for, whatever form it came in."""

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from acklog.wire.record import Record
from cluster.errors import ServerError

TRACE_HEADERS = ("traceparent", "tracestate")


class Outgoing(msgspec.Struct, gc=False):
    """A checked message. `partition` None: by its key. `dedup_key` is what the dedup window remembers it by.

    `sticks_to` decides the partition of a message without a key: the idempotency key of its request, or its dedupId.
    """

    record: Record
    partition: int | None = None
    dedup_key: str | None = None
    sticks_to: str | None = None


Checked = Outgoing | ServerError


@dataclass(frozen=True, slots=True)
class SendCommand:
    """`messages` holds, in the request's order, what is to be stored or why it cannot be."""

    queue: str
    messages: list[Checked]
    acks: int
    is_batch: bool


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """A batch of which every message is right and has at most a key beside its JSON body."""

    queue: str
    bodies: list[bytes]
    keys: list[str | None]
    acks: int

    def records(self) -> list[Record]:
        return list(map(Record, self.bodies, self.keys))

    def clear(self) -> None:
        self.bodies.clear()
        self.keys.clear()

    def spelled_out(self) -> SendCommand:
        """The same batch, message by message, for whoever has to add to them."""
        return SendCommand(self.queue, [Outgoing(record) for record in self.records()], self.acks, True)


class SingleMessage(NamedTuple):
    """What a request asks that sends one message, `acks` all, without an idempotency key."""

    queue: str
    message: Outgoing
