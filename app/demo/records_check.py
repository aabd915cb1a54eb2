"""The log, read from its start to its end, against what was sent."""

from app.demo.column import ABSENT, OffsetColumn
from app.demo.findings import PromiseCheck
from app.demo.send_ledger import SendLedger


class RecordsCheck:
    """Fed with every record of every partition, in the order in which the server gives them."""

    def __init__(self, sent: SendLedger) -> None:
        self._sent = sent
        self._seen = OffsetColumn()
        self._next_offset: dict[int, int] = {}
        self._last_of_key: dict[str, int] = {}
        self._partition_of_key: dict[str, int] = {}
        self._bytes = PromiseCheck("every acknowledged send is at its offset with its bytes")
        self._once = PromiseCheck("nothing is in the log twice, nor anything that was not sent")
        self._order = PromiseCheck("the log keeps each key's order, in one partition")
        self._gaps = PromiseCheck("offsets go up by one, from 0 to the high watermark")

    def record(self, partition: int, offset: int, key: str | None, digest: int) -> None:
        """One record of the log."""
        self._check_offset(partition, offset)
        place = f"{partition}/{offset}"
        self._once.examined += 1
        if self._seen.get(partition, offset) != ABSENT:
            self._once.violated(f"{place} was read twice")
            return
        if self._sent.index_at(partition, offset) == ABSENT:
            self._once.violated(f"{place} holds a record that no send was acknowledged for")
            return
        self._seen.put(partition, offset, 1)
        self._bytes.examined += 1
        if digest != self._sent.digest_at(partition, offset):
            self._bytes.violated(f"{place} holds other bytes than were sent")
        if key is not None:
            self._check_order(partition, offset, key)

    def end(self, partition: int, high_watermark: int) -> None:
        """The partition has been read to its end."""
        found = self._next_offset.setdefault(partition, 0)
        self._gaps.expect_equal(f"end of partition {partition}", found=found, expected=high_watermark)

    def findings(self) -> list[PromiseCheck]:
        """After the last `end`."""
        for partition, offset, index in self._sent.places().items():
            if self._seen.get(partition, offset) == ABSENT:
                self._bytes.violated(f"message {index}, acknowledged at {partition}/{offset}, is not in the log")
        return [self._bytes, self._once, self._order, self._gaps]

    def _check_offset(self, partition: int, offset: int) -> None:
        expected = self._next_offset.get(partition, 0)
        self._gaps.examined += 1
        if offset != expected:
            self._gaps.violated(f"partition {partition} goes on at {offset} where {expected} was expected")
        self._next_offset[partition] = offset + 1

    def _check_order(self, partition: int, offset: int, key: str) -> None:
        self._order.examined += 1
        index = self._sent.index_at(partition, offset)
        if self._sent.key_of(index) != key:
            self._order.violated(f"{partition}/{offset} has the key {key!r}, {self._sent.key_of(index)!r} was sent")
            return
        home = self._partition_of_key.setdefault(key, partition)
        if home != partition:
            self._order.violated(f"key {key!r} is in the partitions {home} and {partition}")
        last = self._last_of_key.get(key, -1)
        if index <= last:
            self._order.violated(f"key {key!r}: message {index} stands behind message {last}")
        self._last_of_key[key] = max(index, last)
