"""What clients asked and what they were told: the evidence that the checkers judge.

Events stand in the order in which they ended. Times are in milliseconds of one clock that never falls (virtual in a
simulation, monotonic with real processes): `began_ms` before the request left, `ended_ms` after its answer was there,
so a request took effect somewhere in between, or, if its outcome is unknown, at any time after `began_ms`, or never.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TypeVar

import msgspec


class Outcome(Enum):
    OK = "ok"
    FAILED = "failed"  # certainly without effect
    UNKNOWN = "unknown"


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    began_ms: float
    ended_ms: float


class Sent(Event, frozen=True, kw_only=True):
    """One message of a send. `uid` is the client's own and stands in the body; sending again uses the same one.

    `sender` sends one request after the other; `request` numbers them, `index` is the place in a batch.
    `partition`, `offset`, `epoch` are what the answer said, -1 without one.
    """

    sender: str
    request: int
    index: int
    uid: str
    queue: str
    body: str
    outcome: Outcome
    code: str = ""
    key: str | None = None
    tags: list[str] = []
    headers: dict[str, str] = {}
    dedup_id: str | None = None
    partition: int = -1
    offset: int = -1
    epoch: int = -1


class Delivered(Event, frozen=True, kw_only=True):
    """One message of an answer to a receive that a client got whole. `visibility_ms` is the lease's length.

    (generation, leader epoch, serial) are the receipt's, `attempt` counts; `is_auto_acked` messages have none. A
    `serial` rises with every lease of the message under one leader; -1 where only the attempt is known. `filter` is the
    receive's own.
    """

    group: str
    consumer: str
    queue: str
    partition: int
    offset: int
    epoch: int
    uid: str
    body: str
    attempt: int
    generation: int = -1
    leader_epoch: int = -1
    serial: int = -1
    visibility_ms: int = 0
    is_auto_acked: bool = False
    filter: str = ""


class Settled(Event, frozen=True, kw_only=True):
    """One receipt of an ack, a nack or an extension."""

    action: str
    group: str
    queue: str
    partition: int
    offset: int
    generation: int
    leader_epoch: int
    attempt: int
    outcome: Outcome
    code: str = ""
    serial: int = -1
    visibility_ms: int = 0


class BlockedListed(Event, frozen=True, kw_only=True):
    """A message that the group says is blocked: its attempts are used up, and it waits for a person. `key` None: it has
    none, or cannot be read."""

    group: str
    queue: str
    partition: int
    offset: int
    key: str | None


class Decided(Event, frozen=True, kw_only=True):
    """A person's decision about a blocked message: `action` is "release" or "skip"."""

    action: str
    group: str
    queue: str
    partition: int
    offset: int
    outcome: Outcome
    code: str = ""


class DecidersRested(Event, frozen=True, kw_only=True):
    """Everything was well, and for so long that all went as far as it would, nobody decided."""


class AutoAckedAnswerLost(Event, frozen=True, kw_only=True):
    """A receive with autoAck whose answer never came: up to so many messages are done without anybody having them."""

    group: str
    queue: str
    messages_max: int


class MemberAsked(Event, frozen=True, kw_only=True):
    """A receive of a member of an exclusive group, by which its coordinator may hear that it lives."""

    group: str
    member: str
    outcome: Outcome


class MemberGone(Event, frozen=True, kw_only=True):
    """A member has left, or died without a word: it asks for nothing any more, unless somebody takes its name."""

    group: str
    member: str


class StaticAsked(Event, frozen=True, kw_only=True):
    """A process asked under a static name: it joined, was heard, or left the name to the next one, as `what` says."""

    group: str
    member: str
    instance: str
    what: str
    outcome: Outcome


class Paused(Event, frozen=True, kw_only=True):
    """Somebody asked that a group pause, in a topic or in some partitions of it; no `partitions`: in all."""

    group: str
    queue: str
    partitions: list[int]
    outcome: Outcome


class Resumed(Event, frozen=True, kw_only=True):
    """Somebody asked that all that is paused of a group go on."""

    group: str
    outcome: Outcome


class FilterChanged(Event, frozen=True, kw_only=True):
    """A group was to have this filter from then on; "": none."""

    group: str
    filter: str
    outcome: Outcome


class PartitionOwned(Event, frozen=True, kw_only=True):
    """Who has which partition by which number, as the group's coordinator tells it. `instance` is which process of a
    static name."""

    group: str
    member: str
    instance: str = ""
    queue: str
    partition: int
    ownership: int


class Sought(Event, frozen=True, kw_only=True):
    """A seek of a group in one partition. The new position is between `lowest` and `highest`: the two are the same
    where it is known."""

    group: str
    queue: str
    partition: int
    lowest: int
    highest: int
    outcome: Outcome
    code: str = ""


