"""What clients did and were told, and what must hold of it whatever happened to the server. Pure.

A history is made of sends, deliveries and acks with their outcomes: `ok` (the server said so), or `unknown` (no answer,
or one that does not tell). `clock` values are of one steady clock: "after" compares them.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(slots=True)
class Send:
    """`body` is the message's JSON text, unlike any other's. `is_keyed`: sent with an idempotency key, so that it may
    be in the log once at most, however often it was tried. `place` is (partition, offset), None while unknown."""

    body: bytes
    is_keyed: bool
    place: tuple[int, int] | None = None


class Delivery(NamedTuple):
    """One message in the answer to a receive that began at `asked_at`."""

    place: tuple[int, int]
    body: bytes
    attempt: int
    asked_at: float


class LoggedMessage(NamedTuple):
    place: tuple[int, int]
    body: bytes


@dataclass(slots=True)
class History:
    """`acked_at`: when the first 200 to an ack of the message came in, by place. `ack_tried`: messages whose ack was
    sent; without an entry in `acked_at` nobody knows whether it was carried out."""

    sends: list[Send] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    acked_at: dict[tuple[int, int], float] = field(default_factory=dict)
    ack_tried: set[tuple[int, int]] = field(default_factory=set)

    def acknowledged_sends(self) -> list[Send]:
        return [send for send in self.sends if send.place is not None]


def lost_messages(history: History, log: list[LoggedMessage]) -> list[str]:
    """Acknowledged sends that are not in the log where the answer said, byte for byte."""
    stored = {message.place: message.body for message in log}
    faults = []
    for send in history.acknowledged_sends():
        assert send.place is not None
        found = stored.get(send.place)
        if found is None:
            faults.append(f"{send.place}: {send.body[:60]!r} was acknowledged and is gone")
        elif found != send.body:
            faults.append(f"{send.place}: {send.body[:60]!r} was acknowledged, {found[:60]!r} is there")
    return faults


def unsent_messages(history: History, log: list[LoggedMessage]) -> list[str]:
    """Messages in the log or in deliveries that nobody sent."""
    sent = {send.body for send in history.sends}
    found = [(message.place, message.body) for message in log]
    found += [(delivery.place, delivery.body) for delivery in history.deliveries]
    return [f"{place}: nobody sent {body[:60]!r}" for place, body in found if body not in sent]


def duplicated_messages(history: History, log: list[LoggedMessage]) -> list[str]:
    """Messages that are in the log twice although their idempotency key forbids it, or that were sent once."""
    keyed = {send.body for send in history.sends if send.is_keyed}
    first: dict[bytes, tuple[int, int]] = {}
    faults = []
    for message in log:
        earlier = first.setdefault(message.body, message.place)
        if earlier != message.place and message.body in keyed:
            faults.append(f"{message.place}: {message.body[:60]!r} is at {earlier} already")
    return faults


def gaps(log: list[LoggedMessage]) -> list[str]:
    """Offsets that are missing, or there twice, in a log that nothing has removed anything from."""
    faults = []
    offsets: dict[int, list[int]] = {}
    for (partition, offset), _body in log:
        offsets.setdefault(partition, []).append(offset)
    for partition, found in sorted(offsets.items()):
        if found != list(range(len(found))):
            faults.append(f"partition {partition} has {len(found)} messages, but not the offsets from 0 on")
    return faults


def redelivered_messages(history: History) -> list[str]:
    """Messages that a receive handed out although it began after the message's ack had been confirmed."""
    return [
        f"{delivery.place}: delivered (attempt {delivery.attempt}) to a receive that began "
        f"{delivery.asked_at - history.acked_at[delivery.place]:.3f} s after its ack was confirmed"
        for delivery in history.deliveries
        if delivery.place in history.acked_at and delivery.asked_at > history.acked_at[delivery.place]
    ]


def altered_deliveries(history: History, log: list[LoggedMessage]) -> list[str]:
    """Deliveries that hold something else than the log has at that place."""
    stored = {message.place: message.body for message in log}
    return [
        f"{delivery.place}: {delivery.body[:60]!r} was delivered, the log has {stored.get(delivery.place, b'')[:60]!r}"
        for delivery in history.deliveries
        if stored.get(delivery.place) != delivery.body
    ]


def unconsumed_messages(history: History, log: list[LoggedMessage]) -> list[str]:
    """Messages that were never acked, though everything should have been drained."""
    return [
        f"{message.place}: {message.body[:60]!r} was never acked"
        for message in log
        if message.place not in history.acked_at and message.place not in history.ack_tried
    ]


def check_log(history: History, log: list[LoggedMessage]) -> list[str]:
    """Every fault that a history and the log behind it show, whenever they are compared."""
    return [
        *lost_messages(history, log),
        *unsent_messages(history, log),
        *duplicated_messages(history, log),
        *gaps(log),
        *altered_deliveries(history, log),
        *redelivered_messages(history),
    ]
