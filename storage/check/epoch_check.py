"""The leader-epoch file of a log held against its batches."""

import msgspec

from acklog.wire.batch import BatchHeader
from storage.check.findings import FindingKind, Findings
from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint
from storage.log.keys import LogKey
from storage.log.leader_epochs import LeaderEpochs, leader_epochs_from_bytes
from storage.log.log_state import LEADER_EPOCHS_NAME


class EpochCheck:
    """Let it `read` the file, then tell it every batch in order. Only batches below `durable_end` count: the file is
    made durable before the recovery point that relies on it, and later ones are noted in memory at first."""

    def __init__(self, disk: Disk, key: LogKey, *, durable_end: int, has_durable: bool, findings: Findings) -> None:
        self._disk = disk
        self._has_durable = has_durable
        self._findings = findings
        self._key = key
        self._path = f"{key.directory}/{LEADER_EPOCHS_NAME}"
        self._durable_end = durable_end
        self._epochs: LeaderEpochs | None = None
        self._last_epoch = -1

    def read(self) -> None:
        """Once, before the first batch."""
        try:
            payload = read_checkpoint(self._disk, self._path)
            if payload is not None:
                self._epochs = leader_epochs_from_bytes(payload)
            elif self._has_durable:
                self._add(FindingKind.EPOCHS_MISSING, "there is no such file")
        except (CheckpointDamagedError, msgspec.DecodeError, ValueError) as error:
            self._add(FindingKind.EPOCHS_DAMAGED, str(error))
        except OSError as error:
            self._add(FindingKind.FILE_UNREADABLE, str(error))

    def batch(self, header: BatchHeader) -> None:
        if self._epochs is None or header.leader_epoch == self._last_epoch or header.base_offset >= self._durable_end:
            return
        self._last_epoch = header.leader_epoch
        known = self._epochs.epoch_at(header.base_offset)
        if known != header.leader_epoch:
            self._add(
                FindingKind.EPOCHS_WRONG,
                f"it says epoch {known} at offset {header.base_offset}, the batch has {header.leader_epoch}",
            )
            self._epochs = None

    def _add(self, kind: FindingKind, detail: str) -> None:
        self._findings.add(kind, self._path, detail, topic_id=self._key.topic_id)
