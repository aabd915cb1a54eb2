"""What one task reads: a range of offsets of one partition. All of it pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """The offsets `start` (inclusive) to `end` (exclusive) of a partition of the topic with this id.

    Read twice it gives the same rows: it lies below the high watermark that held when it was pinned.
    """

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int

    @property
    def length(self) -> int:
        """How many offsets there are; messages may be fewer."""
        return max(0, self.end - self.start)

    @property
    def is_empty(self) -> bool:
        return self.end <= self.start

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}[{self.start}, {self.end})"

    def within(self, start: int | None, end: int | None) -> "OffsetRange":
        """What of it lies in [start, end); None is no bound."""
        low = self.start if start is None else max(self.start, start)
        high = self.end if end is None else min(self.end, end)
        return replace(self, start=low, end=max(low, high))


@dataclass(frozen=True, slots=True)
class PinnedPartition:
    """A partition as it was when the plan was made: what to read of it, and how large its messages are on average.

    `bytes_per_offset` is the stored size of the whole partition over its offsets; at least 1.
    """

    range: OffsetRange
    bytes_per_offset: float
    log_start: int
    high_watermark: int

    @property
    def size_bytes(self) -> int:
        """About how many bytes the range has."""
        return round(self.range.length * self.bytes_per_offset)


def split(
    whole: OffsetRange, *, bytes_per_offset: float, bytes_max: int, tail_fraction: float = 0.25
) -> list[OffsetRange]:
    """The range in slices of about `bytes_max` bytes, cut at offsets that depend on the arguments only."""
    length = slice_length(bytes_per_offset=bytes_per_offset, bytes_max=bytes_max)
    return split_evenly(whole, length, tail_fraction=tail_fraction)


def slice_length(*, bytes_per_offset: float, bytes_max: int) -> int:
    """How many offsets have about `bytes_max` bytes, at least 1."""
    return max(1, int(bytes_max / max(bytes_per_offset, 1e-9)))


def split_evenly(whole: OffsetRange, length: int, *, tail_fraction: float = 0.25) -> list[OffsetRange]:
    """The range in slices of `length` offsets but for the last one. One shorter than `tail_fraction` of the others is
    joined with the one before."""
    if whole.is_empty:
        return []
    cuts = list(range(whole.start, whole.end, length))
    if len(cuts) > 1 and whole.end - cuts[-1] < length * tail_fraction:
        cuts.pop()
    ends = [*cuts[1:], whole.end]
    return [replace(whole, start=start, end=end) for start, end in zip(cuts, ends, strict=True)]


def split_all(pinned: Iterable[PinnedPartition], *, bytes_max: int) -> list[OffsetRange]:
    """`split` of each partition, in order."""
    return [
        slice_
        for each in pinned
        for slice_ in split(each.range, bytes_per_offset=each.bytes_per_offset, bytes_max=bytes_max)
    ]


def limited(ranges: Sequence[OffsetRange], *, messages_max: int) -> list[OffsetRange]:
    """The ranges cut short at their ends so that there are at most `messages_max` offsets together, in proportion to
    how many each has; every range that is not empty keeps at least one while there are any left."""
    total = sum(each.length for each in ranges)
    if total <= messages_max:
        return list(ranges)
    shares = [each.length * messages_max // total for each in ranges]
    left = messages_max - sum(shares)
    # The remainder goes to the fullest first, so that no partition starves behind a larger one.
    for index in sorted(range(len(ranges)), key=lambda number: (shares[number] > 0, -ranges[number].length, number)):
        if left and shares[index] < ranges[index].length:
            shares[index] += 1
            left -= 1
    return [replace(each, end=each.start + share) for each, share in zip(ranges, shares, strict=True)]
