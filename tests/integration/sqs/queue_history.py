"""What clients of one queue were told, and what is wrong with that: judged from outside, with nothing but their own
clock. Each message's body says which it is: the group and its number in it, from 0."""

import threading
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from math import inf


class Outcome(Enum):
    OK = "ok"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """When it was asked, and when the answer was there, or the connection broke."""

    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent(Asked):
    """`message_id` "" where it was not acknowledged."""

    body: str
    message_id: str
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    body: str
    message_id: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Received(Asked):
    messages: tuple[Got, ...] = ()
    outcome: Outcome = Outcome.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled(Asked):
    """`received` is the answer that the handle came with: it may have another copy of the same body, where the answer
    to a send was lost."""

    body: str
    message_id: str
    received: Received
    outcome: Outcome
    is_delete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(Asked):
    """Leases may have been forgotten then."""


def body_of(group: str, number: int) -> str:
    return f"{group}:{number}"


def place_of(body: str) -> tuple[str, int]:
    group, _, number = body.rpartition(":")
    return group, int(number)


class QueueHistory:
    """Threads add to it; whoever judges reads it when they have ended."""

    def __init__(self) -> None:
        self.sends: list[Sent] = []
        self.receives: list[Received] = []
        self.settlements: list[Settled] = []
        self.faults: list[Fault] = []
        self._lock = threading.Lock()
        self._acknowledged: set[str] = set()
        self._deleted: set[str] = set()

    def sent(self, sent: Sent) -> None:
        with self._lock:
            self.sends.append(sent)
            if sent.outcome is Outcome.OK:
                self._acknowledged.add(sent.body)

    def received(self, received: Received) -> None:
        with self._lock:
            self.receives.append(received)

    def settled(self, settled: Settled) -> None:
        with self._lock:
            self.settlements.append(settled)
            if settled.is_delete and settled.outcome is not Outcome.REFUSED:
                self._deleted.add(settled.body)

    def missing(self) -> set[str]:
        """What was acknowledged, and is surely not deleted so far."""
        with self._lock:
            return self._acknowledged - self._deleted

    @property
    def undone_count(self) -> int:
        """About so many are there."""
        return len(self._acknowledged) - len(self._deleted)

    @property
    def acknowledged_count(self) -> int:
        return len(self._acknowledged)


