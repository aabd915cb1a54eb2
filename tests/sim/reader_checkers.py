"""What readers of the log may rely on over HTTP: what was acknowledged is there to be read, and the log's end never
moves back (rule R35)."""

from bisect import bisect_left
from collections import defaultdict

from tests.sim.checkers import place_of
from tests.sim.history import (
    Delivered,
    EndListed,
    History,
    MessageLooked,
    Outcome,
    ReadRefused,
    RecordsRead,
    Sent,
)

Partition = tuple[str, int]  # queue, partition
NOT_RETRIABLE = frozenset({"OFFSET_OUT_OF_RANGE", "MESSAGE_NOT_FOUND"})
"""What says for good that there is nothing."""


class KnownEnds:
    """Up to where each partition was known to be committed, and since when: some client had been told."""

    def __init__(self, history: History) -> None:
        told: dict[Partition, list[tuple[float, int]]] = defaultdict(list)
        for event in history.events:
            if (isinstance(event, Sent) and event.outcome is Outcome.OK and event.offset >= 0) or isinstance(
                event, Delivered | MessageLooked
            ):
                told[event.queue, event.partition].append((event.ended_ms, event.offset + 1))
            elif isinstance(event, RecordsRead) and event.records:
                told[event.queue, event.partition].append((event.ended_ms, event.records[-1].offset + 1))
        self._moments: dict[Partition, list[float]] = {}
        self._ends: dict[Partition, list[int]] = {}
        for place, found in told.items():
            highest = 0
            self._moments[place], self._ends[place] = [], []
            for at_ms, end in sorted(found):
                highest = max(highest, end)
                self._moments[place].append(at_ms)
                self._ends[place].append(highest)

    def before(self, place: Partition, at_ms: float) -> int:
        """What was known before a request that began then."""
        count = bisect_left(self._moments.get(place, []), at_ms)
        return self._ends[place][count - 1] if count else 0


class AcknowledgedIsReadable:
    """14. What somebody was told to be in the log before a read began is not denied to it: "out of range" and "not
    found" are said by who knows better only. Who reads from the leader is given it, too; a replica that is near may
    be a little behind."""

    def check(self, history: History) -> list[str]:
        known = KnownEnds(history)
        violations = []
        for refused in history.of(ReadRefused):
            end = known.before((refused.queue, refused.partition), refused.began_ms)
            if refused.code in NOT_RETRIABLE and refused.offset < end:
                violations.append(
                    f"{refused.reader} was told {refused.code} for {place_of(refused)}, {end} were known to be there"
                )
            elif refused.code == "OFFSET_OUT_OF_RANGE" and refused.offset == end:
                violations.append(f"{refused.reader} was told {refused.code} for the end {place_of(refused)}")
        for read in history.of(RecordsRead):
            end = known.before((read.queue, read.partition), read.began_ms)
            if not read.records and not read.is_nearest and read.offset < end:
                violations.append(
                    f"{read.reader} was given nothing from {place_of(read)} on, {end} were known to be there"
                )
        for listed in history.of(EndListed):
            end = known.before((listed.queue, listed.partition), listed.began_ms)
            if listed.high_watermark < end:
                violations.append(
                    f"{listed.reader} was told that {listed.queue}/{listed.partition} ends at "
                    f"{listed.high_watermark}, {end} were known to be there"
                )
        return violations


class ReadersNeverSeeTheEndFall:
    """2. One reader, who asks one gateway one thing after the other, is told no lower high watermark than before. A
    replica that is near may be behind the leader, but not behind where the reader has come to."""

    def check(self, history: History) -> list[str]:
        ends: dict[tuple[str, str, int], int] = defaultdict(int)
        reached: dict[tuple[str, str, int], int] = defaultdict(int)
        violations = []
        for event in history.events:
            if not isinstance(event, RecordsRead | EndListed):
                continue
            who = (event.reader, event.queue, event.partition)
            is_nearest = isinstance(event, RecordsRead) and event.is_nearest
            least = (event.offset if isinstance(event, RecordsRead) else 0) if is_nearest else ends[who]
            if event.high_watermark < least:
                violations.append(f"{who}: the high watermark fell from {least} to {event.high_watermark}")
            if not is_nearest:
                ends[who] = max(ends[who], event.high_watermark)
            if isinstance(event, RecordsRead):
                reached[who] = max(reached[who], event.next_offset)
                ends[who] = max(ends[who], reached[who])
        return violations


class PagesBeginWhereTheyWereAsked:
    """5. A page holds what follows its offset without a gap, and goes on behind its last record."""

    def check(self, history: History) -> list[str]:
        violations = []
        for read in history.of(RecordsRead):
            offsets = [record.offset for record in read.records]
            if offsets != list(range(read.offset, read.next_offset)):
                violations.append(f"{read.reader} asked {place_of(read)}, to {read.next_offset}, and got {offsets}")
        return violations
