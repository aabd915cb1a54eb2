"""A group with a host that writes at once: decide, encode, decode, apply."""

from collections.abc import Iterable

from acklog.wire.problems import ProblemCode
from cluster.model.values import GroupSettings
from storage.delivery.candidates import CandidateIndex
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupTerms, ReceiveDecision
from storage.delivery.leases import Lease
from storage.delivery.records import decode_records, encode_records
from storage.delivery.selection import SharedSelection

GROUP = "group00000000"
READABLE_END = 1000


class GroupBench:
    """Time stands still unless `now_ms` is set; the wall clock runs with it."""

    def __init__(
        self,
        *,
        leader_epoch: int = 1,
        settings: GroupSettings | None = None,
        delivery_settings: DeliverySettings | None = None,
        start_offset: int = 0,
    ) -> None:
        self.now_ms = 1000
        self.readable_end = READABLE_END
        self.log: list[bytes] = []
        self._start_offset = start_offset
        self._settings = settings or GroupSettings(retry_backoff_min_ms=1000)
        self._delivery_settings = delivery_settings or DeliverySettings()
        self.group = self._new_group(leader_epoch)

    def _new_group(self, leader_epoch: int) -> GroupDelivery:
        group = GroupDelivery(
            GROUP,
            leader_epoch=leader_epoch,
            start_offset=self._start_offset,
            bounds=self._delivery_settings,
            selection_for=lambda _terms: SharedSelection,
        )
        group.follow(GroupTerms(settings=self._settings))
        return group

    @property
    def wall_now_ms(self) -> int:
        return self.now_ms + 1_000_000

    def write(self, record) -> None:
        if record is not None:
            self.log.append(encode_records([record]))
            self._apply(self.log[-1])

    def abort(self, record) -> None:
        self.group.abort(record, now_ms=self.now_ms)

    def fail_over(self) -> None:
        """A new leader replays the log."""
        self.group = self._new_group(self.group.leader_epoch + 1)
        for data in self.log:
            self._apply(data)

    def _apply(self, data: bytes) -> None:
        for record in decode_records(data):
            self.group.apply(record, now_ms=self.now_ms, wall_now_ms=self.wall_now_ms)
        self.group.check_invariants()

    def ask(self, max_messages: int, *, visibility_ms: int = 30_000, consumer: str = "c") -> ReceiveDecision:
        return self.group.receive(
            CandidateIndex(runs_max=1),
            consumer=consumer,
            max_messages=max_messages,
            visibility_ms=visibility_ms,
            readable_end=self.readable_end,
            now_ms=self.now_ms,
        )

    def receive(self, max_messages: int = 1, *, visibility_ms: int = 30_000, consumer: str = "c") -> list[Lease]:
        """Shared groups pass over nothing: an earlier version can read all that they write."""
        received = self.ask(max_messages, visibility_ms=visibility_ms, consumer=consumer)
        self.group.check_invariants()
        assert (received.skipped, received.wanted) == (None, None)
        return received.leases

    def decide_ack(self, items: Iterable[Lease]):
        return self.group.ack(items, readable_end=self.readable_end)

    def ack(self, *items: Lease) -> list[ProblemCode | None]:
        settlement = self.decide_ack(items)
        self.write(settlement.record)
        return settlement.results

    def decide_nack(self, items: Iterable[Lease], delay_ms: int | None = 0, jitter: float = 0.0):
        return self.group.nack(
            items,
            delay_ms=delay_ms,
            jitter=jitter,
            readable_end=self.readable_end,
            wall_now_ms=self.wall_now_ms,
        )

    def nack(self, *items: Lease, delay_ms: int | None = 0, jitter: float = 0.0) -> list[ProblemCode | None]:
        settlement = self.decide_nack(items, delay_ms, jitter)
        self.write(settlement.record)
        return settlement.results

    def extend(self, *items: Lease, visibility_ms: int) -> list[ProblemCode | None]:
        settlement = self.group.extend(
            items,
            visibility_ms=visibility_ms,
            readable_end=self.readable_end,
            now_ms=self.now_ms,
            wall_now_ms=self.wall_now_ms,
        )
        self.write(settlement.record)
        return settlement.results

    def decide_expire(self, limit: int = 1000):
        return self.group.expire(now_ms=self.now_ms, wall_now_ms=self.wall_now_ms, limit=limit)

    def expire(self) -> None:
        self.write(self.decide_expire())

    def ack_by_message_id(self, offset: int) -> ProblemCode | None:
        return self.ack(Lease(offset, 0, 0, 0))[0]

    def due_letters(self, *, now_ms: int) -> list[tuple[int, int, int]]:
        """Without how they failed."""
        return [letter[:3] for letter in self.group.dead_letters(limit=10, now_ms=now_ms)]

    def state(self, offset: int) -> str:
        return self.group.describe(offset, readable_end=self.readable_end, now_ms=self.now_ms).state

    def reason(self) -> str:
        return self.group.empty_reason(readable_end=self.readable_end, now_ms=self.now_ms)