class QueueJudge:
    """What is wrong with a history, once everything is drained."""

    def __init__(self, history: QueueHistory, *, is_fifo: bool, visibility_s: float) -> None:
        self._history = history
        self._is_fifo = is_fifo
        self._visibility_s = visibility_s
        self._receives = sorted(history.receives, key=lambda each: each.began_s)
        self._done_from: dict[str, float] = defaultdict(lambda: inf)
        for each in history.settlements:
            if each.is_delete and each.outcome is not Outcome.REFUSED:
                self._done_from[each.body] = min(self._done_from[each.body], each.began_s)

    def faults(self) -> list[str]:
        found = [*self._lost(), *self._invented(), *self._undeleted(), *self._seen_too_early()]
        if self._is_fifo:
            found += [*self._duplicates(), *self._out_of_order()]
        return found

    def _lost(self) -> list[str]:
        received = {message.body for receive in self._receives for message in receive.messages}
        acknowledged = {each.body for each in self._history.sends if each.outcome is Outcome.OK}
        return [f"{body} was acknowledged and never received" for body in sorted(acknowledged - received)]

    def _invented(self) -> list[str]:
        """A message that was refused, or never sent."""
        possible = {each.body for each in self._history.sends if each.outcome is not Outcome.REFUSED}
        received = {message.body for receive in self._receives for message in receive.messages}
        return [f"{body} was received, and was refused or never sent" for body in sorted(received - possible)]

    def _undeleted(self) -> list[str]:
        """Received by a call that began when its deletion was confirmed."""
        deletions = [each for each in self._history.settlements if each.is_delete and each.outcome is Outcome.OK]
        gone_at_s: dict[tuple[str, str], float] = {}
        for each in deletions:
            if self._is_fifo or not self._may_have_been_received_again(each):
                key = (each.body, each.message_id)
                gone_at_s[key] = min(each.ended_s, gone_at_s.get(key, inf))
        return [
            f"{message.body} was received again after it was deleted"
            for receive in self._receives
            for message in receive.messages
            if receive.began_s > gone_at_s.get((message.body, message.message_id), inf)
        ]

    def _may_have_been_received_again(self, deletion: Settled) -> bool:
        """A standard queue takes a deletion by an older handle, and keeps the message."""
        return any(
            other is not deletion.received
            and other.began_s < deletion.ended_s
            and other.ended_s > deletion.received.began_s
            and (other.outcome is not Outcome.OK or any(got.body == deletion.body for got in other.messages))
            for other in self._receives
        )

    def _seen_too_early(self) -> list[str]:
        """Received while it was hidden: of a FIFO queue no message of the same group is to be seen then, either."""
        returned_at_s: dict[str, float] = defaultdict(lambda: inf)
        settled_from_s: dict[tuple[int, str], float] = {}
        for each in self._history.settlements:
            key = (id(each.received), each.message_id)
            settled_from_s[key] = min(each.began_s, settled_from_s.get(key, inf))
            if not each.is_delete:
                unit = self._unit(each)
                returned_at_s[f"{id(each.received)} {unit}"] = each.began_s
        found: list[str] = []
        last: dict[str, Received] = {}
        for receive in sorted(self._receives, key=lambda each: each.ended_s):
            for unit in {self._unit(message) for message in receive.messages}:
                before = last.get(unit)
                last[unit] = receive
                if before is None or self._may_be_over(before, receive):
                    continue
                mine = [message.message_id for message in before.messages if self._unit(message) == unit]
                was_free = all(settled_from_s.get((id(before), each), inf) < receive.ended_s for each in mine)
                was_returned = returned_at_s[f"{id(before)} {unit}"] < receive.ended_s
                if not (was_free or was_returned or self._was_faulted(before.began_s, receive.ended_s)):
                    found.append(f"{unit} was received while it was hidden")
        return found

    def _may_be_over(self, one: Received, other: Received) -> bool:
        """The visibility timeout of the lease that was made first: which of them it was may be unknown."""
        return max(one.ended_s - other.began_s, other.ended_s - one.began_s) >= self._visibility_s

    def _unit(self, message: Got | Settled) -> str:
        """A standard queue has two messages of a body whose send was answered the second time only."""
        return place_of(message.body)[0] if self._is_fifo else message.message_id

    def _was_faulted(self, from_s: float, to_s: float) -> bool:
        return any(fault.began_s < to_s and fault.ended_s > from_s for fault in self._history.faults)

    def _duplicates(self) -> list[str]:
        """More than one message of a deduplication id."""
        ids: dict[str, set[str]] = defaultdict(set)
        for send in self._history.sends:
            if send.outcome is Outcome.OK:
                ids[send.body].add(send.message_id)
        for receive in self._receives:
            for message in receive.messages:
                ids[message.body].add(message.message_id)
        return [f"{body} is {len(found)} messages" for body, found in ids.items() if len(found) > 1]

    def _out_of_order(self) -> list[str]:
        """Received before an earlier one of its group was deleted, or came before it in the same answer."""
        found: list[str] = []
        for receive in self._receives:
            before: dict[str, list[int]] = defaultdict(list)
            for message in receive.messages:
                group, number = place_of(message.body)
                open_before = [
                    each
                    for each in range(self._first_open(group, receive.ended_s), number)
                    if each not in before[group] and self._done_from[body_of(group, each)] >= receive.ended_s
                ]
                if open_before or any(each >= number for each in before[group]):
                    found.append(f"{message.body} was received before {open_before or before[group]} of its group")
                before[group].append(number)
        return found

    def _first_open(self, group: str, at_s: float) -> int:
        number = 0
        while self._done_from[body_of(group, number)] < at_s:
            number += 1
        return number
