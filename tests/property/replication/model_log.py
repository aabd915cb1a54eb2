"""A log in memory that knows what is written, what is durable, and what a crash leaves of it."""

from random import Random
from typing import NamedTuple

import msgspec

from storage.log.leader_epochs import LeaderEpochs


class Record(NamedTuple):
    epoch: int
    value: int
    batch_start: int


class Batch(msgspec.Struct, array_like=True):
    base_offset: int
    epoch: int
    values: list[int]


class ModelLog:
    """`records` goes from offset 0 on; what is below `log_start` was removed, and is kept for the checks only."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.log_start = 0
        self.epochs = LeaderEpochs()
        self._durable_end = 0
        self.ever_durable: set[tuple[int, Record]] = set()
        self.cut_tail: list[Record] = []  # what the last truncation cut, for a journal that replays it
        self.version = 0
        self.rotten: int | None = None
        """An offset that cannot be read any more."""
        self.has_met_rot = False
        """Whether a read has come upon it."""

    @property
    def written_end(self) -> int:
        return len(self.records)

    @property
    def durable_end(self) -> int:
        return self._durable_end

    @property
    def synced_end(self) -> int:
        """What is on the disk for certain, whatever the log says of it."""
        return self._durable_end

    def append(self, batch: Batch) -> None:
        assert batch.base_offset == len(self.records), "the batch does not begin at the log end"
        self.epochs.note(batch.epoch, batch.base_offset)
        self.records += [Record(batch.epoch, value, batch.base_offset) for value in batch.values]
        self.epochs.log_end = len(self.records)
        self.version += 1

    def sync(self, end: int) -> None:
        before = self._durable_end
        self._durable_end = max(before, min(end, len(self.records)))
        self._note_durable(before)
        self.version += 1

    def truncate(self, offset: int) -> None:
        if offset < len(self.records):
            self.cut_tail = self.records[self.records[offset].batch_start :]
            self._cut(self.records[offset].batch_start)

    def restart(self, records: list[Record]) -> None:
        """A snapshot of everything below its offset replaces the log."""
        self.records = list(records)
        self.rotten = None
        self.has_met_rot = False
        self.log_start = self._durable_end = len(records)
        self.epochs = LeaderEpochs()
        self.epochs.log_end = len(records)
        self._note_durable(0)
        self.version += 1

    def remove_before(self, offset: int) -> None:
        if offset > self.log_start:
            self.log_start = self.records[offset].batch_start if offset < len(self.records) else offset
            self.epochs.remove_before(self.log_start)
            if self.rotten is not None and self.rotten < self.log_start:
                self.rotten = None
            self.version += 1

    def crash(self, random: Random, *, is_power_loss: bool) -> None:
        """A killed process leaves what the kernel had been given; a power loss may leave less. Recovery makes durable
        what it finds, before it reports anything."""
        end = self._durable_end
        if not is_power_loss:
            end = random.randint(end, len(self.records))
        if end < len(self.records):
            self._cut(self.records[end].batch_start)
        before, self._durable_end = self._durable_end, len(self.records)
        self._note_durable(before)

    def read(self, offset: int, until: int, bytes_max: int, *, takes_one: bool) -> bytes:
        data = b""
        while self.log_start <= offset < min(until, len(self.records)):
            first = self.records[offset]
            assert first.batch_start == offset, "a position in the middle of a batch"
            end = offset
            while end < len(self.records) and self.records[end].batch_start == offset:
                end += 1
            if self.rotten is not None and offset <= self.rotten < end:
                self.has_met_rot = True
                break
            values = [record.value for record in self.records[offset:end]]
            encoded = msgspec.msgpack.encode(Batch(offset, first.epoch, values))
            encoded = len(encoded).to_bytes(4, "big") + encoded
            if len(data) + len(encoded) > bytes_max and (data or not takes_one):
                break
            data += encoded
            offset = end
        return data

    def _note_durable(self, before: int) -> None:
        self.ever_durable.update((end, self.records[end - 1]) for end in range(before + 1, self._durable_end + 1))

    def _cut(self, end: int) -> None:
        del self.records[end:]
        self._durable_end = min(self._durable_end, end)
        if self.rotten is not None and self.rotten >= end:
            self.rotten = None
        self.epochs.truncate_to(end)
        self.epochs.log_end = end
        self.version += 1


def decode_batches(data: bytes | memoryview) -> list[Batch]:
    """What `read` returned."""
    batches = []
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        batches.append(msgspec.msgpack.decode(data[at + 4 : end], type=Batch))
        at = end
    return batches
