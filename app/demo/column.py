"""A number per log position, packed: offsets are dense, so a partition is an array."""

from array import array
from collections.abc import Iterator

ABSENT = -1
_ABSENT_ONCE = array("q", [ABSENT])  # most numbers come one behind the other
OFFSET_MAX = 50_000_000  # per partition; a stray offset must not make an array of gigabytes


class OffsetColumn:
    """Whole numbers from 0 to 2**63 - 1 by (partition, offset)."""

    def __init__(self) -> None:
        self._partitions: dict[int, array[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, partition: int, offset: int) -> int:
        """The number there, ABSENT if there is none."""
        values = self._partitions.get(partition)
        return values[offset] if values is not None and 0 <= offset < len(values) else ABSENT

    def put(self, partition: int, offset: int, value: int) -> None:
        """Raises ValueError for a place or a value out of bounds."""
        if not 0 <= offset <= OFFSET_MAX or value < 0:
            raise ValueError(f"partition {partition}, offset {offset}, value {value} is out of bounds")
        values = self._partitions.setdefault(partition, array("q"))
        missing = offset + 1 - len(values)
        if missing > 0:
            values.extend(_ABSENT_ONCE if missing == 1 else [ABSENT] * missing)
        if values[offset] == ABSENT:
            self._count += 1
        values[offset] = value

    def partitions(self) -> list[int]:
        """Those that hold any number, ascending."""
        return sorted(self._partitions)

    def items(self) -> Iterator[tuple[int, int, int]]:
        """(partition, offset, value), by partition and offset."""
        for partition in sorted(self._partitions):
            for offset, value in enumerate(self._partitions[partition]):
                if value != ABSENT:
                    yield partition, offset, value
