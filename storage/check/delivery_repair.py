"""The groups' state of partitions anew, where their snapshot or their delivery log is damaged: what is surely done.

A plan is made by reading only; `carry_out` writes one file per partition, the snapshot, atomically: it then says what
the whole delivery log says that can be read, so that a start reads nothing that is damaged. What it replaces is kept
beside it. A crash leaves the damage or the repair, and a second run makes the same plan of the damage.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from acklog.wire.batch import BatchCorruptError
from cluster.errors import ServerError
from cluster.model.projected_offsets import ProjectedPartition
from storage.check.catalog_check import CatalogContent
from storage.check.delivery_batches import DeliveryBatches
from storage.check.directory_ciphers import DirectoryCiphers
from storage.check.figures import LogFigures
from storage.check.log_check import KEPT_SNAPSHOT_PREFIX, SNAPSHOT_NAME
from storage.delivery.partition_delivery import decode_snapshot, encode_snapshot, log_of_snapshot
from storage.delivery.records import DeliveryFormatError, decode_records
from storage.delivery.salvage import Basis, DeliverySalvage, Projection, SalvagedGroup
from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, read_file, replace_file, write_checkpoint
from storage.log.journal_scan import JournalCorruptError
from storage.log.keys import LogKey
from storage.log.log_directory import make_log_directory
from storage.log.log_table import LogKind

_OFFSET_BYTES = 8


@dataclass(frozen=True, slots=True)
class RepairedGroup:
    """Everything below `done_below` is done, and `done_above` messages from there on. `again_max`: how many messages
    that were done may be delivered again, at most, all of them from `done_below` on. `projected`: what the coordination
    file says of the group, -1: nothing."""

    group_id: str
    name: str
    basis: Basis
    done_below: int
    done_above: int
    attempts_known: int
    again_max: int
    projected: int


@dataclass(slots=True)
class PartitionRepair:
    """`refusal` says why nothing can be done, or is empty. `snapshot` is the payload of the new snapshot; `kept_as`
    where the one before is, once the repair was carried out."""

    key: LogKey
    topic: str
    damage: list[str]
    refusal: str = ""
    groups: list[RepairedGroup] = field(default_factory=list)
    snapshot: bytes = b""
    kept_as: str = ""


class DeliveryRepair:
    """`logs` and `catalog` are what a check of the same directory has found; `disk` must not have changed since."""

    def __init__(
        self,
        disk: Disk,
        *,
        logs: Mapping[str, LogFigures],
        catalog: CatalogContent,
        journal_key: int,
        ciphers: DirectoryCiphers,
    ) -> None:
        self._disk = disk
        self._logs = logs
        self._catalog = catalog
        self._journal_key = journal_key
        self._ciphers = ciphers

    def plan(self) -> list[PartitionRepair]:
        """One for each partition whose groups' state a start cannot read."""
        repairs = []
        for log in self._logs.values():
            if log.key.kind == LogKind.DELIVERY and log.key.topic_id not in self._catalog.tombstones:
                repair = self._plan(log)
                if repair is not None:
                    repairs.append(repair)
        return repairs

    def carry_out(self, repair: PartitionRepair) -> None:
        """Durable on return. Raises OSError."""
        path = _snapshot_path(repair.key)
        make_log_directory(self._disk, repair.key)
        repair.kept_as = self._keep(path)
        write_checkpoint(self._disk, path, repair.snapshot)

    # --- a plan ------------------------------------------------------------------------------------------------------

    def _plan(self, log: LogFigures) -> PartitionRepair | None:
        topic = self._catalog.topics.get(log.key.topic_id)
        repair = PartitionRepair(log.key, "" if topic is None else topic.name, [])
        if log.is_refused:
            repair.damage.append(f"{log.key.directory} is refused as a whole")
            repair.refusal = "the log itself cannot be opened: restore the partition from a backup"
            return repair
        messages = self._logs.get(str(LogKey(log.key.topic_id, log.key.partition, LogKind.MESSAGES)))
        start, end = (0, 0) if messages is None else (messages.log_start, messages.end_offset)
        salvage = DeliverySalvage(self._projections(log.key), readers=self._readers(log.key), messages_start=start)
        try:
            offset = self._begin(log, salvage, repair.damage)
            if offset < log.end_offset:
                self._read_log(log, offset, salvage, repair.damage)
        except ServerError as error:
            repair.damage.append(error.detail)
            repair.refusal = "it is encrypted: give the master key (--master-key-file)"
            return repair
        except DeliveryFormatError as error:
            repair.damage.append(str(error))
            repair.refusal = "what is whole cannot be decoded: use the version of Acklog that wrote it"
            return repair
        except (OSError, BatchCorruptError, JournalCorruptError, msgspec.DecodeError) as error:
            repair.damage.append(str(error))
            repair.refusal = "the delivery log cannot be read: look at the disk, and run this again"
            return repair
        if not repair.damage:
            return None
        groups = salvage.finish()
        state = encode_snapshot([group.snapshot(group_id) for group_id, group in groups.items()], log=str(log.key))
        state = self._ciphers.of(log.key).encrypted_state(state)
        repair.snapshot = log.end_offset.to_bytes(_OFFSET_BYTES, "big") + state
        repair.groups = [self._told(log.key, group_id, group, end) for group_id, group in groups.items()]
        return repair

    def _begin(self, log: LogFigures, salvage: DeliverySalvage, damage: list[str]) -> int:
        """The offset from which the log goes on."""
        path = _snapshot_path(log.key)
        try:
            payload = read_checkpoint(self._disk, path)
        except (CheckpointDamagedError, OSError) as error:
            damage.append(str(error))
        else:
            if payload is not None:
                if self._begin_with(payload, log, salvage, damage):
                    return max(int.from_bytes(payload[:_OFFSET_BYTES], "big"), log.log_start)
            elif log.log_start:
                damage.append(f"{path} is missing, and the log begins at {log.log_start} only")
        if log.log_start:
            salvage.lost()
        return log.log_start

    def _begin_with(self, payload: bytes, log: LogFigures, salvage: DeliverySalvage, damage: list[str]) -> bool:
        """Whether the snapshot counts: it says what was done up to its offset."""
        path = _snapshot_path(log.key)
        try:
            state = self._ciphers.of(log.key).decrypted_state(memoryview(payload)[_OFFSET_BYTES:])
        except BatchCorruptError as error:
            damage.append(f"{path} cannot be decrypted: {error}")
            return False
        offset, owner = int.from_bytes(payload[:_OFFSET_BYTES], "big"), log_of_snapshot(state)
        if owner not in {"", str(log.key)}:
            damage.append(f"{path} is the snapshot of another log, {owner}")
            return False
        groups = decode_snapshot(state)
        if offset < log.log_start:
            damage.append(f"{path} goes up to {offset}, the log begins at {log.log_start}")
            if not owner:  # of an earlier version: whether it is an older one of this log or of another nobody can tell
                return False
        salvage.begin(groups)
        if offset < log.log_start:
            salvage.lost()
        if offset > log.end_offset:  # the log has lost what the snapshot knows
            damage.append(f"{path} goes up to {offset}, the log ends at {log.end_offset}")
        return True

    def _read_log(self, log: LogFigures, offset: int, salvage: DeliverySalvage, damage: list[str]) -> None:
        expected = offset
        cipher = self._ciphers.of(log.key)
        batches = DeliveryBatches(self._disk, log, journal_key=self._journal_key, cipher=cipher)
        for header, payload in batches.read(offset):
            self._check_gap(log, expected, header.base_offset, salvage, damage)
            salvage.apply(decode_records(payload))
            expected = header.next_offset
        self._check_gap(log, expected, log.end_offset, salvage, damage)

    def _check_gap(
        self, log: LogFigures, expected: int, offset: int, salvage: DeliverySalvage, damage: list[str]
    ) -> None:
        if offset > expected:
            salvage.lost()
            damage.append(f"{log.key.directory}: the delivery records {expected} to {offset - 1} cannot be read")

    def _projections(self, key: LogKey) -> dict[str, Projection]:
        return {
            group_id: Projection(projected.offset, projected.generation)
            for group_id, projected in self._projected(key)
            if group_id not in self._catalog.tombstones
        }

    def _projected(self, key: LogKey) -> Iterator[tuple[str, ProjectedPartition]]:
        for (group_id, topic_id), offsets in self._catalog.offsets.items():
            projected = offsets.partitions.get(str(key.partition))
            if topic_id == key.topic_id and projected is not None:
                yield group_id, projected

    def _readers(self, key: LogKey) -> set[str]:
        return {
            group_id
            for group_id, topic_id in self._catalog.offsets
            if topic_id == key.topic_id and group_id not in self._catalog.tombstones
        }

    def _told(self, key: LogKey, group_id: str, group: SalvagedGroup, messages_end: int) -> RepairedGroup:
        known = self._catalog.groups.get(group_id)
        progress = group.progress
        above = progress.done_above.offset_count
        projection = self._projections(key).get(group_id)
        return RepairedGroup(
            group_id,
            "" if known is None else known.name,
            group.basis,
            progress.progress,
            above,
            len(progress.retries),
            0 if group.basis is Basis.EXACT else max(messages_end - progress.progress - above, 0),
            -1 if projection is None else projection.offset,
        )

    # --- the file ----------------------------------------------------------------------------------------------------

    def _keep(self, path: str) -> str:
        """A copy, or the file itself where it cannot be read, under a name of its own; "" where there is none. What a
        run before has kept is not kept twice."""
        if not self._disk.exists(path):
            return ""
        directory = path.rpartition("/")[0]
        kept = [name for name in self._disk.list_directory(directory) if _number_of(name)]
        target = f"{directory}/{KEPT_SNAPSHOT_PREFIX}{1 + max(map(_number_of, kept), default=0)}"
        try:
            content = read_file(self._disk, path) or b""
            for name in kept:
                if read_file(self._disk, f"{directory}/{name}") == content:
                    return f"{directory}/{name}"
        except OSError:
            self._disk.rename(path, target)
            self._disk.sync_directory(directory)
        else:
            replace_file(self._disk, target, [content])
        return target


def _number_of(name: str) -> int:
    """Of a file that was put aside; 0 for others."""
    number = name.removeprefix(KEPT_SNAPSHOT_PREFIX)
    return int(number) if number != name and number.isdecimal() else 0


def _snapshot_path(key: LogKey) -> str:
    return f"{key.directory}/{SNAPSHOT_NAME}"
