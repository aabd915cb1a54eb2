"""A group that sees, with a log of messages, a host that shows it what it wants and writes at once, and failovers."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from cluster.model.values import GroupSettings
from storage.delivery.candidates import CandidateIndex, WantedRange
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupInPartition, GroupTerms, ReceiveDecision
from storage.delivery.leases import Lease
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import Skipped, Started, decode_records, encode_records
from storage.delivery.seeing_selection import Chooser, SeeingSelection
from storage.delivery.selection import GroupSelection, NewSelection, SharedSelection

GROUP = "group00000000"


@dataclass(frozen=True)
class Seeing:
    new_chooser: Callable[[], Chooser]

    def __call__(self) -> GroupSelection:
        return SeeingSelection(self.new_chooser())


class SeeingBench:
    """`log` is what is in the partition, run by run; one feed shows `batch` offsets."""

    def __init__(
        self,
        log: list[Run],
        new_chooser: Callable[[], Chooser],
        *,
        bounds: DeliverySettings | None = None,
        settings: GroupSettings | None = None,
        batch: int = 100,
    ) -> None:
        self.log = log
        self.now_ms = 1000
        self.records: list[bytes] = []
        self.feeds = 0
        self._bounds = bounds or DeliverySettings()
        self._terms = GroupTerms(settings=settings or GroupSettings(retry_backoff_min_ms=1000, max_attempts=5))
        self._selections: dict[GroupTerms, NewSelection] = {self._terms: Seeing(new_chooser)}
        self._batch = batch
        self._shown: Callable[[Run], Run] = lambda run: run
        self._leader_epoch = 0
        self.fail_over()
        self.write(Started(GROUP, log[0].start if log else 0))

    @property
    def readable_end(self) -> int:
        return self.log[-1].end if self.log else 0

    @property
    def group(self) -> GroupInPartition:
        group = self.partition.group(GROUP)
        assert group is not None
        group.follow(self._terms)
        return group

    def set_otherwise(self, selection: NewSelection) -> None:
        """The group's settings change, and what it selects by."""
        settings = self._terms.settings
        self._terms = GroupTerms(settings=replace(settings, visibility_ms=settings.visibility_ms + 1))
        self._selections[self._terms] = selection

    def show_otherwise(self, shown: Callable[[Run], Run]) -> None:
        """What groups see of a run: a host keeps an index for each way of looking."""
        self._shown = shown
        self.index = CandidateIndex(runs_max=self._bounds.candidate_runs_max)

    def fail_over(self, snapshot: bytes = b"", replayed_from: int = 0) -> None:
        """A new leader, of the records, or of a snapshot and the records behind it."""
        self._leader_epoch += 1
        self.index = CandidateIndex(runs_max=self._bounds.candidate_runs_max)
        self.partition = PartitionDelivery(
            leader_epoch=self._leader_epoch,
            groups_max=1,
            settings=self._bounds,
            group_factory=self._new_group,
        )
        if snapshot:
            self.partition.restore(snapshot, now_ms=self.now_ms, wall_now_ms=self.now_ms)
        for data in self.records[replayed_from:]:
            self._apply(data)

    def _new_group(
        self, group_id: str, *, leader_epoch: int, start_offset: int, bounds: DeliverySettings
    ) -> GroupInPartition:
        return GroupDelivery(
            group_id,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            bounds=bounds,
            selection_for=lambda terms: self._selections.get(terms, SharedSelection),
        )

    def write(self, record) -> None:
        if record is not None:
            self.records.append(encode_records([record]))
            self._apply(self.records[-1])

    def _apply(self, data: bytes) -> None:
        self.partition.apply(decode_records(data), now_ms=self.now_ms, wall_now_ms=self.now_ms)
        self.partition.check_invariants()

    def skips(self) -> list[Skipped]:
        records = [record for data in self.records for record in decode_records(data)]
        return [record for record in records if isinstance(record, Skipped)]

    def feed(self, wanted: WantedRange) -> None:
        assert wanted.start < wanted.end <= self.readable_end
        end = min(wanted.start + self._batch, wanted.end)
        shown = [
            self._shown(run).part(wanted.start, end) for run in self.log if run.start < end and run.end > wanted.start
        ]
        self.index.feed(wanted.start, end, shown)
        assert self.index.run_count <= self._bounds.candidate_runs_max
        self.feeds += 1

    def ask(self, max_messages: int = 1) -> ReceiveDecision:
        received = self.group.receive(
            self.index,
            consumer="c",
            max_messages=max_messages,
            visibility_ms=100,
            readable_end=self.readable_end,
            now_ms=self.now_ms,
        )
        self.partition.check_invariants()
        return received

    def receive(self, max_messages: int = 1) -> list[Lease]:
        """As a host does it: show, record, go on."""
        steps_max = 10 + 3 * (self.readable_end + 1)
        for _ in range(steps_max):
            received = self.ask(max_messages)
            self.write(received.skipped)
            if received.leases:
                return received.leases
            if received.wanted is not None:
                self.feed(received.wanted)
            elif received.skipped is None:
                return []
        raise AssertionError(f"it still looks after {steps_max} steps")

    def receive_offsets(self, max_messages: int = 1) -> list[int]:
        return [lease.offset for lease in self.receive(max_messages)]

    def ack(self, *leases: Lease) -> list[str]:
        settlement = self.group.ack(leases, readable_end=self.readable_end)
        self.write(settlement.record)
        return ["" if code is None else code.name for code in settlement.results]

    def nack(self, *leases: Lease, delay_ms: int = 0) -> None:
        self.write(
            self.group.nack(
                leases, delay_ms=delay_ms, jitter=0.0, readable_end=self.readable_end, wall_now_ms=self.now_ms
            ).record
        )

    def expire(self) -> None:
        self.write(self.group.expire(now_ms=self.now_ms, wall_now_ms=self.now_ms, limit=1000))

    def state(self, offset: int) -> str:
        return self.group.describe(offset, readable_end=self.readable_end, now_ms=self.now_ms).state


def messages(*kinds: tuple[int, int], start: int = 0) -> list[Run]:
    """A run of one message for each (key hash, tag bits)."""
    return [
        Run(offset, offset + 1, key_hash=key_hash, tag_bits=tag_bits)
        for offset, (key_hash, tag_bits) in enumerate(kinds, start)
    ]
