"""`acklog fsck`: an offline check of a data directory that changes nothing in it, unless it is told to repair."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError, UsageError
from acklog.command.session import session_of

if TYPE_CHECKING:
    from acklog.command.output import Output
    from acklog.command.progress import Progress
    from cluster.stores.sqlite_copy import SqliteContent
    from cluster.stores.sqlite_evidence import StoreEvidence
    from storage.check.directory_check import DirectoryReport
    from storage.disk.port import Disk
    from storage.disk.read_only_disk import ReadOnlyDisk
    from storage.encryption.local_master_key import LocalMasterKey
from app.commands.fsck_report import document, views

FINDINGS_MAX = 100_000
MIB = 1024 * 1024


def fsck(
    context: typer.Context,
    data_dir: Annotated[str, typer.Argument(metavar="DATA_DIR", help="What the server's --data-dir was.")],
    decodes_records: Annotated[
        bool, typer.Option("--records", help="Also decode every message, not only its checksums.")
    ] = False,
    findings_max: Annotated[
        int, typer.Option("--max-findings", metavar="N", min=1, max=FINDINGS_MAX, help="Findings listed per severity.")
    ] = 1000,
    master_key_file: Annotated[
        str | None,
        typer.Option("--master-key-file", metavar="FILE", help="Look into what is encrypted, too, by this key."),
    ] = None,
    repairs: Annotated[
        bool, typer.Option("--repair", help="Say how damaged state of groups can be restored; with --yes, do it.")
    ] = False,
    is_agreed: Annotated[bool, typer.Option("--yes", help="Carry out what --repair says.")] = False,
    is_forced: Annotated[bool, typer.Option("--force", help="Repair the directory of a cluster's node, too.")] = False,
) -> None:
    """Check a data directory while no server uses it.

    Reads every batch, index, checkpoint, the journal, the groups' state and the coordination file, and changes nothing
    without --repair --yes. Exit code 0: no errors (there may be warnings), 1: errors, 2: it could not be checked.
    """
    output = session_of(context).output
    look = _Look(
        output,
        data_dir,
        decodes_records=decodes_records,
        findings_max=findings_max,
        master_key=None if master_key_file is None else _master_key(master_key_file),
    )
    if repairs:
        report = _repair(look, is_agreed=is_agreed, is_forced=is_forced)
    elif is_agreed or is_forced:
        raise UsageError("--yes and --force are about --repair", hint="A check alone changes nothing.")
    else:
        disk = _open(data_dir)
        try:
            report = look.check(disk)
        finally:
            disk.close()
        output.show(document(data_dir, report), *views(report))
    if report.findings.errors:
        raise typer.Exit(ExitCode.FAILED)


def _repair(look: "_Look", *, is_agreed: bool, is_forced: bool) -> "DirectoryReport":
    """What it says is of before; the report that is returned is of the directory as it is then."""
    from app.commands.fsck_repair import check_owner, opened_for_writing, repair_document, repair_of, repair_views

    data_dir, disk = look.data_dir, _open(look.data_dir)
    try:
        if not is_forced:
            check_owner(disk, data_dir)
        if not is_agreed:
            before = after = look.check(disk)
            planned = repair_of(disk, before).plan()
    finally:
        disk.close()
    if is_agreed:
        with opened_for_writing(data_dir) as writable:
            before = after = look.check(writable)
            repair = repair_of(writable, before)
            planned = repair.plan()
            for each in planned:
                if not each.refusal:
                    repair.carry_out(each)
            if planned:
                after = look.check(writable)
    shown = document(data_dir, before) | {"repair": repair_document(planned, is_carried_out=is_agreed)}
    look.output.show(
        shown | {"isSoundAfter": not after.findings.errors},
        *views(before),
        *repair_views(planned, is_carried_out=is_agreed),
    )
    return after


class _Look:
    """A check of a directory, as often as it is wanted."""

    def __init__(
        self,
        output: "Output",
        data_dir: str,
        *,
        decodes_records: bool,
        findings_max: int,
        master_key: "LocalMasterKey | None",
    ) -> None:
        self.output = output
        self.data_dir = data_dir
        self._decodes_records = decodes_records
        self._findings_max = findings_max
        self._master_key = master_key

    def check(self, disk: "Disk") -> "DirectoryReport":
        """Raises CommandError."""
        if self._master_key is not None:
            _check_keys_are_here(disk, self.data_dir)
        return _check(
            self.output,
            self.data_dir,
            disk,
            decodes_records=self._decodes_records,
            findings_max=self._findings_max,
            master_key=self._master_key,
        )


def _check_keys_are_here(disk: "Disk", data_dir: str) -> None:
    """Raises UsageError: to say that all is sound would be to say that it was looked into."""
    from storage.log.directory_role import ROLE_PATH

    if disk.exists(ROLE_PATH):
        raise UsageError(
            f"{data_dir} is a node's: its data keys are in etcd, and no master key opens them from here",
            field="--master-key-file",
            hint="Without it checksums are verified. What the messages hold is read from the running cluster.",
        )


def _check(
    output: "Output",
    data_dir: str,
    disk: "Disk",
    *,
    decodes_records: bool,
    findings_max: int,
    master_key: "LocalMasterKey | None",
) -> "DirectoryReport":
    from app.processes.embedded_store import evidence_of
    from cluster.ports.runtime import SystemEntropy
    from cluster.stores.sqlite_evidence import NO_EVIDENCE
    from storage.check.directory_check import (
        COORDINATION_COPY_PATH,
        COORDINATION_PATH,
        DirectoryCheck,
        segment_bytes,
    )
    from storage.check.directory_ciphers import DirectoryCiphers

    try:
        with output.progress("Checking (MiB)", total=segment_bytes(disk) // MIB) as progress:
            return DirectoryCheck(
                disk,
                coordination=_coordination(data_dir, COORDINATION_PATH, evidence_of(disk, data_dir)),
                coordination_copy=_coordination(data_dir, COORDINATION_COPY_PATH, NO_EVIDENCE),
                findings_max=findings_max,
                decodes_records=decodes_records,
                ciphers=DirectoryCiphers(master_key, SystemEntropy()),
                advanced=_Mebibytes(progress).advance,
                looking_at=lambda what: progress.describe(f"Checking {what} (MiB)"),
            ).run()
    except OSError as error:
        raise CommandError(
            f"{data_dir} cannot be read: {error}", exit_code=ExitCode.USAGE, hint="Run this as the server's user."
        ) from error


def _master_key(path: str) -> "LocalMasterKey":
    """Raises UsageError."""
    from app.configuration.master_key_options import MasterKeyOptions
    from app.configuration.setting_error import SettingsError
    from app.processes.master_keys import load_master_keys
    from cluster.ports.runtime import SystemEntropy
    from storage.encryption.local_master_key import LocalMasterKey

    try:
        key = load_master_keys(MasterKeyOptions(master_key_file=path), {}, SystemEntropy()).current
    except SettingsError as error:
        raise UsageError(str(error), field="--master-key-file") from None
    assert isinstance(key, LocalMasterKey), "a file holds the key itself"
    return key


def _open(data_dir: str) -> "ReadOnlyDisk":
    """The directory, with every server kept out. Raises CommandError."""
    from storage.disk.port import FileLockedError
    from storage.disk.read_only_disk import ReadOnlyDisk
    from storage.log.data_directory import LOCK_PATH, META_PATH
    from storage.log.keys import PARTITIONS_DIRECTORY

    try:
        disk = ReadOnlyDisk(data_dir)
        if not disk.exists(META_PATH) and not disk.exists(PARTITIONS_DIRECTORY):
            hint = "Name what the server got as --data-dir; it holds meta.json, journal/ and partitions/."
            raise UsageError(f"{data_dir} is not a data directory of Acklog", field="DATA_DIR", hint=hint)
        disk.lock(LOCK_PATH)
    except FileLockedError as error:
        raise UsageError(
            f"a server uses {data_dir}, and a check needs files that nobody changes",
            hint="Stop the server first, or check a copy. A running server is looked at by: acklog doctor.",
        ) from error
    except OSError as error:
        raise UsageError(f"{data_dir} cannot be read: {error.strerror or error}", field="DATA_DIR") from error
    return disk


def _coordination(data_dir: str, name: str, evidence: "StoreEvidence") -> "SqliteContent | None":
    from cluster.stores.sqlite_copy import read_copy

    try:
        return read_copy(f"{data_dir}/{name}", evidence=evidence)
    except OSError as error:
        raise CommandError(
            f"{name} cannot be copied for reading: {error}",
            exit_code=ExitCode.USAGE,
            hint="It is copied into the directory for temporary files; TMPDIR names another one.",
        ) from error


class _Mebibytes:
    """Bytes on their way to a progress that counts in MiB."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._rest = 0

    def advance(self, size_bytes: int) -> None:
        self._rest += size_bytes
        whole, self._rest = divmod(self._rest, MIB)
        if whole:
            self._progress.advance(whole)
