"""A dead-letter partition, targets and notes in memory, in which runners of a redrive job die between any two steps,
are overtaken, and leave appends behind that are seen later. It remembers no name longer than it must."""

from collections.abc import Collection, Generator, Sequence
from contextlib import suppress
from types import coroutine
from typing import Any

import msgspec

from acklog.wire.record import Record
from cluster.model.redrives import RedrivePart, TargetEnd
from storage.redrive.ports import Letter, LetterPage, SentLetters, SupersededError


@coroutine
def turn() -> Generator[None, None, None]:
    """Others may run now, and who waits here may never go on."""
    yield


class TargetPartition:
    """`log` has the letters in their order, of which the first `readable` are committed; `start` is what retention
    left."""

    def __init__(self) -> None:
        self.log: list[int] = []
        self.readable = 0
        self.start = 0


class RedriveWorld:
    """`targets_of` says where each letter goes (""; nobody knows); what is in `refused` is refused for good."""

    def __init__(self, targets_of: Sequence[str], refused: Collection[int] = ()) -> None:
        self.targets_of = targets_of
        self.refused = frozenset(refused)
        self.topics = {topic_id: [TargetPartition()] for topic_id in targets_of if topic_id}
        self.handled: set[int] = set()
        self.note = (0, msgspec.json.encode(RedrivePart(0)))
        self.owners: dict[str, int] = {}
        self.removed: list[int] = []
        self.openings = 0
        self.hangs_up = False
        self.on_the_way: list[tuple[int, int]] = []

    def sent(self) -> list[int]:
        return [letter for partitions in self.topics.values() for each in partitions for letter in each.log]

    def commit_all(self) -> None:
        for partitions in self.topics.values():
            for each in partitions:
                each.readable = len(each.log)

    def arrive(self) -> None:
        """What hung on the way comes to its leader now."""
        on_the_way, self.on_the_way = self.on_the_way, []
        for opening, letter in on_the_way:
            with suppress(SupersededError):
                self.append(opening, letter)

    def append(self, opening: int, letter: int) -> TargetPartition:
        """Raises SupersededError for who was fenced meanwhile."""
        target_id = self.targets_of[letter]
        if self.owners[target_id] != opening:
            raise SupersededError
        partitions = self.topics[target_id]
        partition = partitions[letter % len(partitions)]
        partition.log.append(letter)
        return partition

    def grow(self) -> None:
        for partitions in self.topics.values():
            partitions.append(TargetPartition())

    def retain(self) -> None:
        """Retention removes all that is readable."""
        for partitions in self.topics.values():
            for each in partitions:
                each.start = each.readable


class WorldLetters:
    def __init__(self, world: RedriveWorld) -> None:
        self._world = world

    async def read(self, start: int, *, end: int, letters_max: int) -> LetterPage:
        await turn()
        left = [offset for offset in range(start, end) if offset not in self._world.handled]
        found = left[:letters_max]
        return LetterPage(await self.read_these(found), end if len(left) <= letters_max else found[-1] + 1)

    async def read_these(self, offsets: Sequence[int]) -> Sequence[Letter]:
        await turn()
        return [Letter(offset, self._world.targets_of[offset], Record(b"")) for offset in offsets]

    async def handled(self, offsets: Collection[int]) -> None:
        await turn()
        self._world.handled |= set(offsets)
        await turn()


class WorldNotes:
    def __init__(self, world: RedriveWorld) -> None:
        self._world = world
        self._revision = -1

    async def read(self) -> RedrivePart:
        await turn()
        self._revision, value = self._world.note
        await turn()
        return msgspec.json.decode(value, type=RedrivePart)

    async def write(self, part: RedrivePart) -> None:
        await turn()
        revision, _ = self._world.note
        if revision != self._revision:
            raise SupersededError
        self._world.note = revision + 1, msgspec.json.encode(part)
        self._revision = revision + 1
        await turn()


class WorldTargets:
    def __init__(self, world: RedriveWorld) -> None:
        self._world = world
        self._openings: dict[str, int] = {}

    async def take_over(self, topic_ids: Collection[str]) -> None:
        await turn()
        for topic_id in topic_ids:
            self._world.openings += 1
            self._world.owners[topic_id] = self._openings[topic_id] = self._world.openings
            await turn()

    async def ends(self, topic_ids: Collection[str]) -> tuple[TargetEnd, ...]:
        await turn()
        found = []
        for topic_id in sorted(topic_ids):
            for number, each in enumerate(self._world.topics[topic_id]):
                found.append(TargetEnd(topic_id, number, each.readable))
                await turn()
        return tuple(found)

    async def sent_since(self, reach: Sequence[TargetEnd]) -> SentLetters:
        await turn()
        noted = {(end.topic_id, end.partition): end.offset for end in reach}
        found: set[int] = set()
        is_sure = True
        for topic_id in {end.topic_id for end in reach}:
            for each in self._world.topics[topic_id]:
                each.readable = len(each.log)  # what had been begun is waited for
        for topic_id in {end.topic_id for end in reach}:
            for number, each in enumerate(self._world.topics[topic_id]):
                start = noted.get((topic_id, number), 0)
                is_sure = is_sure and each.start <= start
                found.update(each.log[max(start, each.start) : each.readable])
                await turn()
        return SentLetters(frozenset(found), is_sure)

    async def send(self, letters: Sequence[Letter]) -> frozenset[int]:
        """Where somebody hangs up, it may come to its leader later."""
        world = self._world
        sent: set[int] = set()
        for letter in letters:
            await turn()
            if letter.offset in world.refused:
                continue
            opening = self._openings[letter.target_id]
            if world.hangs_up:
                world.hangs_up = False
                world.on_the_way.append((opening, letter.offset))
                raise ConnectionError
            partition = world.append(opening, letter.offset)
            await turn()
            partition.readable = len(partition.log)
            sent.add(letter.offset)
        await turn()
        return frozenset(sent)


def ports_of(world: RedriveWorld) -> dict[str, Any]:
    return {"letters": WorldLetters(world), "targets": WorldTargets(world), "notes": WorldNotes(world)}
