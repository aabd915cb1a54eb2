"""The delivery state of one partition: all groups that read it. Knows nothing of logs or disks.

A host writes the records that the groups decide, in any batches, and calls `apply` with them in the order of the log,
or `abort` with those that could not be written. A restart is `restore` of the last snapshot and `apply` of the records
after it.
"""

from collections.abc import Iterable

import msgspec

from acklog.wire.decode_errors import with_decode_errors
from cluster.model.values import Group
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_in_partition import GroupInPartition, GroupTerms
from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.maybe_removed import MaybeRemoved
from storage.delivery.modes import GroupFactory, in_mode, new_group
from storage.delivery.records import (
    Buffer,
    DeliveryFormatError,
    DeliveryRecord,
    GroupRemoved,
    Returned,
    Started,
    StateRestored,
)

SNAPSHOT_VERSION = 1


class _Snapshot(msgspec.Struct, array_like=True, gc=False):
    version: int
    groups: list[GroupSnapshot]
    log: str = ""


class _Frame(msgspec.Struct, array_like=True, gc=False):
    """A snapshot of whatever version."""

    version: int
    groups: msgspec.Raw = msgspec.Raw()
    log: object = ""


_encoder = msgspec.msgpack.Encoder()
_decode_snapshot = with_decode_errors(msgspec.msgpack.Decoder(_Snapshot).decode)
_decode_frame = with_decode_errors(msgspec.msgpack.Decoder(_Frame).decode)


_DEFAULT_SETTINGS = DeliverySettings()


class PartitionDelivery:
    """At most `groups_max` groups. One that is made from records reads as a new shared one until it is told more."""

    def __init__(
        self,
        *,
        leader_epoch: int,
        groups_max: int,
        settings: DeliverySettings = _DEFAULT_SETTINGS,
        group_factory: GroupFactory = new_group,
    ) -> None:
        self.leader_epoch = leader_epoch
        self.applied_records = 0
        self.maybe_removed = MaybeRemoved()
        self._groups_max = groups_max
        self.settings = settings
        self._group_factory = group_factory
        self._groups: dict[str, GroupInPartition] = {}

    def group(self, group_id: str) -> GroupInPartition | None:
        """None before the group's first contact (its `Started` record)."""
        return self._groups.get(group_id)

    def as_it_is_set(self, group: Group) -> GroupInPartition | None:
        """The group, which from now on reads as its mode and settings say; None before its first contact."""
        found = self._groups.get(group.id)
        if found is not None:
            found = self._groups[group.id] = in_mode(found, group.mode)
            found.follow(GroupTerms(group.mode, group.settings))
        return found

    def groups(self) -> list[GroupInPartition]:
        return list(self._groups.values())

    def group_ids(self) -> list[str]:
        return list(self._groups)

    @property
    def is_full(self) -> bool:
        """No further group may start. Records that start one are applied all the same: the log is right."""
        return len(self._groups) >= self._groups_max

    def apply(self, records: Iterable[DeliveryRecord], *, now_ms: int, wall_now_ms: int) -> None:
        """The records are durable. One of a group that is not there (removed before it in the log) is void."""
        for record in records:
            self.applied_records += 1
            if isinstance(record, Started):
                if record.group_id not in self._groups:
                    self._groups[record.group_id] = self._new_group(record.group_id, record.offset)
            elif isinstance(record, StateRestored):
                self._restore(record.state, now_ms=now_ms, wall_now_ms=wall_now_ms)
            elif isinstance(record, GroupRemoved):
                self._groups.pop(record.group_id, None)
                self.maybe_removed.forget(record.group_id)
            else:
                group = self._groups.get(record.group_id)
                if group is not None:
                    group.apply(record, now_ms=now_ms, wall_now_ms=wall_now_ms)
                    if isinstance(record, Returned):
                        self.maybe_removed.came_back(record)

    def abort(self, records: Iterable[DeliveryRecord], *, now_ms: int) -> None:
        """The records could not be written: the decisions are undone."""
        for record in records:
            if not isinstance(record, Started | GroupRemoved | StateRestored):
                group = self._groups.get(record.group_id)
                if group is not None:
                    group.abort(record, now_ms=now_ms)

    def compacted(self, start: int, end: int) -> None:
        """Compaction may have removed messages from `start` to `end`: that is to be looked up for what waits there."""
        self.maybe_removed.compacted((group.state for group in self._groups.values()), start, end)

    def look_up_again(self, group_id: str, offsets: Iterable[int]) -> None:
        """These could not be looked up, or what was decided about them is void."""
        if group_id in self._groups:
            self.maybe_removed.put(group_id, offsets)

    def next_deadline(self) -> int | None:
        """When the first of the groups wants `expire` and `dead_letters` called."""
        deadlines = (group.next_deadline() for group in self._groups.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def snapshot(self, *, log: str = "") -> bytes:
        """What the applied records say; leases and undecided settlements are left out. Equal states, equal bytes.
        `log` as in `encode_snapshot`."""
        return encode_snapshot([self._groups[group_id].snapshot() for group_id in sorted(self._groups)], log=log)

    def restore(self, data: Buffer, *, now_ms: int, wall_now_ms: int) -> None:
        """Fill a new object. Raises DeliveryFormatError for a snapshot of a newer version and for damaged bytes."""
        for snapshot in decode_snapshot(data):
            try:
                self._restore(snapshot, now_ms=now_ms, wall_now_ms=wall_now_ms)
            except (ValueError, KeyError) as error:  # ranges that are none, failures of what did not fail
                raise DeliveryFormatError(f"the snapshot of group {snapshot.group_id} is damaged: {error!r}") from error

    def _restore(self, snapshot: GroupSnapshot, *, now_ms: int, wall_now_ms: int) -> None:
        group = self._new_group(snapshot.group_id, snapshot.progress)
        group.restore(snapshot, now_ms=now_ms, wall_now_ms=wall_now_ms)
        self._groups[snapshot.group_id] = group

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        for group in self._groups.values():
            group.check_invariants()

    def _new_group(self, group_id: str, start_offset: int) -> GroupInPartition:
        return self._group_factory(
            group_id, leader_epoch=self.leader_epoch, start_offset=start_offset, bounds=self.settings
        )


def encode_snapshot(groups: list[GroupSnapshot], *, log: str = "") -> bytes:
    """`log` names the delivery log that it is of; "" does not say."""
    return _encoder.encode(_Snapshot(SNAPSHOT_VERSION, groups, log))


def log_of_snapshot(data: Buffer) -> str:
    """The delivery log that a snapshot is of; "" where an earlier version wrote it, and where it cannot be decoded."""
    try:
        log = _decode_frame(data).log
    except msgspec.DecodeError:
        return ""
    return log if isinstance(log, str) else ""


def decode_snapshot(data: Buffer) -> list[GroupSnapshot]:
    """Raises DeliveryFormatError for a snapshot of a newer version and for damaged bytes."""
    try:
        version = _decode_frame(data).version
        if version != SNAPSHOT_VERSION:
            raise DeliveryFormatError(
                f"the snapshot has version {version}, this version of the server reads {SNAPSHOT_VERSION}"
            )
        return _decode_snapshot(data).groups
    except msgspec.DecodeError as error:
        raise DeliveryFormatError(f"the snapshot of the delivery state is damaged: {error}") from error
