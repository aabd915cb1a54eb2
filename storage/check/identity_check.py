"""Whether a log's directory is that of the log: it says so itself."""

from storage.check.findings import FindingKind, Findings
from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.keys import LogKey
from storage.log.log_identity import identity_path, read_identity
from storage.log.recovery_points import RecoveryPoint


def check_identity(disk: Disk, key: LogKey, point: RecoveryPoint, findings: Findings) -> None:
    """A log that no recovery point speaks of may have none yet. Raises OSError."""
    try:
        found = read_identity(disk, key)
    except CheckpointDamagedError as error:
        findings.add(FindingKind.IDENTITY_DAMAGED, identity_path(key), str(error), topic_id=key.topic_id)
        return
    if found is None and point.names_segments and not point.is_void:
        findings.add(FindingKind.IDENTITY_MISSING, identity_path(key), "there is no such file", topic_id=key.topic_id)
    elif found is not None and found != str(key) and not point.is_void:
        detail = f"it says that the directory is that of {found}"
        findings.add(FindingKind.LOG_MISPLACED, identity_path(key), detail, topic_id=key.topic_id)
