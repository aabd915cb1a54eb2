"""Why messages failed: what is remembered of it, and what is left of that by a new leader."""

import msgspec

from acklog.wire.failure_reason import FailureReason
from cluster.model.values import GroupSettings
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.failures import REASON_OVERHEAD_BYTES, FailureHistory, FailureReasons
from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.leases import Lease
from storage.delivery.partition_delivery import decode_snapshot, encode_snapshot
from storage.delivery.records import Returned, decode_records
from tests.unit.storage.delivery.group import GroupBench


def fail(bench: GroupBench, reason: str, *, consumer: str = "ada") -> Lease:
    (lease,) = bench.receive(1, consumer=consumer)
    settlement = bench.group.nack(
        [lease],
        delay_ms=0,
        jitter=0.0,
        readable_end=bench.readable_end,
        wall_now_ms=bench.wall_now_ms,
        reason=reason,
    )
    assert settlement.results == [None]
    bench.write(settlement.record)
    return lease


def history(bench: GroupBench, offset: int = 0) -> FailureHistory:
    return bench.group.describe(offset, readable_end=bench.readable_end, now_ms=bench.now_ms).history


def restored(bench: GroupBench) -> GroupBench:
    """By a new leader, from a snapshot of now."""
    data = encode_snapshot([bench.group.snapshot()])
    other = GroupBench(leader_epoch=2)
    [snapshot] = decode_snapshot(data)
    other.group.restore(snapshot, now_ms=bench.now_ms, wall_now_ms=bench.wall_now_ms)
    assert encode_snapshot([other.group.snapshot()]) == data
    return other


