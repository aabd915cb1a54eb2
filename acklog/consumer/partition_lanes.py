"""The lanes of an exclusive group's member: its partitions, which come and go, and which it may pause. Without I/O."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from acklog.consumer.lanes import Arrived, Lanes
from acklog.members import TopicPartition
from acklog.messages import Message

BEHIND_EVERYTHING = -1


def partition_lane(message: Message) -> TopicPartition:
    return TopicPartition(message.topic, message.partition)


class _Rewind:
    """The partition has gone back to `offset`. What an answer has behind that is not to be worked on if the receive was
    begun up to `serial`: it may have been given out before the server went back, and comes again. None: the server does
    not know yet."""

    __slots__ = ("offset", "receipt", "serial")

    def __init__(self, offset: int, receipt: str, serial: int | None) -> None:
        self.offset = offset
        self.receipt = receipt
        self.serial = serial


class PartitionLanes(Lanes):
    """Messages of partitions that are not assigned (yet) or paused wait."""

    def __init__(self, lane_of: Callable[[Message], Hashable] = partition_lane) -> None:
        super().__init__(lane_of)
        self.assigned: frozenset[TopicPartition] = frozenset()
        self._paused: set[Hashable] = set()
        self._rewinds: dict[Hashable, _Rewind] = {}
        self._positions: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """What waits in a paused partition keeps nothing of others from being received."""
        return self._waiting - sum(len(self._lanes[each].waiting) for each in self._paused if each in self._lanes)

    # --- assignment, pauses, positions -------------------------------------------------------------------------------

    def assign(self, assigned: frozenset[TopicPartition]) -> list[Message]:
        """These partitions are the member's from now on. What waits of others, to be given back."""
        self.assigned = assigned
        dropped: list[Message] = []
        for name in list(self._lanes):
            if name in assigned:
                self._place(name, self._lanes[name])
            else:
                dropped += self._drop(name, self._lanes[name])
        for kept in (self._rewinds, self._positions):
            for name in [each for each in kept if each not in assigned]:
                del kept[name]
        self._paused &= assigned
        return dropped

    @property
    def has_strangers(self) -> bool:
        """Whether something waits of a partition that is not assigned, as far as is known here."""
        return any(lane.waiting and name not in self.assigned for name, lane in self._lanes.items())

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(each for each in self.assigned if each in self._paused)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        for name in partitions:
            self._paused.add(name)
            if name in self._lanes:
                self._place(name, self._lanes[name])

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        for name in partitions:
            self._paused.discard(name)
            if name in self._lanes:
                self._place(name, self._lanes[name])

    def position(self, partition: TopicPartition) -> int | None:
        """Behind the last that was handed out; None: nothing was yet."""
        return self._positions.get(partition)

    def sought(self, partition: TopicPartition, serial: int) -> list[Message]:
        """The group was sent elsewhere there: what waits, dropped. The last receive begun by now has that number."""
        self._rewinds[partition] = _Rewind(BEHIND_EVERYTHING, "", serial)
        self._positions.pop(partition, None)
        lane = self._lanes.get(partition)
        if lane is None:
            return []
        self._ended.update(lane.taken)
        return self._drop(partition, lane)

    # --- as lanes ----------------------------------------------------------------------------------------------------

    def add(self, messages: Sequence[Message], serial: int) -> Arrived:
        kept: list[Message] = []
        dropped: list[Message] = []
        for message in messages:
            (dropped if self._is_late(message, serial) else kept).append(message)
        super().add(kept, serial)
        return Arrived(kept, dropped)

    def take(self, worker: Hashable) -> Message | None:
        message = super().take(worker)
        if message is not None:
            self._positions[self._lane_of(message)] = message.offset + 1
        return message

    def came_back(self, message: Message, serial: int | None) -> list[Message]:
        name = self._lane_of(message)
        if message.receipt not in self._ended and name in self.assigned:
            rewind = self._rewinds.get(name)
            if rewind is None or message.offset < rewind.offset:
                self._rewinds[name] = _Rewind(message.offset, message.receipt, serial)
                self._positions[name] = message.offset
        return super().came_back(message, serial)

    def returned(self, receipts: Iterable[str], serial: int) -> None:
        known = set(receipts)
        for rewind in self._rewinds.values():
            if rewind.serial is None and rewind.receipt in known:
                rewind.serial = serial

    def give_back(self) -> list[Message]:
        """The member leaves, and by that its partitions: no attempt has to count."""
        return []

    def _is_late(self, message: Message, serial: int) -> bool:
        name = self._lane_of(message)
        rewind = self._rewinds.get(name)
        if rewind is None:
            return False
        is_before = message.offset > rewind.offset and (rewind.serial is None or serial <= rewind.serial)
        if not is_before:
            del self._rewinds[name]
        return is_before

    def _is_open(self, name: Hashable) -> bool:
        return name in self.assigned and name not in self._paused


def first_of_each(messages: Sequence[Message]) -> list[Message]:
    """The first of each partition: where it comes back, what is behind it does."""
    found: dict[TopicPartition, Message] = {}
    for message in messages:
        known = found.setdefault(partition_lane(message), message)
        if message.offset < known.offset:
            found[partition_lane(message)] = message
    return list(found.values())
