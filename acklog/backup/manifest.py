"""What one run of a backup consists of: written last, once, and never changed. Without it there is no such backup.

runs/<run id>.json      {"sha256": of the text of the manifest, "manifest": {…}}
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from acklog.backup.backup_error import BackupDamaged, BackupError
from acklog.backup.content_file import digest_of

FOLDER = "runs"
FORMAT_VERSION = 1


class ChunkEntry(msgspec.Struct, frozen=True, rename="camel"):
    """A file, and how many messages are in it."""

    name: str
    size_bytes: int
    messages: int


class Gap(msgspec.Struct, frozen=True, rename="camel"):
    """What the log does not have any more, or could not give, though the backup should have it (rule R42)."""

    start: int
    end: int
    reason: str


class TopicGap(msgspec.Struct, frozen=True, rename="camel"):
    """A gap, and where it is."""

    topic: str
    partition: int
    gap: Gap


class PartitionEntry(msgspec.Struct, frozen=True, rename="camel"):
    """A partition cut at `end`: readers begin at `log_start`, and find so many `messages`. `groups` are the names of
    those that have read there, by the ids that they have in the file `groups_name`."""

    partition: int
    log_start: int
    end: int
    chunks: list[ChunkEntry]
    messages: int
    gaps: list[Gap] = []
    groups_name: str = ""
    groups: dict[str, str] = {}


class TopicEntry(msgspec.Struct, frozen=True, rename="camel"):
    """`scheduled_names` are the files of its delayed messages, and `recurring` its recurring schedules, by name. Of
    `partition_count` those are not in `partitions` that were gone already."""

    name: str
    id: str
    replication_factor: int
    config: dict[str, Any]
    decommissioned: list[int]
    partitions: list[PartitionEntry]
    recurring: dict[str, dict[str, msgspec.Raw]]
    scheduled_names: list[str]
    partition_count: int

    @property
    def messages(self) -> int:
        """That the backup has, and readers find."""
        return sum(each.messages for each in self.partitions)

    def gaps(self, ends: Mapping[int, int]) -> list[TopicGap]:
        """Those below where partitions end, which is where they were cut unless `ends` says otherwise."""
        return [
            TopicGap(self.name, copy.partition, gap)
            for copy in self.partitions
            for gap in copy.gaps
            if gap.start < ends.get(copy.partition, copy.end)
        ]


class GroupEntry(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    mode: str
    settings: dict[str, Any]


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """`gone` are topics that went while they were backed up, `restoring` those that a restore had not finished, and
    `left_out` what a backup never has: none of it is silently missing."""

    run_id: str
    server: str
    began_ms: int
    ended_ms: int
    topics: list[TopicEntry]
    groups: list[GroupEntry]
    gone: list[str] = []
    left_out: list[str] = []
    restoring: list[str] = []
    format_version: int = FORMAT_VERSION

    def content_names(self) -> dict[str, int | None]:
        """Every file that it needs, with its size where that is known."""
        found: dict[str, int | None] = {}
        for topic in self.topics:
            found |= dict.fromkeys(topic.scheduled_names)
            for partition in topic.partitions:
                found |= {each.name: each.size_bytes for each in partition.chunks}
                if partition.groups_name:
                    found[partition.groups_name] = None
        return found


class _Sealed(msgspec.Struct):
    sha256: str
    manifest: msgspec.Raw


class _Version(msgspec.Struct, rename="camel"):
    format_version: int


def manifest_name(run_id: str) -> str:
    return f"{FOLDER}/{run_id}.json"


def encode_manifest(manifest: Manifest) -> bytes:
    text = msgspec.json.encode(manifest)
    return msgspec.json.encode(_Sealed(digest_of(text), msgspec.Raw(text))) + b"\n"


def decode_manifest(name: str, content: bytes) -> Manifest:
    """Raises BackupDamaged, and BackupError for one that a later version wrote."""
    if not content.endswith(b"}\n"):
        raise BackupDamaged(f"the manifest {name} ends early")
    try:
        sealed = msgspec.json.decode(content, type=_Sealed)
        if digest_of(bytes(sealed.manifest)) != sealed.sha256:
            raise BackupDamaged(f"the manifest {name} is not what was written")
        version = msgspec.json.decode(sealed.manifest, type=_Version).format_version
        if version != FORMAT_VERSION:
            raise BackupError(f"the manifest {name} has the format {version}, this version reads {FORMAT_VERSION}")
        manifest = msgspec.json.decode(sealed.manifest, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BackupDamaged(f"the manifest {name} is damaged: {error}") from error
    if manifest_name(manifest.run_id) != name:
        raise BackupDamaged(f"the manifest {name} is that of the run {manifest.run_id}")
    return manifest
