"""Invariants of the log: what is acknowledged is there, once, in order, for good."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tests.sim.checkers import Place, final_records, highest_before, place_of
from tests.sim.history import Delivered, History, LogRead, MessageLooked, Outcome, ProgressRead, RecordsRead, Sent


class AcknowledgedIsInTheLog:
    """1. A message whose send was answered with success is in the log, at its offset, with its bytes and epoch."""

    def check(self, history: History) -> list[str]:
        stored = dict(final_records(history))
        violations = []
        for sent in history.of(Sent):
            if sent.outcome is not Outcome.OK or sent.offset < 0:
                continue
            record = stored.get(place_of(sent))
            if record is None:
                violations.append(f"{sent.uid} was acknowledged at {place_of(sent)}, there is nothing")
            elif (record.uid, record.body) != (sent.uid, sent.body):
                violations.append(f"{sent.uid} was acknowledged at {place_of(sent)}, there is {record.uid}")
            elif record.epoch != sent.epoch:
                violations.append(f"{sent.uid} was acknowledged with epoch {sent.epoch}, it has {record.epoch}")
        return violations


class NothingAppearsByItself:
    """4, 14. Every message in the log was sent, with these bytes, and not only by sends that failed (aborted read)."""

    def __init__(self, *, ignored_queues: Iterable[str] = ()) -> None:
        self._ignored_queues = frozenset(ignored_queues)

    def check(self, history: History) -> list[str]:
        bodies: dict[tuple[str, str], str] = {}
        possible: dict[tuple[str, str], bool] = defaultdict(bool)
        for sent in history.of(Sent):
            bodies[sent.queue, sent.uid] = sent.body
            possible[sent.queue, sent.uid] |= sent.outcome is not Outcome.FAILED
        violations = []
        for place, record in final_records(history):
            queue = place[0]
            if queue in self._ignored_queues:
                continue
            if (queue, record.uid) not in bodies:
                violations.append(f"{record.uid} at {place} was never sent")
            elif bodies[queue, record.uid] != record.body:
                violations.append(f"{record.uid} at {place} has another body than was sent")
            elif not possible[queue, record.uid]:
                violations.append(f"{record.uid} is at {place} though every send of it failed")
        return violations


class NothingTwice:
    """A message is in the log at most as often as it was sent without a certain failure.

    With a dedup id: at most once, if all its sends lie within one window (6).
    """

    def __init__(self, *, dedup_window_ms: float, ignored_queues: Iterable[str] = ()) -> None:
        self._dedup_window_ms = dedup_window_ms
        self._ignored_queues = frozenset(ignored_queues)

    def check(self, history: History) -> list[str]:
        sends: dict[tuple[str, str], list[Sent]] = defaultdict(list)
        for sent in history.of(Sent):
            sends[sent.queue, sent.uid].append(sent)
        copies: dict[tuple[str, str], int] = defaultdict(int)
        for place, record in final_records(history):
            if place[0] not in self._ignored_queues:
                copies[place[0], record.uid] += 1
        violations = []
        for (queue, uid), count in copies.items():
            allowed = self._allowed(sends[queue, uid])
            if count > allowed:
                violations.append(f"{uid} is {count} times in {queue}, its sends allow {allowed}")
        return violations

    def _allowed(self, sends: list[Sent]) -> int:
        effective = [sent for sent in sends if sent.outcome is not Outcome.FAILED]
        if not effective or any(sent.dedup_id is None for sent in effective):
            return len(effective)
        first = min(sent.began_ms for sent in effective)
        last = max(sent.ended_ms for sent in effective)
        return 1 if last - first < self._dedup_window_ms else len(effective)


class DuplicatesGetTheFirstAnswer:
    """6, R28. Every successful send of one dedup id within the window is answered with the same place."""

    def __init__(self, *, dedup_window_ms: float) -> None:
        self._dedup_window_ms = dedup_window_ms

    def check(self, history: History) -> list[str]:
        firsts: dict[tuple[str, str], Sent] = {}
        violations = []
        for sent in history.of(Sent):
            if sent.outcome is not Outcome.OK or sent.dedup_id is None:
                continue
            first = firsts.setdefault((sent.queue, sent.dedup_id), sent)
            if sent.ended_ms - first.began_ms < self._dedup_window_ms and place_of(sent) != place_of(first):
                violations.append(f"{sent.dedup_id} was answered with {place_of(first)}, then with {place_of(sent)}")
        return violations


class SendersKeepTheirOrder:
    """8. What a sender sends in one request after the other stands in this order within each partition; within a
    request that goes for the messages of one key, and for those without any (rule: no key, no order towards others)."""

    def check(self, history: History) -> list[str]:
        times_sent: dict[tuple[str, str], int] = defaultdict(int)
        for sent in history.of(Sent):
            times_sent[sent.queue, sent.uid] += 1
        lines: dict[tuple[str, str, int], list[Sent]] = defaultdict(list)
        for sent in history.of(Sent):
            is_once = times_sent[sent.queue, sent.uid] == 1
            if sent.outcome is Outcome.OK and sent.offset >= 0 and is_once:
                lines[sent.sender, sent.queue, sent.partition].append(sent)
        violations = []
        for (sender, queue, partition), line in lines.items():
            for earlier, later in self._misplaced(line):
                violations.append(
                    f"{sender} sent {earlier.uid} before {later.uid}, they are at {earlier.offset} and "
                    f"{later.offset} of {queue}/{partition}"
                )
        return violations

    @staticmethod
    def _misplaced(line: list[Sent]) -> Iterator[tuple[Sent, Sent]]:
        highest: Sent | None = None  # of all requests before this one
        highest_here: dict[tuple[int, str | None, bool], Sent] = {}
        here: list[Sent] = []
        for sent in sorted(line, key=lambda sent: (sent.request, sent.index)):
            if here and here[0].request != sent.request:
                highest = max([*here, *([highest] if highest else [])], key=lambda each: each.offset)
                here = []
            here.append(sent)
            if highest is not None and highest.offset >= sent.offset:
                yield highest, sent
            line_here = (sent.request, sent.key, sent.key is None and sent.dedup_id is None)
            same = highest_here.get(line_here)
            if same is not None and same.offset >= sent.offset:
                yield same, sent
            else:
                highest_here[line_here] = sent


class LogNeverChanges:
    """4, 14. Whoever looks at an offset, whenever, sees the same message with the same epoch."""

    def check(self, history: History) -> list[str]:
        seen: dict[Place, tuple[int, str, str]] = {}
        violations = []
        for place, content in self._sights(history):
            first = seen.setdefault(place, content)
            if first != content:
                violations.append(f"{place} held {first[1]} of epoch {first[0]}, then {content[1]} of {content[0]}")
        return violations

    def _sights(self, history: History) -> Iterator[tuple[Place, tuple[int, str, str]]]:
        for event in history.events:
            if isinstance(event, LogRead | RecordsRead):
                for record in event.records:
                    yield (event.queue, event.partition, record.offset), (record.epoch, record.uid, record.body)
            elif isinstance(event, Delivered | MessageLooked):
                yield place_of(event), (event.epoch, event.uid, event.body)


class LogHasNoGaps:
    """Offsets follow each other without a gap from the log's start to its high watermark, and epochs never fall."""

    def check(self, history: History) -> list[str]:
        violations = []
        for read in history.of(LogRead):
            where = f"{read.queue}/{read.partition}"
            for earlier, later in pairwise(read.records):
                if later.offset != earlier.offset + 1:
                    violations.append(f"{where}: {earlier.offset} is followed by {later.offset}")
                if later.epoch < earlier.epoch:
                    violations.append(f"{where}: epoch {earlier.epoch} is followed by {later.epoch}")
            if read.is_final and read.next_offset != read.high_watermark:
                violations.append(f"{where}: the log ends at {read.next_offset}, not at {read.high_watermark}")
        return violations


