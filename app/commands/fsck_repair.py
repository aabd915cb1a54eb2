"""`acklog fsck --repair`: the groups' state of partitions anew where that is damaged, and a report of what is known."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acklog.command.failures import CommandError, UsageError
from acklog.command.views import Cell, Column, Sentence, Style, Table, View

if TYPE_CHECKING:
    from storage.check.delivery_repair import DeliveryRepair, PartitionRepair, RepairedGroup
    from storage.check.directory_check import DirectoryReport
    from storage.check.findings import FindingKind
    from storage.disk.port import Disk
    from storage.disk.real_disk import RealDisk


def check_owner(disk: "Disk", data_dir: str) -> None:
    """A node's state is a copy of what other nodes have. Raises UsageError."""
    from storage.log.directory_role import ROLE_PATH

    if disk.exists(ROLE_PATH):
        raise UsageError(
            f"{data_dir} is a node's: the other replicas have what is damaged here",
            field="DATA_DIR",
            hint="Start the node: it takes the groups' state from them. For a topic with one replica: --force; then "
            "each group whose state is lost begins at the first message, as its progress is in etcd.",
        )


def repair_of(disk: "Disk", report: "DirectoryReport") -> "DeliveryRepair":
    """Raises UsageError where the directory is damaged elsewhere, too, so that nobody can say where the logs end."""
    from storage.check.delivery_repair import DeliveryRepair

    in_the_way = sorted(each.name for each in report.findings.kinds & _in_the_way())
    if in_the_way:
        raise UsageError(
            f"groups' state cannot be repaired before the rest of the directory is: {', '.join(in_the_way)}",
            field="DATA_DIR",
            hint="acklog fsck says what to do about each; acklog rebuild makes the coordination file anew.",
        )
    return DeliveryRepair(
        disk, logs=report.logs, catalog=report.catalog, journal_key=report.journal_key, ciphers=report.ciphers
    )


def _in_the_way() -> "set[FindingKind]":
    from storage.check.findings import FindingKind

    return {
        FindingKind.META_DAMAGED,
        FindingKind.META_MISSING,
        FindingKind.PARTITIONS_MISSING,
        FindingKind.FORMAT_UNKNOWN,
        FindingKind.RECOVERY_POINTS_DAMAGED,
        FindingKind.JOURNAL_DAMAGED,
        FindingKind.JOURNAL_MISSING,
        FindingKind.JOURNAL_SHORT,
        FindingKind.JOURNAL_ENDS_EARLY,
        FindingKind.JOURNAL_RECORD_DAMAGED,
        FindingKind.COORDINATION_MISSING,
        FindingKind.COORDINATION_DAMAGED,
        FindingKind.ENTRY_UNREADABLE,
    }


@contextmanager
def opened_for_writing(data_dir: str) -> "Iterator[RealDisk]":
    """With every server kept out, and every other check. Raises CommandError."""
    from storage.disk.port import FileLockedError
    from storage.disk.real_disk import RealDisk
    from storage.log.data_directory import LOCK_PATH

    disk = RealDisk(data_dir)
    try:
        disk.lock(LOCK_PATH)
        yield disk
    except FileLockedError as error:
        raise UsageError(f"a server, or a check, uses {data_dir}", hint="Stop it first.") from error
    except OSError as error:
        hint = "Run this again as the server's user, on a disk with space: what is done stays done."
        raise CommandError(f"{data_dir}: {error}", hint=hint) from error
    finally:
        disk.close()


# --- what is shown ---------------------------------------------------------------------------------------------------


def repair_document(repairs: "list[PartitionRepair]", *, is_carried_out: bool) -> dict[str, object]:
    """What `--json` has under `repair`."""
    return {
        "isCarriedOut": is_carried_out,
        "partitions": [
            {
                "topic": repair.topic or None,
                "topicId": repair.key.topic_id,
                "partition": repair.key.partition,
                "damage": repair.damage,
                "refusal": repair.refusal or None,
                "keptAs": repair.kept_as or None,
                "groups": [
                    {
                        "group": group.name or None,
                        "id": group.group_id,
                        "basis": group.basis.name,
                        "doneBelow": group.done_below,
                        "doneAbove": group.done_above,
                        "attemptsKnown": group.attempts_known,
                        "mayBeDeliveredAgain": group.again_max,
                        "projectedOffset": None if group.projected < 0 else group.projected,
                    }
                    for group in repair.groups
                ],
            }
            for repair in repairs
        ],
    }


def repair_views(repairs: "list[PartitionRepair]", *, is_carried_out: bool) -> list[View]:
    """The same for people."""
    if not repairs:
        return [Sentence(""), Sentence("The groups' state is sound everywhere: there is nothing to repair.", "good")]
    views: list[View] = []
    for repair in repairs:
        views += _of_partition(repair)
    views.append(Sentence(""))
    views.append(
        Sentence(
            "No message is skipped. Of those that may be delivered again, attempts and dead letters that are not known "
            "count anew, as do such groups' counts of dead letters and of messages lost to retention.",
            "muted",
        )
    )
    if is_carried_out:
        views.append(Sentence("Repaired; the check above is of before.", "good"))
    else:
        views.append(Sentence("Nothing has been changed. --yes carries it out.", "strong"))
    return views


def _of_partition(repair: "PartitionRepair") -> list[View]:
    views: list[View] = [
        Sentence(""),
        Sentence(f"{repair.topic or repair.key.topic_id} {repair.key.partition}: the groups' state is damaged", "bad"),
        *(Sentence(f"  {damage}") for damage in repair.damage),
    ]
    if repair.refusal:
        return [*views, Sentence(f"  -> {repair.refusal}", "strong")]
    columns = [
        Column("group", may_wrap=True),
        *(Column(name, align="right") for name in ("done below", "above", "again at most", "projected", "attempts")),
        Column("made of", may_wrap=True),
    ]
    views.append(Table(columns, [_row(group) for group in repair.groups], empty="  No group is known to have read it."))
    if repair.kept_as:
        views.append(Sentence(f"  The file before is kept: {repair.kept_as}", "muted"))
    return views


def _row(group: "RepairedGroup") -> list[Cell | str]:
    style: Style = "warning" if group.again_max else "good"
    return [
        Cell(group.name or group.group_id, "name"),
        f"{group.done_below:,}",
        f"{group.done_above:,}",
        Cell(f"{group.again_max:,}", style),
        "" if group.projected < 0 else f"{group.projected:,}",
        f"{group.attempts_known:,}",
        group.basis.value,
    ]
