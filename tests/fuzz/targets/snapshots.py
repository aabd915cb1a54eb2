"""Snapshots of delivery state, as a follower gets them of its leader."""

from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.partition_delivery import (
    PartitionDelivery,
    decode_snapshot,
    encode_snapshot,
    log_of_snapshot,
)
from storage.delivery.records import Acked, DeliveryFormatError, Returned, ReturnedItem, Skipped, Started
from tests.fuzz.built_values import built
from tests.fuzz.fuzz_target import FuzzTarget

_NOW_MS = 1_700_000_000_000


def _delivery() -> PartitionDelivery:
    return PartitionDelivery(leader_epoch=1, groups_max=100)


def _seeds() -> list[bytes]:
    delivery = _delivery()
    delivery.apply(
        [
            Started("0123456789abc", 5),
            Acked("0123456789abc", 0, [5, 2, 3, 1], 20),
            Skipped("0123456789abc", 0, [12, 2], 1),
            Returned("0123456789abc", 0, _NOW_MS, [ReturnedItem(8, 1, 1000, 0, 1, "worker", "no disk")]),
            Returned("0123456789abc", 0, _NOW_MS, [ReturnedItem(8, 2, -2, 0, 1, "worker", "no disk")]),
            Started("0123456789abd", 0),
        ],
        now_ms=0,
        wall_now_ms=_NOW_MS,
    )
    return [
        delivery.snapshot(log="0123456789abc-0-1"),
        _delivery().snapshot(),
        encode_snapshot([built(GroupSnapshot, 0), built(GroupSnapshot, 1)]),
    ]


def _read(data: bytes) -> None:
    log = log_of_snapshot(data)
    groups = decode_snapshot(data)
    assert decode_snapshot(encode_snapshot(groups, log=log)) == groups
    delivery = _delivery()
    delivery.restore(data, now_ms=0, wall_now_ms=_NOW_MS)
    again = _delivery()
    again.restore(delivery.snapshot(log=log), now_ms=0, wall_now_ms=_NOW_MS)
    assert again.snapshot(log=log) == delivery.snapshot(log=log)


TARGET = FuzzTarget(_read, (DeliveryFormatError,), _seeds)
