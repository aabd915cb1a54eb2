"""What a request to send asks for, whatever form it came in."""

from dataclasses import dataclass

from acklog.wire.record import Record
from app.parsing.message import Outgoing
from cluster.errors import AcklogError

Checked = Outgoing | AcklogError


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
