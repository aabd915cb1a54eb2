"""A plain model of one group in one partition: a dictionary of messages, no ranges, no heaps, no cleverness."""

from dataclasses import dataclass, field

from acklog.wire.problems import ProblemCode


@dataclass
class Message:
    """`counted` is the last logged delivery as (leader epoch, attempt); `newest` the last one that is remembered."""

    is_done: bool = False
    is_dead_lettered: bool = False
    is_dead_lettering: bool = False
    counted: tuple[int, int] | None = None
    newest: tuple[int, int] | None = None
    lease_deadline_ms: int | None = None
    given_back_wall_ms: int = 0
    delay_ms: int = 0
    visible_at_ms: int = 0
    was_delivered: bool = False

    @property
    def attempts(self) -> int:
        return self.counted[1] if self.counted else 0

    def state(self, now_ms: int) -> str:
        if self.is_done:
            return "deadLettered" if self.is_dead_lettered else "done"
        if self.lease_deadline_ms is not None:
            return "leased"
        if self.is_dead_lettering:
            return "deadLettering"
        return "delayed" if self.visible_at_ms > now_ms else "waiting"


@dataclass
class Oracle:
    messages: dict[int, Message] = field(default_factory=dict)
    generation: int = 0
    leader_epoch: int = 1
    readable_end: int = 0

    def append(self, count: int) -> None:
        for offset in range(self.readable_end, self.readable_end + count):
            self.messages[offset] = Message()
        self.readable_end += count

    @property
    def progress(self) -> int:
        return next((offset for offset, each in self.messages.items() if not each.is_done), self.readable_end)

    @property
    def leased(self) -> list[int]:
        return [offset for offset, each in self.messages.items() if each.lease_deadline_ms is not None]

    def deliverable(self, now_ms: int, pending: set[int]) -> list[int]:
        return [
            offset
            for offset, each in self.messages.items()
            if offset not in pending and each.state(now_ms) == "waiting"
        ]

    def judge_receipt(self, item, *, is_ack: bool) -> ProblemCode | None:
        if item.offset >= self.readable_end or item.generation > self.generation:
            return ProblemCode.INVALID_RECEIPT
        if item.leader_epoch > self.leader_epoch:
            return ProblemCode.INVALID_RECEIPT
        message = self.messages[item.offset]
        if message.is_done:
            return None if is_ack else ProblemCode.RECEIPT_STALE
        if item.generation < self.generation:
            return ProblemCode.RECEIPT_STALE
        given = (item.leader_epoch, item.attempt)
        if message.newest is None or given > message.newest:
            return ProblemCode.INVALID_RECEIPT if item.leader_epoch == self.leader_epoch else None
        return None if given == message.newest else ProblemCode.RECEIPT_STALE

    # --- what durable records do -----------------------------------------------------------------------------------

    def settle(self, offsets: list[int], generation: int, *, is_dead_letter: bool) -> None:
        if generation != self.generation:
            return
        for offset in offsets:
            message = self.messages[offset]
            if not message.is_done:
                self.messages[offset] = Message(is_done=True, is_dead_lettered=is_dead_letter, was_delivered=True)

    def give_back(
        self, returned: dict[int, tuple[tuple[int, int], int | None]], generation: int, wall_ms: int, clocks
    ) -> None:
        """`returned`: offset to (delivery, delay or None for the dead-letter topic)."""
        if generation != self.generation:
            return
        for offset, (delivery, delay_ms) in returned.items():
            message = self.messages[offset]
            if message.is_done:
                continue
            message.counted = message.newest = delivery
            message.lease_deadline_ms = None
            message.is_dead_lettering = delay_ms is None
            message.given_back_wall_ms, message.delay_ms = wall_ms, delay_ms or 0
            message.visible_at_ms = clocks.visible_at(message)
            message.was_delivered = True

    def seek(self, target: int, generation: int) -> None:
        if generation <= self.generation:
            return
        self.generation = generation
        for offset, message in self.messages.items():
            if offset >= target:
                self.messages[offset] = Message()
            elif not message.is_done:
                self.messages[offset] = Message(is_done=True)

    def commit(self, record) -> None:
        """Everything below is done, unless a seek came between."""
        if record.generation == self.generation:
            self.jump(record.offset)

    def jump(self, target: int) -> None:
        for offset, message in self.messages.items():
            if offset < target and not message.is_done:
                self.messages[offset] = Message(is_done=True)

    def restart(self, clocks) -> None:
        """Leases are forgotten; what records said is not."""
        self.leader_epoch += 1
        for message in self.messages.values():
            message.lease_deadline_ms = None
            message.newest = message.counted
            message.visible_at_ms = clocks.visible_at(message)
