"""All runs in one place: listed, verified, pruned.

backup.json     {"formatVersion": 1}
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from acklog.backup.backup_error import BackupDamaged, BackupError
from acklog.backup.backup_store import BackupStore
from acklog.backup.content_file import FOLDER as CONTENT
from acklog.backup.content_file import check_chunk, check_content, chunk_of
from acklog.backup.manifest import FOLDER as RUNS
from acklog.backup.manifest import FORMAT_VERSION, Manifest, decode_manifest, manifest_name

MARK = "backup.json"


class BackupFinding(msgspec.Struct, frozen=True):
    """What is wrong with a file, and which runs need it."""

    name: str
    problem: str
    runs: list[str]


class Pruned(msgspec.Struct, frozen=True, rename="camel"):
    """What went, or would go."""

    runs: list[str]
    files: int
    size_bytes: int


class BackupSet:
    def __init__(self, store: BackupStore) -> None:
        self._store = store

    def begin(self) -> None:
        """Make the place one for backups. Raises BackupError for one of a later version, or of something else."""
        if not self._store.put_new(MARK, msgspec.json.encode({"formatVersion": FORMAT_VERSION}) + b"\n"):
            self.check()

    def check(self) -> None:
        """Raises BackupError where no backups are there that this version knows."""
        try:
            mark: Any = msgspec.json.decode(self._store.read(MARK))
            version = mark["formatVersion"]
        except BackupDamaged as error:
            raise BackupError(f"there are no backups here: {error.detail}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError, KeyError) as error:
            raise BackupError(f"there are no backups here: {MARK} is another's ({error})") from error
        if version != FORMAT_VERSION:
            raise BackupError(f"the backups have the format {version}, this version reads {FORMAT_VERSION}")

    def run_ids(self) -> list[str]:
        """The oldest first."""
        prefix, suffix = f"{RUNS}/", ".json"
        names = sorted(self._store.sizes(RUNS))
        return [name.removeprefix(prefix).removesuffix(suffix) for name in names if name.endswith(suffix)]

    def run(self, run_id: str | None = None) -> Manifest:
        """That one, or the last one: never silently an earlier one. Raises BackupError where there is none, and
        BackupDamaged."""
        chosen = self._known(run_id)
        try:
            return self._manifest(chosen)
        except BackupError as error:
            usable, _ = self.runs()
            if run_id is not None or not usable:
                raise
            onwards = f"choose the one before it by --run {usable[-1].run_id}"
            raise BackupDamaged(f"the last run cannot be used: {error.detail}; {onwards}") from error

    def runs(self, run_ids: Sequence[str] | None = None) -> tuple[list[Manifest], list[BackupFinding]]:
        """Those that can be used, of all or of some, the oldest first, and what is wrong with the others."""
        manifests: list[Manifest] = []
        findings: list[BackupFinding] = []
        for run_id in self.run_ids() if run_ids is None else run_ids:
            try:
                manifests.append(self._manifest(run_id))
            except BackupError as error:
                findings.append(BackupFinding(manifest_name(run_id), error.detail, [run_id]))
        return manifests, findings

    def _known(self, run_id: str | None) -> str:
        """That one, or the last one. Raises BackupError where there is none."""
        known = self.run_ids()
        if not known:
            raise BackupError("no run has ended here yet")
        if run_id is not None and run_id not in known:
            raise BackupError(f"there is no run {run_id}; the last one is {known[-1]}")
        return run_id or known[-1]

    def _manifest(self, run_id: str) -> Manifest:
        name = manifest_name(run_id)
        return decode_manifest(name, self._store.read(name))

    def verify(self, run_id: str | None = None) -> tuple[list[BackupFinding], int]:
        """What is wrong with one run, or all, and how many files were read. Each is read whole. Raises BackupError
        where there is no such run."""
        needed: dict[str, list[str]] = {}
        sizes: dict[str, int | None] = {}
        manifests, findings = self.runs(None if run_id is None else [self._known(run_id)])
        for manifest in manifests:
            for name, size_bytes in manifest.content_names().items():
                needed.setdefault(name, []).append(manifest.run_id)
                sizes[name] = size_bytes if size_bytes is not None else sizes.get(name)
        for name, runs in needed.items():
            try:
                self._check(name, sizes[name])
            except BackupDamaged as error:
                findings.append(BackupFinding(name, error.detail, runs))
        return findings, len(needed)

    def _check(self, name: str, size_bytes: int | None) -> None:
        content = self._store.read(name)
        if size_bytes is not None and len(content) != size_bytes:
            raise BackupDamaged(f"the file {name} has {len(content)} bytes, not {size_bytes}")
        chunk = chunk_of(name, len(content))
        if chunk is None:
            check_content(name, content)
        else:
            check_chunk(chunk, content)

    def prune(self, keep: int, *, dry_run: bool = False) -> Pruned:
        """Remove all runs but the last `keep`, the content that none of these needs, and what killed runs were writing.

        Manifests go first: what is left of a pruning that was killed is content that nobody needs, and goes with the
        next one. Raises BackupDamaged, with nothing removed, where a manifest that stays cannot be read: nobody knows
        what it needs. No backup may run meanwhile, as what it has copied is needed by no manifest yet.
        """
        known = self.run_ids()
        going, staying = known[: max(0, len(known) - keep)], known[max(0, len(known) - keep) :]
        needed: set[str] = set()
        for run_id in staying:
            needed |= self.run(run_id).content_names().keys()
        unneeded = {name: size for name, size in self._store.sizes(CONTENT).items() if name not in needed}
        for folder in (CONTENT, RUNS):
            unneeded |= self._store.unfinished(folder)
        if not dry_run:
            for run_id in going:
                self._store.remove(manifest_name(run_id))
            for name in unneeded:
                self._store.remove(name)
        return Pruned(going, len(unneeded), sum(unneeded.values()))