class ReadRecord(msgspec.Struct, frozen=True):
    offset: int
    epoch: int
    uid: str
    body: str
    append_time_ms: int = -1


class ScheduledFor(Event, frozen=True, kw_only=True):
    """A message that was acknowledged for later: due at `due_ms`, by the clock of the leader that took it."""

    uid: str
    queue: str
    due_ms: int
    schedule_id: str


class AllDone(Event, frozen=True, kw_only=True):
    """Nobody sends any more, and every group is at the end of every log. What is still to come was scheduled."""


class LeftForLater(Event, frozen=True, kw_only=True):
    """What is still scheduled in a partition after everything: its leader's clock is behind."""

    schedule_ids: list[str]


class Rescheduled(Event, frozen=True, kw_only=True):
    """It was to be due at another time, or (`due_ms` -1) to be cancelled."""

    uid: str
    outcome: Outcome
    due_ms: int


class LogRead(Event, frozen=True, kw_only=True):
    """A read of a partition's log as it is. `is_final` marks the one after everything, which is complete."""

    reader: str
    queue: str
    partition: int
    offset: int
    next_offset: int
    log_start: int
    high_watermark: int
    records: list[ReadRecord]
    is_final: bool = False


class RecordsRead(Event, frozen=True, kw_only=True):
    """A page of a partition's log that a client was given over HTTP. `is_nearest`: any in-sync replica may have
    answered; else the leader did. `epoch` is what goes with `next_offset` into the next read."""

    reader: str
    queue: str
    partition: int
    offset: int
    next_offset: int
    high_watermark: int
    records: list[ReadRecord]
    epoch: int = -1
    is_nearest: bool = False


class FilteredRead(Event, frozen=True, kw_only=True):
    """A page of a partition's log through a filter: it holds these `offsets`, and goes on at `next_offset`."""

    reader: str
    queue: str
    partition: int
    filter: str
    offset: int
    next_offset: int
    offsets: list[int]


class MessageLooked(Event, frozen=True, kw_only=True):
    """One message that a client asked for by its id."""

    reader: str
    queue: str
    partition: int
    offset: int
    epoch: int
    uid: str
    body: str


class EndListed(Event, frozen=True, kw_only=True):
    """A partition's high watermark, in a listing over HTTP."""

    reader: str
    queue: str
    partition: int
    high_watermark: int


class ReadRefused(Event, frozen=True, kw_only=True):
    """A client asked for what begins at `offset`, and was told `code`."""

    reader: str
    queue: str
    partition: int
    offset: int
    code: str


class ProgressRead(Event, frozen=True, kw_only=True):
    """A group's progress in a partition, as the node tells it."""

    group: str
    queue: str
    partition: int
    leader_epoch: int
    high_watermark: int
    progress: int
    done_above: int
    in_flight: int
    dead_lettered: int
    is_final: bool = False


class Faulted(Event, frozen=True, kw_only=True):
    """Something was done to the system."""

    kind: str
    detail: str = ""


class Elected(Event, frozen=True, kw_only=True):
    """A partition has a new leader epoch, as the coordination store says."""

    queue: str
    partition: int
    epoch: int
    leader: int


class MappingBegan(Event, frozen=True, kw_only=True):
    """From `offset` on a partition is filled by this mapping of its topic, or a later one, as its leader says."""

    queue: str
    partition: int
    mapping: int
    offset: int


_Kind = TypeVar("_Kind", bound=Event)
_Known = (
    Elected
    | MappingBegan
    | Sent
    | Delivered
    | Settled
    | BlockedListed
    | Decided
    | DecidersRested
    | Sought
    | MemberAsked
    | MemberGone
    | PartitionOwned
    | StaticAsked
    | FilterChanged
    | Paused
    | Resumed
    | AutoAckedAnswerLost
    | LogRead
    | RecordsRead
    | FilteredRead
    | MessageLooked
    | EndListed
    | ReadRefused
    | ProgressRead
    | Faulted
)


class History:
    """Append only."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[_Kind]) -> Iterator[_Kind]:
        return (event for event in self.events if isinstance(event, kind))

    def where(self, condition: Callable[[Event], bool]) -> "History":
        found = History()
        found.events = [event for event in self.events if condition(event)]
        return found

    def to_json_lines(self) -> bytes:
        return b"".join(msgspec.json.encode(event) + b"\n" for event in self.events)

    @classmethod
    def from_json_lines(cls, text: bytes) -> "History":
        history = cls()
        decoder = msgspec.json.Decoder(_Known)
        history.events.extend(decoder.decode(line) for line in text.splitlines())
        return history
