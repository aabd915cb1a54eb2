"""Messages that were received and wait, in lanes: those of one lane are in one worker's hands at a time. Without I/O.

A *lane* is what has to be done in order: a key of a key-ordered group, a partition of an exclusive one. A worker (a
thread, a task) that has taken a message of a lane may take the next ones, too; anybody else may when all that was taken
is settled. So workers side by side keep the order, and one that takes several before it settles any is not held up.

What comes back takes its lane back with it: the server has ended the leases behind it, and what waits here is dropped.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from acklog.messages import Message

Worker = Hashable


class Arrived(NamedTuple):
    """What became of an answer: `kept` is here now; of `dropped` nobody here may work on any."""

    kept: list[Message]
    dropped: list[Message]


class Line:
    """The lane of a shared group: everything waits in the order in which it came, for whoever takes it."""

    def __init__(self) -> None:
        self.messages: deque[Message] = deque()

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, messages: Sequence[Message], _serial: int) -> Arrived:
        self.messages.extend(messages)
        return Arrived(list(messages), [])

    def take(self, _worker: Worker) -> Message | None:
        return self.messages.popleft() if self.messages else None

    def has_for(self, _worker: Worker) -> bool:
        return bool(self.messages)

    def settled(self, _message: Message) -> bool:
        return False

    def came_back(self, _message: Message, _serial: int | None) -> list[Message]:
        return []

    def returned(self, _receipts: Iterable[str], _serial: int) -> None:
        pass

    def lost(self, _receipt: str, _serial: int) -> list[Message]:
        return []

    def is_ended(self, _message: Message) -> bool:
        return False

    def give_back(self) -> list[Message]:
        messages = list(self.messages)
        self.messages.clear()
        return messages

    def empty(self) -> int:
        count = len(self.messages)
        self.messages.clear()
        return count


class Lane:
    """`waiting` ascends. `worker` has `taken`, by receipt."""

    __slots__ = ("taken", "waiting", "worker")

    def __init__(self) -> None:
        self.waiting: deque[Message] = deque()
        self.taken: dict[str, Message] = {}
        self.worker: Worker | None = None


class Lanes:
    """`lane_of` names a message's lane. Not for several threads at once."""

    def __init__(self, lane_of: Callable[[Message], Hashable]) -> None:
        self._lane_of = lane_of
        self._lanes: dict[Hashable, Lane] = {}
        self._free: dict[Hashable, Lane] = {}  # something waits, and nobody has any: the longest free first
        self._held: dict[Worker, dict[Hashable, Lane]] = {}  # something waits for that worker
        self._of_receipt: dict[str, Message] = {}  # all that is here or in somebody's hands
        self._ended: set[str] = set()  # of those in somebody's hands: one before it in its lane came back
        self._waiting = 0

    def __len__(self) -> int:
        """How many wait that may be handed out once their lanes are free."""
        return self._waiting

    def add(self, messages: Sequence[Message], _serial: int) -> Arrived:
        """The messages of the receive with that number."""
        for message in messages:
            name = self._lane_of(message)
            lane = self._lane(name)
            lane.waiting.append(message)
            self._of_receipt[message.receipt] = message
            self._place(name, lane)
        self._waiting += len(messages)
        return Arrived(list(messages), [])

    def take(self, worker: Worker) -> Message | None:
        """A message that this worker may have now: of the lane that is free for longest, else of its own."""
        name = next(iter(self._free), None)
        if name is None:
            name = next(iter(self._held.get(worker, ())), None)
            if name is None:
                return None
        lane = self._lanes[name]
        message = lane.waiting.popleft()
        lane.worker = worker
        lane.taken[message.receipt] = message
        self._waiting -= 1
        self._place(name, lane)
        return message

    def has_for(self, worker: Worker) -> bool:
        """Whether `take` has something for it."""
        return bool(self._free or self._held.get(worker))

    def settled(self, message: Message) -> bool:
        """What was taken is done, or given back. Whether others may take something by that."""
        self._of_receipt.pop(message.receipt, None)
        self._ended.discard(message.receipt)
        name = self._lane_of(message)
        lane = self._lanes.get(name)
        if lane is None or lane.taken.pop(message.receipt, None) is None or lane.taken:
            return False
        self._unplace(name, lane)
        lane.worker = None
        self._place(name, lane)
        return bool(lane.waiting)

    def came_back(self, message: Message, _serial: int | None) -> list[Message]:
        """It is given back, or (then with the number of the last receive) its lease is over: what waits behind it,
        dropped. `settled` follows once nobody works on it."""
        name = self._lane_of(message)
        lane = self._lanes.get(name)
        if lane is None or message.receipt in self._ended:
            return []
        self._ended.update(receipt for receipt, each in lane.taken.items() if each.offset > message.offset)
        return self._drop(name, lane)

    def returned(self, _receipts: Iterable[str], _serial: int) -> None:
        """The server knows that these came back, and the last receive that was begun by now has that number."""

    def lost(self, receipt: str, serial: int) -> list[Message]:
        """The message's lease is over: what waits behind it, dropped."""
        message = self._of_receipt.get(receipt)
        return [] if message is None else self.came_back(message, serial)

    def is_ended(self, message: Message) -> bool:
        """Whether its lease ended because one before it in its lane came back: to give it back, too, would be wrong."""
        return message.receipt in self._ended

    def give_back(self) -> list[Message]:
        """Nothing is handed out any more: the first that waits of each lane, which takes those behind it along."""
        return [lane.waiting[0] for lane in self._lanes.values() if lane.waiting and not lane.taken]

    def empty(self) -> int:
        count = self._waiting
        for name, lane in list(self._lanes.items()):
            self._drop(name, lane)
        return count

    def _lane(self, name: Hashable) -> Lane:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane()
        return lane

    def _drop(self, name: Hashable, lane: Lane) -> list[Message]:
        dropped = list(lane.waiting)
        lane.waiting.clear()
        for message in dropped:
            self._of_receipt.pop(message.receipt, None)
        self._waiting -= len(dropped)
        self._place(name, lane)
        return dropped

    def _place(self, name: Hashable, lane: Lane) -> None:
        """Bring the lane to where its state belongs."""
        if lane.waiting and self._is_open(name):
            if lane.worker is None:
                self._free.setdefault(name, lane)
            else:
                self._free.pop(name, None)
                self._held.setdefault(lane.worker, {})[name] = lane
            return
        self._unplace(name, lane)
        if not lane.waiting and not lane.taken:
            self._lanes.pop(name, None)

    def _unplace(self, name: Hashable, lane: Lane) -> None:
        self._free.pop(name, None)
        held = None if lane.worker is None else self._held.get(lane.worker)
        if held is not None:
            held.pop(name, None)
            if not held:
                del self._held[lane.worker]

    def _is_open(self, _name: Hashable) -> bool:
        return True


def key_lane(message: Message) -> Hashable:
    """Of a key-ordered group: messages without a key are in no order."""
    if message.key is None:
        return message.receipt
    return message.topic, message.partition, message.key
