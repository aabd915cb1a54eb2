import msgspec
import pytest

from cluster.model.values import Group, GroupSettings
from storage.delivery.candidates import CandidateIndex
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.leases import Lease
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import DeliveryFormatError, GroupRemoved, Started

NOTHING_KNOWN = CandidateIndex(runs_max=1)


def new_partition(groups_max: int = 3) -> PartitionDelivery:
    return PartitionDelivery(leader_epoch=1, groups_max=groups_max)


def apply(partition: PartitionDelivery, *records) -> None:
    partition.apply(records, now_ms=100, wall_now_ms=5000)


def group_of(partition: PartitionDelivery, group_id: str) -> GroupInPartition:
    settings = GroupSettings(max_attempts=2)
    group = partition.as_it_is_set(Group(group_id, group_id, created_at_ms=0, settings=settings))
    assert group is not None
    return group


def receive(group: GroupInPartition, count: int):
    return group.receive(
        NOTHING_KNOWN, consumer="c", max_messages=count, visibility_ms=50, readable_end=100, now_ms=100
    ).leases


def test_groups_are_independent() -> None:
    partition = new_partition()
    apply(partition, Started("b", 0), Started("a", 7))
    b, a = group_of(partition, "b"), group_of(partition, "a")
    apply(partition, b.ack(receive(b, 2), readable_end=100).record)
    assert (a.progress, b.progress) == (7, 2)
    assert partition.group_ids() == ["b", "a"]
    assert partition.next_deadline() is None
    receive(a, 1)
    assert partition.next_deadline() == 150


def test_the_first_contact_counts() -> None:
    partition = new_partition()
    apply(partition, Started("a", 7), Started("a", 50))
    assert group_of(partition, "a").progress == 7


def test_records_of_a_removed_group_are_void() -> None:
    partition = new_partition()
    apply(partition, Started("a", 0))
    a = group_of(partition, "a")
    record = a.ack(receive(a, 1), readable_end=100).record
    apply(partition, GroupRemoved("a"), record, GroupRemoved("a"))
    partition.abort([record, GroupRemoved("a"), Started("x", 0)], now_ms=100)
    assert partition.group("a") is None


def test_it_says_when_it_has_as_many_groups_as_it_may() -> None:
    partition = new_partition(groups_max=2)
    apply(partition, Started("a", 0))
    assert not partition.is_full
    apply(partition, Started("b", 0))
    assert partition.is_full


def test_a_snapshot_holds_what_is_committed_and_nothing_else() -> None:
    partition = new_partition()
    apply(partition, Started("a", 0))
    a = group_of(partition, "a")
    leases = receive(a, 5)
    returned = a.nack(leases[3:4], delay_ms=500, jitter=0.0, readable_end=100, wall_now_ms=5000).record
    apply(partition, a.ack(leases[1:2], readable_end=100).record, returned)
    before = partition.snapshot()
    receive(a, 3)
    undecided = a.ack(leases[:1], readable_end=100)
    assert undecided.record is not None
    assert partition.snapshot() == before

    restored = new_partition()
    restored.restore(before, now_ms=1000, wall_now_ms=5200)
    restored.check_invariants()
    assert restored.snapshot() == before
    again = group_of(restored, "a")
    assert (again.progress, again.done_above_count, again.in_flight_count, again.delayed_count) == (0, 1, 0, 1)
    assert again.next_deadline() == 1300
    received = again.receive(NOTHING_KNOWN, consumer="c", max_messages=9, visibility_ms=50, readable_end=5, now_ms=1300)
    assert received.leases == receive_expected(again.leader_epoch)


def receive_expected(leader_epoch: int):
    return [Lease(3, 2, 0, leader_epoch), *(Lease(offset, 1, 0, leader_epoch) for offset in (0, 2, 4))]


def test_a_snapshot_of_a_newer_version_is_a_clear_error() -> None:
    with pytest.raises(DeliveryFormatError, match="version 2"):
        new_partition().restore(msgspec.msgpack.encode([2, "who knows"]), now_ms=0, wall_now_ms=0)


@pytest.mark.parametrize("data", [b"", b"\x92\x01", msgspec.msgpack.encode([1, [["a"]]])])
def test_a_damaged_snapshot_is_a_clear_error(data: bytes) -> None:
    with pytest.raises(DeliveryFormatError):
        new_partition().restore(data, now_ms=0, wall_now_ms=0)
