"""What a simulated disk holds of one file: what is durable, what only the page cache has, what a power loss leaves."""

import random
from dataclasses import dataclass

SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class Write:
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncation:
    size: int


Change = Write | Truncation


class FileContent:
    """`current` is what readers see, `durable` what a power loss surely leaves, `unsynced` the changes between them."""

    def __init__(self) -> None:
        self.current = bytearray()
        self.durable = bytearray()
        self.unsynced: list[Change] = []

    def change(self, change: Change) -> None:
        _apply(self.current, change)
        self.unsynced.append(change)

    def sync(self) -> None:
        for change in self.unsynced:
            _apply(self.durable, change)
        self.unsynced.clear()

    def fail_sync(self, rng: random.Random) -> None:
        """As Linux does it: some of the pages got to the device, all are marked clean, and no later sync writes them.

        Readers still see everything, which is why a sync that failed must never be tried again.
        """
        _settle(self.durable, self.unsynced, rng)
        self.unsynced.clear()

    def lose_power(self, rng: random.Random) -> None:
        self.fail_sync(rng)
        self.current = bytearray(self.durable)

    def flip_bit(self, position: int, bit: int) -> None:
        """Rot: whatever holds the byte, holds it wrong from now on."""
        if not 0 <= position < len(self.current):
            raise ValueError(f"there is no byte {position} in a file of {len(self.current)}")
        self.current[position] ^= 1 << bit
        if position < len(self.durable):
            self.durable[position] ^= 1 << bit
        for index, change in enumerate(self.unsynced):
            if isinstance(change, Write) and 0 <= position - change.position < len(change.data):
                data = bytearray(change.data)
                data[position - change.position] ^= 1 << bit
                self.unsynced[index] = Write(change.position, bytes(data))


def _apply(content: bytearray, change: Change) -> None:
    if isinstance(change, Truncation):
        if change.size < len(content):
            del content[change.size :]
        else:
            content.extend(bytes(change.size - len(content)))
        return
    if change.position > len(content):
        content.extend(bytes(change.position - len(content)))
    content[change.position : change.position + len(change.data)] = change.data


def _settle(content: bytearray, changes: list[Change], rng: random.Random) -> None:
    """Keep, drop or tear each change on its own; how much of them survives differs from one loss to the next."""
    keep = rng.choice((0.0, 0.1, 0.4, 0.9, 1.0))
    tear = rng.choice((0.0, 0.3, 1.0))
    for change in changes:
        if rng.random() < keep:
            _apply(content, change)
        elif rng.random() < tear:
            _apply_torn(content, change, rng)


def _apply_torn(content: bytearray, change: Change, rng: random.Random) -> None:
    """A torn write leaves some of its sectors, in any order, or a run of its bytes; a truncation cannot be torn."""
    if isinstance(change, Truncation):
        return
    if rng.random() < 0.3:  # the new size got to the device before the bytes did
        end = change.position + len(change.data)
        content.extend(bytes(max(0, end - len(content))))
    for start, end in _surviving_runs(change.position, len(change.data), rng):
        _apply(content, Write(change.position + start, change.data[start:end]))


def _surviving_runs(position: int, length: int, rng: random.Random) -> list[tuple[int, int]]:
    if rng.random() < 0.5:  # one run of bytes, mostly a prefix
        start = 0 if rng.random() < 0.7 else rng.randint(0, length)
        return [(start, rng.randint(start, length))]
    runs = []
    start = 0
    while start < length:
        end = min(length, start + SECTOR_BYTES - (position + start) % SECTOR_BYTES)
        if rng.random() < 0.5:
            runs.append((start, end))
        start = end
    return runs
