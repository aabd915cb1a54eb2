"""What the groups of a partition have done: snapshot, then the delivery log's tail, as a start would read them."""

from collections.abc import Callable

import msgspec

from acklog.wire.batch import BatchCorruptError
from cluster.errors import ServerError
from storage.check.delivery_batches import DeliveryBatches
from storage.check.figures import LogFigures
from storage.check.findings import FindingKind, Findings
from storage.check.log_check import SNAPSHOT_NAME
from storage.delivery.partition_delivery import PartitionDelivery, log_of_snapshot
from storage.delivery.records import DeliveryFormatError, decode_records
from storage.disk.port import Disk
from storage.log.batch_cipher import IN_CLEAR, BatchCipher
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint
from storage.log.journal_scan import JournalCorruptError

_OFFSET_BYTES = 8
_GROUPS_MAX = 1 << 31  # the log is right, however many there are


class DeliveryCheck:
    """One partition. `messages` is its log of messages, None if there is none; `delivery` that of delivery records.
    `unread` says what is found of state whose key is not there."""

    def __init__(
        self,
        disk: Disk,
        delivery: LogFigures,
        messages: LogFigures | None,
        *,
        journal_key: int,
        findings: Findings,
        cipher: BatchCipher = IN_CLEAR,
        unread: Callable[[str], tuple[FindingKind, str]] = lambda detail: (FindingKind.ENCRYPTED, detail),
    ) -> None:
        self._disk = disk
        self._delivery = delivery
        self._messages_end = 0 if messages is None else messages.end_offset
        self._journal_key = journal_key
        self._findings = findings
        self._cipher = cipher
        self._unread = unread
        self._directory = delivery.key.directory
        self._snapshot_path = f"{self._directory}/{SNAPSHOT_NAME}"

    def run(self) -> list[str]:
        """The ids of the groups that the partition knows; empty where their state cannot be told."""
        state = PartitionDelivery(leader_epoch=max(self._delivery.last_epoch, 0) + 1, groups_max=_GROUPS_MAX)
        offset = self._restore(state)
        if offset is None:
            return []
        damaged = next((place for place in self._delivery.damage if place[1] > offset), None)
        if damaged is not None:
            detail = f"offsets {damaged[0]} to {damaged[1] - 1} of the delivery log are damaged or missing"
            self._add(FindingKind.DELIVERY_UNREADABLE, self._directory, detail)
            return []
        if not self._delivery.is_refused and not self._apply_tail(state, offset):
            return []
        self._judge(state)
        return state.group_ids()

    def _restore(self, state: PartitionDelivery) -> int | None:
        """The offset from which the log goes on; None where the partition would be refused."""
        log_start = self._delivery.log_start
        try:
            payload = read_checkpoint(self._disk, self._snapshot_path)
            if payload is None:
                if log_start:
                    self._add(FindingKind.SNAPSHOT_MISSING, self._snapshot_path, f"the log begins at {log_start}")
                    return None
                return log_start
            snapshot = self._cipher.decrypted_state(memoryview(payload)[_OFFSET_BYTES:])
            state.restore(snapshot, now_ms=0, wall_now_ms=0)
        except ServerError as error:
            kind, detail = self._unread(error.detail)
            self._add(kind, self._snapshot_path, detail)
            return None
        except (CheckpointDamagedError, DeliveryFormatError, ValueError) as error:
            self._add(FindingKind.SNAPSHOT_DAMAGED, self._snapshot_path, str(error))
            return None
        except OSError as error:
            self._add(FindingKind.FILE_UNREADABLE, self._snapshot_path, str(error))
            return None
        offset, owner = int.from_bytes(payload[:_OFFSET_BYTES], "big"), log_of_snapshot(snapshot)
        if owner not in {"", str(self._delivery.key)}:
            self._add(FindingKind.SNAPSHOT_FOREIGN, self._snapshot_path, f"it is of {owner}")
            return None
        if offset < log_start:
            detail = f"it goes up to {offset}, the log begins at {log_start}"
            self._add(FindingKind.SNAPSHOT_BEHIND, self._snapshot_path, detail)
            return None
        if offset > self._delivery.end_offset:
            detail = f"it goes up to {offset}, the log ends at {self._delivery.end_offset}"
            self._add(FindingKind.SNAPSHOT_AHEAD, self._snapshot_path, detail)
            return None
        return offset

    def _apply_tail(self, state: PartitionDelivery, offset: int) -> bool:
        try:
            batches = DeliveryBatches(self._disk, self._delivery, journal_key=self._journal_key, cipher=self._cipher)
            for _, payload in batches.read(offset):
                state.apply(decode_records(payload), now_ms=0, wall_now_ms=0)
        except ServerError as error:
            kind, detail = self._unread(error.detail)
            self._add(kind, self._directory, detail)
            return False
        except (DeliveryFormatError, BatchCorruptError, JournalCorruptError, msgspec.DecodeError, OSError) as error:
            self._add(FindingKind.DELIVERY_UNREADABLE, self._directory, str(error))
            return False
        return True

    def _judge(self, state: PartitionDelivery) -> None:
        try:
            state.check_invariants()
        except AssertionError as error:
            self._add(FindingKind.DELIVERY_INCONSISTENT, self._directory, str(error))
        for group in state.groups():
            snapshot = group.snapshot()
            done = max([snapshot.progress, *(end for _, end in snapshot.done)])
            seen = max([done, *(retry[0] + 1 for retry in snapshot.retries)])
            if seen > self._messages_end:
                detail = f"group {group.group_id} knows messages up to {seen - 1}, the log ends at {self._messages_end}"
                self._add(FindingKind.PROGRESS_BEYOND_LOG, self._directory, detail)

    def _add(self, kind: FindingKind, path: str, detail: str) -> None:
        self._findings.add(kind, path, detail, topic_id=self._delivery.key.topic_id)
