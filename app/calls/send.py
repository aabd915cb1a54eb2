"""What a request to send asks for, whatever form it came in."""

import msgspec

from acklog.wire.record import PlainRecord, Record
from acklog.wire.tracing import TRACEPARENT, TRACESTATE
from cluster.errors import ServerError
from storage.rpc.messages import ACKS_ALL
from storage.rpc.producer_epoch import ProducerEpoch

TRACE_HEADERS = (TRACEPARENT, TRACESTATE)


Records = list[Record] | list[PlainRecord]
"""At least one: all of them plain, or none."""


class Outgoing(msgspec.Struct, gc=False):
    """A checked message that says more than a key and a JSON body. `partition` None: by its key. `is_at_once`: it says
    that it is to be seen now, whatever its topic says. `is_same_by_name`: another message of its dedupId is the same
    one, whatever its content, as in SQS."""

    record: Record
    partition: int | None = None
    dedup_id: str | None = None
    is_at_once: bool = False
    is_same_by_name: bool = False


Sendable = PlainRecord | Outgoing
"""A message that is right: nearly all are plain ones."""

Message = Sendable | ServerError
"""One of a request: what is to be stored, or why it cannot be."""


class Produce(msgspec.Struct):
    """`messages` are in the request's order. `keys` are those of the messages where all of them are plain, as soon as
    somebody has looked. `producer` has a name, and its own numbers are the idempotency key."""

    queue: str
    messages: list[Message]
    acks: int = ACKS_ALL
    is_batch: bool = False
    keys: list[str | None] | None = None
    idempotency_key: str | None = None
    producer: ProducerEpoch | None = None
    has_later: bool = False
    """Some message is to be seen later; as soon as somebody has looked."""
    has_ttl: bool = False
    """Some message lives for some time only; likewise."""
    has_choices: bool = False
    """Some message names its partition; likewise."""

    def plain_keys(self) -> list[str | None] | None:
        """None where some message is not plain."""
        if self.keys is None and set(map(type, self.messages)) == {tuple}:
            self.keys = [key for _, key in self.messages]  # type: ignore[misc]
        return self.keys

    def add_trace(self, headers: dict[str, str]) -> None:
        """Give each message the headers of the request's trace, unless it names one itself: a tracestate is that of
        its traceparent."""
        for place, message in enumerate(self.messages):
            if isinstance(message, tuple):
                self.messages[place] = Outgoing(Record(*message, headers))
            elif isinstance(message, Outgoing):
                own = message.record.headers
                if own is None:
                    message.record.headers = headers
                elif TRACEPARENT not in own:
                    message.record.headers = {**headers, **own}
        self.keys = None

    def clear(self) -> None:
        """Nobody needs the messages any more."""
        self.messages.clear()
        self.keys = None


def record_of(message: Sendable) -> Record:
    return message.record if isinstance(message, Outgoing) else Record(*message)


def dedup_id_of(message: Sendable) -> str | None:
    return message.dedup_id if isinstance(message, Outgoing) else None


def is_same_by_name(message: Sendable) -> bool:
    return isinstance(message, Outgoing) and message.is_same_by_name


def is_later(message: Message) -> bool:
    """Whether it is to be seen later."""
    return isinstance(message, Outgoing) and message.record.schedule is not None


def is_told_when(message: Message) -> bool:
    """Whether it says itself when it is to be seen; else its topic may."""
    return isinstance(message, Outgoing) and (message.is_at_once or message.record.schedule is not None)


def deciding_key(message: Sendable, idempotency_key: str | None) -> str | None:
    """What decides the partition of a message that names none: its key, else its dedupId or its request's idempotency
    key, so that a retry lands where the first try did."""
    if isinstance(message, Outgoing):
        if message.record.key is not None:
            return message.record.key
        return idempotency_key if message.dedup_id is None else message.dedup_id
    return idempotency_key if message[1] is None else message[1]