class TestHistory:
    def test_says_when_by_whom_and_why(self) -> None:
        bench = GroupBench()
        assert history(bench) == FailureHistory()
        fail(bench, "no customer")
        first_ms = bench.wall_now_ms
        bench.now_ms += 500
        fail(bench, "still none", consumer="ben")
        expected = FailureHistory(
            first_ms,
            first_ms + 500,
            "ben",
            (FailureReason(1, first_ms, "no customer"), FailureReason(2, first_ms + 500, "still none")),
        )
        assert history(bench) == expected
        bench.receive(1, consumer="eva")
        assert history(bench) == expected, "who has it now is told beside it"
        assert history(restored(bench)) == expected
        bench.fail_over()
        assert history(bench) == expected

    def test_a_lease_that_ran_out_has_a_consumer_and_no_reason(self) -> None:
        bench = GroupBench()
        bench.receive(1, visibility_ms=10, consumer="ada")
        bench.now_ms += 10
        bench.expire()
        told = history(bench)
        assert (told.last_consumer, told.last_ms, told.reasons) == ("ada", bench.wall_now_ms, ())

    def test_given_back_again_by_the_same_receipt_is_the_same_attempt(self) -> None:
        bench = GroupBench()
        lease = fail(bench, "first said")
        at_ms = bench.wall_now_ms
        for reason in ("then said", ""):
            again = bench.group.nack(
                [lease], delay_ms=0, jitter=0.0, readable_end=9, wall_now_ms=bench.wall_now_ms, reason=reason
            )
            bench.write(again.record)
            told = history(bench)
            assert (told.last_consumer, told.reasons) == ("ada", (FailureReason(1, at_ms, "then said"),))
        bench._apply(bench.log[0])
        bench._apply(bench.log[0])
        assert len(history(bench).reasons) == 1, "a record that is replayed changes nothing"

    def test_after_a_failover_the_consumer_of_a_receipt_is_not_known(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive(1, consumer="ada")
        bench.fail_over()
        settlement = bench.group.nack(
            [lease], delay_ms=0, jitter=0.0, readable_end=9, wall_now_ms=bench.wall_now_ms, reason="late"
        )
        bench.write(settlement.record)
        told = history(bench)
        assert (told.last_consumer, [each.reason for each in told.reasons]) == ("", ["late"])

    def test_what_is_done_or_sought_away_is_forgotten(self) -> None:
        bench = GroupBench()
        fail(bench, "acked later")
        bench.ack(*bench.receive(1))
        assert history(bench) == FailureHistory()
        fail(bench, "sought away")
        bench.write(bench.group.seek(0))
        assert history(bench, 1) == FailureHistory()
        assert bench.group.snapshot().reasons == []

    def test_goes_with_a_dead_letter(self) -> None:
        bench = GroupBench(settings=GroupSettings(max_attempts=2, retry_backoff_min_ms=0))
        fail(bench, "one")
        first_ms = bench.wall_now_ms
        bench.now_ms += 7
        fail(bench, "two", consumer="ben")
        [letter] = bench.group.dead_letters(limit=1, now_ms=bench.now_ms)
        assert (letter.history.first_ms, letter.history.last_ms) == (first_ms, first_ms + 7)
        assert letter.history.last_consumer == "ben"
        assert [each.reason for each in letter.history.reasons] == ["one", "two"]
        assert letter.history == history(bench)


class TestBounds:
    def test_the_last_eight_of_a_message(self) -> None:
        reasons = FailureReasons(bytes_max=1 << 20)
        for attempt in range(1, 12):
            reasons.add(0, FailureReason(attempt, attempt, "x"))
        assert [each.attempt for each in reasons.of(0)] == list(range(4, 12))

    def test_beyond_the_size_who_failed_longest_ago_is_forgotten(self) -> None:
        each_bytes = REASON_OVERHEAD_BYTES + 2
        reasons = FailureReasons(bytes_max=3 * each_bytes)
        for offset in (7, 3, 5):
            reasons.add(offset, FailureReason(1, 0, "ä"))
        assert reasons.size_bytes == 3 * each_bytes
        reasons.add(7, FailureReason(1, 1, "bb"))  # in the place of what was said first, and now the last to fail
        reasons.add(9, FailureReason(1, 2, "cc"))
        assert reasons.offsets == {5, 7, 9}
        assert reasons.size_bytes == 3 * each_bytes

    def test_a_message_that_is_too_large_for_itself_is_forgotten(self) -> None:
        reasons = FailureReasons(bytes_max=REASON_OVERHEAD_BYTES)
        reasons.add(0, FailureReason(1, 0, "x"))
        assert (reasons.offsets, reasons.size_bytes) == (set(), 0)

    def test_a_group_keeps_to_it(self) -> None:
        settings = DeliverySettings(failure_reasons_bytes_max=2 * REASON_OVERHEAD_BYTES + 2)
        bench = GroupBench(delivery_settings=settings, settings=GroupSettings(retry_backoff_min_ms=60_000))
        leases = bench.receive(3)
        for lease in leases:
            settlement = bench.group.nack(
                [lease], delay_ms=60_000, jitter=0.0, readable_end=9, wall_now_ms=bench.wall_now_ms, reason="x"
            )
            bench.write(settlement.record)
        assert [len(history(bench, offset).reasons) for offset in range(3)] == [0, 1, 1]
        assert history(bench, 0).last_consumer == "c"


class ItemOfVersion4(msgspec.Struct, array_like=True):
    offset: int
    attempts: int
    delay_ms: int
    cause: int
    leader_epoch: int


class ReturnedOfVersion4(msgspec.Struct, array_like=True, tag=3):
    group_id: str
    generation: int
    wall_ms: int
    items: list[ItemOfVersion4]


class SnapshotOfVersion4(msgspec.Struct, array_like=True):
    group_id: str
    generation: int
    progress: int
    done: list[tuple[int, int]]
    retries: list[tuple[int, int, int, int, int]]


class TestFormats:
    def test_earlier_versions_read_what_they_know(self) -> None:
        bench = GroupBench()
        fail(bench, "why")
        [record] = msgspec.msgpack.decode(bench.log[-1], type=list[ReturnedOfVersion4])
        assert (record.items[0].offset, record.items[0].attempts) == (0, 1)
        snapshot = msgspec.msgpack.encode(bench.group.snapshot())
        assert msgspec.msgpack.decode(snapshot, type=SnapshotOfVersion4).retries[0][:2] == (0, 1)

    def test_what_earlier_versions_wrote_is_read(self) -> None:
        written = msgspec.msgpack.encode([[3, "group00000000", 0, 5, [[0, 1, 0, 0, 1]]]])
        [record] = decode_records(written)
        assert isinstance(record, Returned)
        assert (record.items[0].consumer, record.items[0].reason) == ("", "")
        old = msgspec.msgpack.encode(["g", 0, 0, [], [[0, 2, 1, 77, 0]], 1, [], 0, 0])
        bench = GroupBench()
        bench.group.restore(msgspec.msgpack.decode(old, type=GroupSnapshot), now_ms=0, wall_now_ms=0)
        assert history(bench) == FailureHistory(77, 77)
