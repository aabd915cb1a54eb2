"""The node-wide checkpoint of what is durable outside the journal."""

import msgspec

from acklog.wire.decode_errors import with_decode_errors
from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint

RECOVERY_POINTS_PATH = "recovery-points"


class RecoveryPoint(msgspec.Struct, array_like=True):
    """Of one log.

    offset          everything below is durable in segments; damage there is damage, not a torn tail
    log_start       segments that end at or below are to be removed
    journal_floor   journal entries of this sequence and below are not replayed: the log was truncated since
    refused         why the log takes no requests, "" if it does: entries of the journal could not be placed
    segment         base offset of the segment in which `offset` is, and
    position        its position there
    is_void         the log began anew at `offset`: every segment that is found is of before, as are the leader epochs,
                    and what has been appended since is in the journal
    damage          why something below cannot be read, "" where none was found so: a start reads little of a log
    kept_end        what the journal had of the log up to here is in `kept_batches`, as the log was not in its place;
                    0 where nothing is
    """

    offset: int = 0
    log_start: int = 0
    journal_floor: int = 0
    refused: str = ""
    segment: int = 0
    position: int = 0
    is_void: bool = False
    damage: str = ""
    kept_end: int = 0

    @property
    def names_segments(self) -> bool:
        """Whether the log has to have files: something of it was durable in them, or is to be removed from them. If
        not, all that was ever appended is in the journal, and there may be no directory either."""
        return bool(self.offset or self.log_start or self.refused or self.is_void or self.kept_end)


class RecoveryPoints(msgspec.Struct, array_like=True):
    """`logs` and `removed` go by the text of the key.

    covered_sequence  frames of the journal up to this one are not needed by any log
    is_clean          written by an orderly stop
    removed           removed logs and their journal floors, as long as the journal may still have entries of theirs
    reached_sequence  frames of the journal up to this one were durable; -1 in checkpoints of earlier versions, which
                      did not note what the journal consists of either
    present_sequence  the journal's files hold a frame of this sequence or a later one, covered or not
    journal_life      which start made `journal_reach`: the journal is of this one or a later one; 0 for both in
                      checkpoints of earlier versions
    """

    covered_sequence: int = 0
    is_clean: bool = False
    logs: dict[str, RecoveryPoint] = {}
    removed: dict[str, int] = {}
    reached_sequence: int = -1
    present_sequence: int = 0
    journal_life: int = 0

    @property
    def has_evidence(self) -> bool:
        """Whether `journal_files` and `journal_reach` are there, and of the version that wrote this."""
        return self.reached_sequence >= 0


_decode = with_decode_errors(msgspec.msgpack.Decoder(RecoveryPoints).decode)


def write_recovery_points(disk: Disk, points: RecoveryPoints) -> None:
    write_checkpoint(disk, RECOVERY_POINTS_PATH, msgspec.msgpack.encode(points))


def read_recovery_points(disk: Disk) -> RecoveryPoints:
    """Raises CheckpointDamagedError, also when there is none."""
    payload = read_checkpoint(disk, RECOVERY_POINTS_PATH)
    if payload is None:
        raise CheckpointDamagedError(f"{RECOVERY_POINTS_PATH} is missing")
    try:
        return _decode(payload)
    except msgspec.DecodeError as error:
        raise CheckpointDamagedError(f"{RECOVERY_POINTS_PATH} cannot be decoded: {error}") from error