class HighWatermarkNeverFalls:
    """2. Of two looks at a partition, one after the other, the later one sees no lower high watermark."""

    def check(self, history: History) -> list[str]:
        looks: dict[tuple[str, int], list[LogRead | ProgressRead]] = defaultdict(list)
        for event in history.events:
            if isinstance(event, LogRead | ProgressRead):
                looks[event.queue, event.partition].append(event)
        violations = []
        for (queue, partition), found in looks.items():
            for earlier, later in highest_before(found, lambda look: look.high_watermark):
                if later.high_watermark < earlier.high_watermark:
                    violations.append(
                        f"{queue}/{partition}: the high watermark fell from {earlier.high_watermark} "
                        f"to {later.high_watermark}"
                    )
        return violations


class EpochsNeverFall:
    """3. A partition's leader epoch, as the node tells it, never falls."""

    def check(self, history: History) -> list[str]:
        looks: dict[tuple[str, int], list[ProgressRead]] = defaultdict(list)
        for event in history.of(ProgressRead):
            looks[event.queue, event.partition].append(event)
        return [
            f"{queue}/{partition}: the leader epoch fell from {earlier.leader_epoch} to {later.leader_epoch}"
            for (queue, partition), found in looks.items()
            for earlier, later in highest_before(found, lambda look: look.leader_epoch)
            if later.leader_epoch < earlier.leader_epoch
        ]


class NothingAboveTheHighWatermark:
    """5. No read returns a record at or above the high watermark that it tells, nor a place beyond it to go on at;
    and nothing is delivered, or read, that the log does not hold in the end."""

    def check(self, history: History) -> list[str]:
        violations = []
        reads: list[LogRead | RecordsRead] = [*history.of(LogRead), *history.of(RecordsRead)]
        for read in reads:
            ends = [record.offset + 1 for record in read.records] + [read.next_offset]
            if max(ends) > read.high_watermark:
                violations.append(
                    f"{read.queue}/{read.partition}: a read at high watermark {read.high_watermark} went to {max(ends)}"
                )
        ends_of = {(read.queue, read.partition): read.high_watermark for read in history.of(LogRead) if read.is_final}
        for delivered in history.of(Delivered):
            end = ends_of.get((delivered.queue, delivered.partition))
            if end is not None and delivered.offset >= end:
                violations.append(f"{place_of(delivered)} was delivered, the log ends at {end}")
        for page in history.of(RecordsRead):
            end = ends_of.get((page.queue, page.partition))
            if end is not None and page.high_watermark > end:
                violations.append(
                    f"{page.reader} was told a high watermark of {page.high_watermark} for {page.queue}/"
                    f"{page.partition}, the log ends at {end}"
                )
        return violations
