"""Who waits for a topic's messages, and how news reaches them at a cost that does not grow with idle groups.

A `GroupReader` is one group's view of one topic on this node: which of its partitions may have something to deliver,
and the receives that wait for it, or look at partitions before they wait. News of a partition (its high watermark
moved, a message came back) is recorded only for readers with one of these. A receive that is the first to come to a
reader looks at every partition instead.
"""

import asyncio
from collections.abc import Callable, Iterable

HasRoom = Callable[[], bool]


class WaitingReceive:
    """One waiting receive. It may wait at several readers (topics) at once, and is woken once."""

    __slots__ = ("_future", "is_woken")

    def __init__(self) -> None:
        self.is_woken = False
        self._future: asyncio.Future[None] | None = None

    def wake(self) -> None:
        self.is_woken = True
        self._finish()

    async def wait(self, timeout_ms: int) -> None:
        """Return when woken, or after `timeout_ms`."""
        if self.is_woken:
            return
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        timer = loop.call_later(timeout_ms / 1000, self._finish)
        try:
            await self._future
        finally:
            timer.cancel()
            self._future = None

    def _finish(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


Place = tuple[str, int]


class ClaimingReceive(WaitingReceive):
    """A receive of an exclusive group, which waits for its own partitions. `ready` are those that may have
    something."""

    __slots__ = ("group_id", "places", "ready")

    def __init__(self, group_id: str, places: Iterable[Place]) -> None:
        super().__init__()
        self.group_id = group_id
        self.places = tuple(places)
        self.ready: dict[Place, None] = dict.fromkeys(self.places)

    def take(self) -> list[Place]:
        """What is to be looked at now. It waits for other news from here on."""
        taken, self.ready, self.is_woken = list(self.ready), {}, False
        return taken

    def note(self, place: Place) -> None:
        self.ready[place] = None
        super().wake()

    def wake(self) -> None:
        """Anything may be ready."""
        self.ready = dict.fromkeys(self.places)
        super().wake()


class GroupReader:
    """One group's readiness in one topic. `ready` holds partitions that may have something, oldest news first. `turn`
    is when the group last came to the topic, as its host counts. Whoever may have no more for now is held back: no news
    are for him but that he may.

    While somebody is `_present`, what is not ready was looked at since its last news, or is being looked at. So those
    who are woken and find nothing do not send each other to look at everything, again and again."""

    def __init__(self) -> None:
        self.turn = 0
        self.ready: dict[int, None] = {}
        self._present: dict[WaitingReceive, None] = {}
        self._waiters: dict[WaitingReceive, None] = {}  # those of them that were not woken
        self._held_back: dict[WaitingReceive, HasRoom] = {}
        self._may_have_changed = False

    @property
    def is_waited_at(self) -> bool:
        return bool(self._present or self._held_back)

    @property
    def records_news(self) -> bool:
        return bool(self._present)

    def look_at(self, partitions: Iterable[int]) -> None:
        """Before a receive that does not wait: where nobody waits, every partition may have something."""
        if not self._waiters:
            for partition in partitions:
                self.ready[partition] = None

    def join(self, waiter: WaitingReceive, partitions: Iterable[int]) -> None:
        """Where nobody was, no news was recorded, and every one of the topic's partitions may have something."""
        if self._may_have_changed or not self._present:
            self._may_have_changed = False
            for partition in partitions:
                self.ready[partition] = None
        self._present[waiter] = self._waiters[waiter] = None

    def hold_back(self, waiter: WaitingReceive, has_room: HasRoom) -> None:
        self._held_back[waiter] = has_room

    def lease_ended(self) -> None:
        """Whoever was held back may have more now."""
        for waiter, has_room in list(self._held_back.items()):
            if has_room():
                del self._held_back[waiter]
                waiter.wake()

    def leave(self, waiter: WaitingReceive) -> None:
        """Passes on what the leaving waiter was woken for and did not take, so that no wake-up is lost with it."""
        self._present.pop(waiter, None)
        self._waiters.pop(waiter, None)
        self._held_back.pop(waiter, None)
        self._wake_next()

    def note(self, partition: int) -> None:
        """The partition may have something for the group."""
        self.ready[partition] = None
        self._wake_next()

    def wake_all(self) -> None:
        """The group, or what is led here, is not what it was: whoever comes next looks at everything."""
        self._may_have_changed = True
        woken = [*self._waiters, *self._held_back]
        self._waiters.clear()
        self._held_back.clear()
        for waiter in woken:
            waiter.wake()

    def _wake_next(self) -> None:
        if self.ready and self._waiters:
            waiter = next(iter(self._waiters))
            del self._waiters[waiter]
            waiter.wake()


class TopicReaders:
    """All groups' readers of one topic on this node."""

    def __init__(self) -> None:
        self._readers: dict[str, GroupReader] = {}
        self._waited_at: dict[str, GroupReader] = {}
        self._claiming: dict[int, dict[str, dict[ClaimingReceive, Place]]] = {}

    def join_at(self, place: Place, waiter: ClaimingReceive) -> None:
        self._claiming.setdefault(place[1], {}).setdefault(waiter.group_id, {})[waiter] = place

    def leave_at(self, place: Place, waiter: ClaimingReceive) -> None:
        """Where the topic was deleted meanwhile, its readers are others than those that were joined."""
        groups = self._claiming.get(place[1], {})
        waiting = groups.get(waiter.group_id, {})
        if waiter not in waiting:
            return
        del waiting[waiter]
        if not waiting:
            del groups[waiter.group_id]
        if not groups:
            del self._claiming[place[1]]

    def _wake_claiming(self, group_id: str) -> None:
        for waiter in dict.fromkeys(each for groups in self._claiming.values() for each in groups.get(group_id, ())):
            waiter.wake()

    def reader(self, group_id: str) -> GroupReader:
        reader = self._readers.get(group_id)
        if reader is None:
            reader = self._readers[group_id] = GroupReader()
        return reader

    def join(self, group_id: str, waiter: WaitingReceive, partitions: Iterable[int]) -> None:
        reader = self.reader(group_id)
        reader.join(waiter, partitions)
        self._waited_at[group_id] = reader

    def hold_back(self, group_id: str, waiter: WaitingReceive, has_room: HasRoom) -> None:
        reader = self.reader(group_id)
        reader.hold_back(waiter, has_room)
        self._waited_at[group_id] = reader

    def leave(self, group_id: str, waiter: WaitingReceive) -> None:
        self.reader(group_id).leave(waiter)

    def remove_group(self, group_id: str) -> None:
        self._waited_at.pop(group_id, None)
        reader = self._readers.pop(group_id, None)
        if reader is not None:
            reader.wake_all()
        self._wake_claiming(group_id)

    def note_all(self, partition: int) -> None:
        """The partition has new messages: news for every group with somebody waiting."""
        for group_id, reader in list(self._waited_at.items()):
            if reader.records_news:
                reader.note(partition)
            if not reader.is_waited_at:
                del self._waited_at[group_id]
        if partition in self._claiming:
            for claiming in self._claiming[partition].values():
                for waiter, place in claiming.items():
                    waiter.note(place)

    def note(self, group_id: str, partition: int) -> None:
        """Something came back to one group in the partition."""
        reader = self._waited_at.get(group_id)
        if reader is not None:
            if reader.records_news:
                reader.note(partition)
            reader.lease_ended()
        if partition in self._claiming:
            for waiter, place in self._claiming[partition].get(group_id, {}).items():
                waiter.note(place)

    def wake_group(self, group_id: str) -> None:
        """The group is not what it was."""
        reader = self._readers.get(group_id)
        if reader is not None:
            reader.wake_all()
        self._wake_claiming(group_id)

    def wake_everybody(self) -> None:
        """The node stops, or it leads other partitions than before."""
        for reader in self._readers.values():
            reader.wake_all()
        for groups in self._claiming.values():
            for claiming in groups.values():
                for waiter in claiming:
                    waiter.wake()
