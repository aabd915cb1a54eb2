"""What a consumer holds: messages that wait or are worked on, their leases, acks and nacks that are not confirmed.

For several threads at once: one lock guards all of it, because a message that is given back takes along what waits
behind it in its lane. No I/O.
"""

import threading
from collections.abc import Callable, Sequence

from acklog.client.alarm import TIMER_SLACK_MS
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.inbox import Inbox
from acklog.consumer.lanes import Lanes, Line, Worker
from acklog.consumer.partition_lanes import PartitionLanes, first_of_each
from acklog.consumer.settlements import SettlementProblem, SettlementRequest, Settlements
from acklog.errors import AcklogError, DeadlineExceeded, MemberFenced, ReceiptStale
from acklog.members import TopicPartition
from acklog.messages import Message, Settled, Settler
from acklog.wire.limits import RECEIVE_BYTES_MAX


class Holdings:
    """`now_ms` is the loop's clock. `on_due` is told, on any thread, that there is something to ask the server for:
    room again where there was none, the first ack of a request, the last that fits. What was received with `auto_ack`
    is done: there is nothing to settle."""

    def __init__(
        self,
        settings: ConsumerSettings,
        lanes: Line | Lanes,
        now_ms: Callable[[], float],
        on_due: Callable[[], None],
        *,
        auto_ack: bool,
    ) -> None:
        self._settings = settings
        self._on_due = on_due
        self._now_ms = now_ms
        self._auto_ack = auto_ack
        self._lock = threading.Lock()
        self._lanes = lanes
        self._has_order = isinstance(lanes, Lanes)
        self._inbox = Inbox(settings, lanes)
        self._settlements = Settlements(settings)
        self._is_fetch_idle = False
        self._serial = 0  # of the last receive that was begun

    # For whoever works on messages

    def has_for(self, worker: Worker) -> bool:
        with self._lock:
            return self._lanes.has_for(worker)

    def take(self, worker: Worker) -> Message | None:
        """A message for this worker, if there is one now."""
        with self._lock:
            message = self._inbox.take(self._now_ms, worker)
            if not self._is_fetch_idle or self._inbox.wanted_messages() <= 0:
                return message
            self._is_fetch_idle = False
        self._on_due()
        return message

    def ack(self, message: Message) -> bool:
        """Whether another worker may take something by it."""
        with self._lock:
            is_due = self._settlements.ack(message.receipt, self._now_ms)
            is_freed = self._has_order and self._lanes.settled(message)
        if is_due:
            self._on_due()
        return is_freed

    def nack(self, message: Message, delay_s: float | None, reason: str = "") -> bool:
        """Whether another worker may take something by it."""
        with self._lock:
            if self._lanes.is_ended(message):
                self._settlements.forget([message.receipt])
            else:
                self._let_go(self._lanes.came_back(message, None))
                self._settlements.nack(message.receipt, delay_s, self._now_ms, reason=reason)
            return self._lanes.settled(message)

    # For who receives

    def wanted(self) -> tuple[int, int]:
        """Messages and bytes to ask for now. None asked for: `take` says when that changes."""
        with self._lock:
            room = self._settings.unsettled_messages_max - self._settlements.unsettled
            messages = min(self._inbox.wanted_messages(), room)
            self._is_fetch_idle = messages <= 0
            return max(0, messages), min(self._inbox.wanted_bytes(), RECEIVE_BYTES_MAX)

    def begin_receive(self) -> int:
        """The number of a receive that begins now."""
        with self._lock:
            self._serial += 1
            return self._serial

    def arrived(self, messages: Sequence[Message], serial: int, settler: Settler) -> None:
        """What the receive with that number brought."""
        for message in messages:
            message.__dict__["settler"] = settler
        now_ms = self._now_ms()
        with self._lock:
            if not self._auto_ack:
                self._settlements.hold([message.receipt for message in messages], now_ms)
            late = self._inbox.add(messages, now_ms, serial=serial)
            self._give_back(late)

    # For who settles

    def next_step(self) -> tuple[SettlementRequest | None, float | None, list[SettlementProblem], bool]:
        """What to ask the server for, or when there is something; what is to be reported; whether all is settled."""
        with self._lock:
            step = self._settlements.next_step(self._now_ms() + TIMER_SLACK_MS)
            due_ms = None if step else self._settlements.next_due_ms()
            problems = self._settlements.take_problems()
            for problem in problems:
                if _is_lease_lost(problem):
                    self._give_all_back(self._lanes.lost(problem.receipt, self._serial))
            problems = [each for each in problems if not self._is_expected(each)]
            return step, due_ms, problems, self._settlements.is_settled

    def finished(self, step: SettlementRequest, results: list[Settled], *, chance: float) -> None:
        with self._lock:
            self._settlements.finished(step, results, self._now_ms(), chance=chance)
            self._learn(step)

    def failed(self, step: SettlementRequest, error: AcklogError, *, chance: float) -> None:
        with self._lock:
            self._settlements.failed(step, error, self._now_ms(), chance=chance)
            self._learn(step)

    @property
    def is_settled(self) -> bool:
        with self._lock:
            return self._settlements.is_settled

    def close(self) -> int:
        """Give back what nobody works on, keep no lease, and let no ack wait: how many messages were here."""
        with self._lock:
            if not self._auto_ack:
                for message in self._lanes.give_back():
                    self._settlements.nack(message.receipt, 0, self._now_ms)
            count = self._inbox.empty()
            self._settlements.let_go()
            return count

    def abandon(self) -> list[str]:
        """The receipts of all acks and nacks that are not confirmed, taken out."""
        with self._lock:
            return self._settlements.abandon()

    # For a member of an exclusive group, whose lanes are its partitions

    @property
    def partitions(self) -> PartitionLanes:
        """Read it under no lock: what it says may be over by then."""
        assert isinstance(self._lanes, PartitionLanes)
        return self._lanes

    def assign(self, assigned: frozenset[TopicPartition]) -> None:
        """Of partitions that are not the member's any more, what nobody works on goes back at once: the next owner
        waits for it."""
        with self._lock:
            dropped = self.partitions.assign(assigned)
            self._inbox.dropped(dropped, self._now_ms)
            self._give_back(dropped)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        with self._lock:
            self.partitions.pause(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        with self._lock:
            self.partitions.resume(partitions)

    def sought(self, partition: TopicPartition) -> None:
        with self._lock:
            self._give_all_back(self.partitions.sought(partition, self._serial))

    # Under the lock

    def _let_go(self, dropped: Sequence[Message]) -> None:
        """The server has ended these leases, or does with the one before them."""
        if dropped:
            self._inbox.dropped(dropped, self._now_ms)
            self._settlements.forget([message.receipt for message in dropped])

    def _give_back(self, messages: Sequence[Message]) -> None:
        if not messages or self._auto_ack:
            return
        self._settlements.forget([message.receipt for message in messages])
        for message in first_of_each(messages):
            self._settlements.nack(message.receipt, 0, self._now_ms)

    def _give_all_back(self, dropped: Sequence[Message]) -> None:
        """Most of these leases have ended; one that was given out since is nobody else's before it runs out."""
        self._let_go(dropped)
        for message in dropped:
            self._settlements.nack(message.receipt, 0, self._now_ms)

    def _learn(self, step: SettlementRequest) -> None:
        """The server has heard what was given back, or does not hear it any more."""
        if step.action == "nack":
            self._lanes.returned(step.receipts, self._serial)

    def _is_expected(self, problem: SettlementProblem) -> bool:
        """With lanes, giving back what is gone already is no news."""
        is_gone = isinstance(problem.error, ReceiptStale | MemberFenced)
        return isinstance(self._lanes, Lanes) and problem.action == "nack" and is_gone


def _is_lease_lost(problem: SettlementProblem) -> bool:
    if problem.action == "extend":
        return isinstance(problem.error, ReceiptStale | MemberFenced | DeadlineExceeded)
    return problem.action == "ack" and isinstance(problem.error, ReceiptStale | MemberFenced)
