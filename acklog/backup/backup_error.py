"""What goes wrong with a backup beside what a server answers."""

from acklog.acklog_error import AcklogError


class BackupError(AcklogError):
    """The backup is not what it should be, or cannot be put where it is to go. Nothing half done is visible."""

    default_code = "BACKUP_FAILED"


class BackupDamaged(BackupError):  # noqa: N818
    """A file of the backup is missing, or is not what it was."""

    default_code = "BACKUP_DAMAGED"
