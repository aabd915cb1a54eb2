"""One run of a backup: cuts all partitions, then copies what is new below the cuts, then writes its manifest.

Nothing has to be remembered of a run that was killed: what it has copied is found by its names.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from acklog.backup.backup_error import BackupError
from acklog.backup.backup_set import BackupFinding, BackupSet
from acklog.backup.content_file import FOLDER as CONTENT
from acklog.backup.content_file import PartitionPlace
from acklog.backup.copy_tools import CopyTools
from acklog.backup.delayed_messages import DelayedMessages
from acklog.backup.manifest import FOLDER as RUNS
from acklog.backup.manifest import ChunkEntry, Manifest, TopicEntry, encode_manifest, manifest_name
from acklog.backup.partition_backup import PartitionBackup
from acklog.backup.run_id import run_id_at
from acklog.backup.server_catalog import ServerCatalog
from acklog.client import copy_calls
from acklog.errors import TopicNotFound

LEFT_OUT = (
    "tokens",
    "named producers",
    "members of exclusive groups",
    "pauses of groups",
    "namespaces and their limits",
    "what makes a topic a queue of SQS",
    "redrive jobs",
    "the audit log",
)
"""What a backup never has: told at the end of each run."""


_Result = TypeVar("_Result")


class _Cut(NamedTuple):
    shown: dict[str, Any]
    delayed: DelayedMessages
    partitions: dict[int, copy_calls.PartitionCut]
    cut_ms: int


class BackupRun:
    """Of the topics whose names match one of the patterns. `now_ms` is wall-clock time. `damaged` are
    earlier runs that cannot be used, once the backup is taken."""

    def __init__(self, tools: CopyTools, *, server: str, now_ms: Callable[[], int]) -> None:
        self._copies = tools.copies
        self._catalog = ServerCatalog(tools.copies)
        self._store = tools.store
        self._tools = tools
        self._server = server
        self._now_ms = now_ms
        self._gone: list[str] = []
        self._restoring: list[str] = []
        self.damaged: list[BackupFinding] = []

    def take(self, patterns: Sequence[str] = ("*",)) -> Manifest:
        """The manifest, which is written. Raises BackupError where no topic matches, and AcklogError; then there is no
        such backup, and the next run goes on where this one was."""
        began_ms = self._now_ms()
        names = self._names(patterns)
        cuts = {name: cut for name in names if (cut := self._unless_gone(name, self._cut)) is not None}
        groups = self._catalog.groups()  # behind the cuts, so that each group of theirs is among them
        partitions = PartitionBackup(self._tools, self._known_files())
        copied = [self._unless_gone(name, partial(self._copy, partitions, cut)) for name, cut in cuts.items()]
        topics = [topic for topic in copied if topic is not None]
        wanted = {name for topic in topics for each in topic.partitions for name in each.groups.values()}
        manifest = Manifest(
            "",
            self._server,
            began_ms,
            self._now_ms(),
            topics,
            [group for name, group in groups.items() if name in wanted],
            self._gone,
            list(LEFT_OUT),
            self._restoring,
        )
        return self._written(manifest)

    def _known_files(self) -> dict[str, ChunkEntry]:
        """Of all runs that can be read."""
        manifests, self.damaged = BackupSet(self._store).runs()
        copies = [copy for manifest in manifests for topic in manifest.topics for copy in topic.partitions]
        return {chunk.name: chunk for copy in copies for chunk in copy.chunks}

    def _names(self, patterns: Sequence[str]) -> list[str]:
        shown = self._catalog.topics()
        found = [each for each in shown if any(fnmatchcase(each["name"], pattern) for pattern in patterns)]
        if not found and tuple(patterns) != ("*",):
            raise BackupError(f"no topic matches {', '.join(patterns)}")
        self._restoring = [each["name"] for each in found if each.get("restoring")]
        return [each["name"] for each in found if not each.get("restoring")]

    def _cut(self, name: str) -> _Cut:
        shown = self._catalog.topic(name)
        delayed = DelayedMessages(self._catalog, name)
        delayed.look()
        partitions = {}
        for state in shown["partitionStates"]:
            if state["life"] == "gone":
                continue
            cut = self._copies.perform(copy_calls.cut(name, state["partition"]))
            if cut.topic_id != shown["id"]:
                raise TopicNotFound(f"the topic {name!r} was made anew meanwhile")
            partitions[state["partition"]] = cut
        return _Cut(shown, delayed, partitions, self._now_ms())

    def _copy(self, partitions: PartitionBackup, cut: _Cut, name: str) -> TopicEntry:
        shown = cut.shown
        parts = [
            partitions.take(name, PartitionPlace(shown["id"], number), each) for number, each in cut.partitions.items()
        ]
        ends = {number: each.high_watermark for number, each in cut.partitions.items()}
        files = cut.delayed.files(shown["id"], ends, cut_ms=cut.cut_ms)
        for file_name, content in files.items():
            self._store.put_new(file_name, content)
        return TopicEntry(
            name,
            shown["id"],
            shown["replicationFactor"],
            shown["config"],
            shown["decommissioned"],
            parts,
            self._catalog.recurring(name),
            list(files),
            shown["partitions"],
        )

    def _unless_gone(self, name: str, work: Callable[[str], _Result]) -> _Result | None:
        """None where the topic went in the middle of it, which is told (rule R42)."""
        try:
            return work(name)
        except TopicNotFound:
            self._gone.append(name)
            return None

    def _written(self, manifest: Manifest) -> Manifest:
        """Under a name that no run has: of two that end at once, one is a millisecond later. Raises BackupError where
        something that it needs is there no more, as somebody pruned meanwhile."""
        present = self._store.sizes(CONTENT)
        missing = [
            name
            for name, size in manifest.content_names().items()
            if name not in present or (size is not None and present[name] != size)
        ]
        if missing:
            raise BackupError(f"{missing[0]} is not there any more: was something pruned meanwhile? Back up again")
        ended_ms = manifest.ended_ms
        taken = self._store.sizes(RUNS)
        while True:
            named = msgspec.structs.replace(manifest, run_id=run_id_at(ended_ms))
            name = manifest_name(named.run_id)
            if name not in taken and self._store.put_new(name, encode_manifest(named)):
                return named
            ended_ms += 1
