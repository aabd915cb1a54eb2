"""What a check finds: kinds with a fixed severity, meaning and advice, and the places where they were found."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

FINDINGS_MAX = 1000


class Severity(Enum):
    """ERROR: what was durable is damaged, missing or contradictory. WARNING: worth a look, nothing is lost.
    NOTE: what a crash leaves behind and the next start puts right."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Diagnosis(NamedTuple):
    """`meaning` says what it is about and what the server does; `advice` what to do."""

    severity: Severity
    meaning: str
    advice: str


_RESTORE = "Restore the data directory from a backup; look at the disk's health."
_REBUILD = "Make the file anew from its copy and the logs: acklog rebuild; or restore the data directory from a backup."
_JOURNAL = (
    "A node of a cluster: give it an empty directory, which the others fill again. Else restore the directory from "
    "a backup; look at the disk's health."
)
_REPAIR = (
    "acklog fsck --repair says what can be restored and what may be delivered again, and does it with --yes. A node "
    "of a cluster: start it, and it takes the state from the others. Look at the disk's health."
)
_NOTHING = "Nothing: the next start puts it right."
_KEEP = "Nothing is lost. Look at the disk's health: the file was durable and has changed."


class FindingKind(Diagnosis, Enum):
    # The directory
    META_DAMAGED = Diagnosis(
        Severity.ERROR, "the directory's identity cannot be read, and a server refuses to start", _RESTORE
    )
    META_MISSING = Diagnosis(
        Severity.ERROR, "there are partitions but no meta.json: the directory has lost files", _RESTORE
    )
    PARTITIONS_MISSING = Diagnosis(
        Severity.ERROR, "the directory with all partitions is gone, and a server refuses to start", _RESTORE
    )
    FORMAT_UNKNOWN = Diagnosis(
        Severity.ERROR, "a newer version of Acklog wrote the directory", "Use that version, for this check too."
    )
    RECOVERY_POINTS_DAMAGED = Diagnosis(
        Severity.ERROR, "what is durable outside the journal is not known, and a server serves nothing", _RESTORE
    )
    FILE_UNREADABLE = Diagnosis(
        Severity.ERROR,
        "the operating system cannot read the file",
        "If it is the permissions, run the check as the server's user; else replace the disk and restore a backup.",
    )
    FILE_UNKNOWN = Diagnosis(
        Severity.WARNING, "the file is not Acklog's, and no server looks at it", "Move it out of the data directory."
    )
    FILE_KEPT = Diagnosis(
        Severity.NOTE, "a damaged file that was replaced, and kept", "Remove it once nothing is missed."
    )
    FILE_TEMPORARY = Diagnosis(Severity.NOTE, "a checkpoint was being written when the server ended", _NOTHING)
    # Segments
    BATCH_DAMAGED = Diagnosis(
        Severity.ERROR,
        "the messages cannot be read: reading them answers RECORDS_CORRUPT, everything else is served",
        "Restore the segment from a backup while the server is stopped, or seek the groups past it; look at the disk's "
        "health.",
    )
    BATCHES_MISSING = Diagnosis(
        Severity.ERROR,
        "batches that were durable are not there: reading them answers RECORDS_CORRUPT",
        "Restore the partition's segments from a backup while the server is stopped, or seek the groups past them.",
    )
    SEGMENTS_OVERLAP = Diagnosis(Severity.ERROR, "two segments hold the same offsets: the log is refused", _RESTORE)
    SEGMENT_SURPLUS = Diagnosis(
        Severity.WARNING,
        "bytes behind the last batch of a closed segment, of which no append tells",
        "Nothing that was acknowledged is lost, and the next start cuts them off. Find out who wrote into the file.",
    )
    SEGMENT_LEFT_OVER = Diagnosis(Severity.NOTE, "retention had removed it when the server ended", _NOTHING)
    TAIL_TORN = Diagnosis(
        Severity.NOTE, "bytes behind the last whole batch, of an append that nobody was told is done", _NOTHING
    )
    TAIL_UNEXPLAINED = Diagnosis(
        Severity.WARNING,
        "bytes behind the last whole batch, although the server stopped in order",
        "Nothing that was acknowledged is lost, and the next start cuts them off. Find out who wrote into the file.",
    )
    LOG_MISSING = Diagnosis(Severity.ERROR, "the log had messages, and none of its files is there", _RESTORE)
    LOG_REFUSED = Diagnosis(
        Severity.ERROR, "the journal could not be replayed into the log, which takes no requests", _RESTORE
    )
    LOG_MISPLACED = Diagnosis(
        Severity.ERROR,
        "the directory is another log's: a server refuses it rather than show one topic's messages as another's",
        "Move the directories back to the names that they say, while the server is stopped.",
    )
    BATCHES_KEPT = Diagnosis(
        Severity.WARNING,
        "what the journal had of a log that was not in its place; the next start that finds it there takes it over",
        "Do not remove it. Move the directories back to the names that they say, while the server is stopped.",
    )
    LOG_MOVED_ASIDE = Diagnosis(
        Severity.NOTE,
        "files of a log whose place another one has taken; nothing reads them",
        "Move them back to where their log is to be, while the server is stopped, or remove them if nothing is missed.",
    )
    IDENTITY_DAMAGED = Diagnosis(Severity.WARNING, "what says which log the directory is cannot be read", _KEEP)
    IDENTITY_MISSING = Diagnosis(
        Severity.NOTE, "nothing says which log the directory is, as in earlier versions: a swap is not found", _NOTHING
    )
    RECORDS_UNREADABLE = Diagnosis(
        Severity.ERROR, "the batch is whole, but its messages cannot be decoded", "Please report it, with the batch."
    )
    ENCRYPTED = Diagnosis(
        Severity.NOTE, "it is encrypted, and was verified by its checksums only", "To look into it: --master-key-file."
    )
    KEYS_ELSEWHERE = Diagnosis(
        Severity.NOTE,
        "it is encrypted, and was verified by its checksums only: a node's data keys are in etcd, not in its directory",
        "No master key opens it here: read the topic from the running cluster. Damage is mended from other replicas.",
    )
    SCHEDULE_DAMAGED = Diagnosis(
        Severity.ERROR,
        "messages that are to be seen later cannot be read and are not delivered; asking for one answers "
        "RECORDS_CORRUPT, and all others are delivered",
        "A node of a cluster: start it, and it takes them from the others. Else restore the segment from a backup "
        "while the server is stopped, or send these messages again; look at the disk's health.",
    )
    SCHEDULE_MISSING = Diagnosis(
        Severity.ERROR,
        "batches of a schedule that were durable are not there: messages that are to be seen later are not delivered, "
        "and what is asked for and not found answers RECORDS_CORRUPT",
        "A node of a cluster: start it, and it takes them from the others. Else restore the partition's schedule from "
        "a backup while the server is stopped, or send these messages again.",
    )
    # Derived files
    INDEX_MISSING = Diagnosis(Severity.NOTE, "a segment has no index yet; it is rebuilt when needed", _NOTHING)
    INDEX_STALE = Diagnosis(Severity.NOTE, "the index is of an earlier state; it is rebuilt when needed", _NOTHING)
    INDEX_TORN = Diagnosis(
        Severity.NOTE, "the index cannot be read; it was not synced yet when the server ended, or has changed", _NOTHING
    )
    INDEX_DAMAGED = Diagnosis(
        Severity.WARNING, "the index cannot be read, although the server stopped in order", _NOTHING
    )
    INDEX_WRONG = Diagnosis(
        Severity.ERROR,
        "the index does not fit its segment: reads may miss messages that are there",
        "Remove the index file while the server is stopped; it is rebuilt.",
    )
    EPOCHS_DAMAGED = Diagnosis(
        Severity.WARNING,
        "the list of leader epochs cannot be read; the next start rebuilds it from the segments",
        _KEEP,
    )
    EPOCHS_MISSING = Diagnosis(
        Severity.WARNING, "the list of leader epochs is gone; the next start rebuilds it from the segments", _NOTHING
    )
    EPOCHS_WRONG = Diagnosis(
        Severity.ERROR,
        "the list of leader epochs does not fit the batches",
        "Remove the file leader-epochs while the server is stopped; it is rebuilt.",
    )
    # The journal
    JOURNAL_DAMAGED = Diagnosis(
        Severity.ERROR, "entries that were durable cannot be read, and a server serves nothing", _JOURNAL
    )
    JOURNAL_MISSING = Diagnosis(
        Severity.ERROR, "files are gone that held what was acknowledged last, and a server serves nothing", _JOURNAL
    )
    JOURNAL_SHORT = Diagnosis(
        Severity.ERROR, "a file is not as long as it was made, and a server serves nothing", _JOURNAL
    )
    JOURNAL_ENDS_EARLY = Diagnosis(
        Severity.ERROR, "frames that were durable are gone from its end, and a server serves nothing", _JOURNAL
    )
    JOURNAL_OLDER = Diagnosis(
        Severity.ERROR,
        "it is an older copy, which lacks what was acknowledged since: a server serves nothing",
        _JOURNAL,
    )
    JOURNAL_RECORD_DAMAGED = Diagnosis(
        Severity.ERROR,
        "what is noted of the journal is damaged, so that nobody can say whether it is whole: a server serves nothing",
        _JOURNAL,
    )
    JOURNAL_ABSENT = Diagnosis(
        Severity.WARNING,
        "files of the journal are gone, of which nothing was needed, as the server had stopped in order",
        "Nothing is lost, and the next start makes new ones. Find out who removed them.",
    )
    JOURNAL_UNEQUAL = Diagnosis(
        Severity.WARNING,
        "a journal file is shorter than the others: it was just being made, or was cut, and what stood there is lost",
        "Compare with a backup, if the file system was repaired. (The version that wrote this directory did not note "
        "the sizes.)",
    )
    JOURNAL_UNPLACED = Diagnosis(
        Severity.ERROR, "the journal holds batches that do not fit behind the log's end: the log is refused", _RESTORE
    )
    JOURNAL_TORN = Diagnosis(
        Severity.NOTE, "the newest frame is not whole, of a round that nobody was told is done", _NOTHING
    )
    # Delivery
    SNAPSHOT_DAMAGED = Diagnosis(
        Severity.ERROR,
        "what the groups have done cannot be read: the partition is refused rather than delivered anew",
        _REPAIR,
    )
    SNAPSHOT_MISSING = Diagnosis(
        Severity.ERROR, "the delivery log was trimmed for a snapshot that is gone: the partition is refused", _REPAIR
    )
    SNAPSHOT_AHEAD = Diagnosis(
        Severity.ERROR, "the snapshot knows more than the delivery log: the partition is refused", _REPAIR
    )
    SNAPSHOT_BEHIND = Diagnosis(
        Severity.ERROR,
        "the snapshot ends before the delivery log begins, as an older copy does: the partition is refused",
        _REPAIR,
    )
    SNAPSHOT_FOREIGN = Diagnosis(
        Severity.ERROR, "the snapshot is of another partition, or of another topic: the partition is refused", _REPAIR
    )
    DELIVERY_UNREADABLE = Diagnosis(
        Severity.ERROR,
        "what the groups have done since the snapshot cannot be read: the partition is refused",
        _REPAIR,
    )
    DELIVERY_DAMAGE_PASSED = Diagnosis(
        Severity.WARNING,
        "a part of a delivery log is damaged or missing that the snapshot has passed: nothing reads it any more",
        "Nothing: the log is cut off behind it as it grows. Look at the disk's health.",
    )
    DELIVERY_INCONSISTENT = Diagnosis(
        Severity.ERROR, "a group's state contradicts itself", "Please report it, with the delivery directory."
    )
    PROGRESS_BEYOND_LOG = Diagnosis(
        Severity.ERROR,
        "a group has done messages that the log does not have: the log has lost its end",
        "Restore the partition from a backup, or seek the group to `latest` once the server runs.",
    )
    # Coordination
    COORDINATION_MISSING = Diagnosis(
        Severity.ERROR, "the file with topics and groups is gone, and a server refuses to start", _REBUILD
    )
    COORDINATION_DAMAGED = Diagnosis(
        Severity.ERROR, "the file with topics and groups is damaged, and a server refuses to start", _REBUILD
    )
    COORDINATION_BEHIND = Diagnosis(
        Severity.ERROR,
        "the file with topics and groups is an earlier state of itself, and a server refuses to start",
        _REBUILD,
    )
    COORDINATION_COPY_DAMAGED = Diagnosis(
        Severity.WARNING,
        "the copy of the file with topics and groups is damaged",
        "Nothing is lost: the next start replaces it. Look at the disk's health.",
    )
    ENTRY_UNREADABLE = Diagnosis(
        Severity.ERROR,
        "an entry of the coordination file cannot be decoded",
        "If a newer version wrote it, use that one; else restore the file from a backup.",
    )
    PARTITION_ORPHANED = Diagnosis(
        Severity.ERROR,
        "data of a topic that does not exist and was not deleted: it is kept, and nobody can reach it",
        "Restore the coordination file that belongs to this directory; or move the partition's directory away.",
    )
    PARTITION_LEFT_OVER = Diagnosis(
        Severity.NOTE, "the topic was deleted; the data is removed at the next start", _NOTHING
    )
    GROUP_UNKNOWN = Diagnosis(
        Severity.WARNING,
        "a partition knows a group that does not exist and was not deleted",
        "Restore the coordination file that belongs to this directory, if the group is missed.",
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """`where` is a path in the data directory, `detail` what exactly was found there."""

    kind: FindingKind
    where: str
    detail: str
    topic_id: str = ""


@dataclass(slots=True)
class Findings:
    """Counts everything, keeps the first `limit` of each severity, so that no note crowds out an error. `kinds` has
    all that there are."""

    limit: int = FINDINGS_MAX
    kept: list[Finding] = field(default_factory=list)
    counts: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(Severity, 0))
    by_topic: dict[str, int] = field(default_factory=dict)
    kinds: set[FindingKind] = field(default_factory=set)

    def add(self, kind: FindingKind, where: str, detail: str, *, topic_id: str = "") -> None:
        severity = kind.severity
        self.counts[severity] += 1
        self.kinds.add(kind)
        if topic_id and severity is not Severity.NOTE:
            self.by_topic[topic_id] = self.by_topic.get(topic_id, 0) + 1
        if self.counts[severity] <= self.limit:
            self.kept.append(Finding(kind, where, detail, topic_id))

    @property
    def errors(self) -> int:
        return self.counts[Severity.ERROR]

    @property
    def left_out(self) -> int:
        """Findings that were counted and not kept."""
        return sum(self.counts.values()) - len(self.kept)
