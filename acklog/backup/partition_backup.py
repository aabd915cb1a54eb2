"""One partition, backed up: what is new of its log, up to where it was cut."""

from collections.abc import Mapping

from acklog.backup.backup_error import BackupError
from acklog.backup.chunk_chain import SEALED_BYTES, chunk_chain
from acklog.backup.content_file import Chunk, PartitionPlace, checked_chunk, chunk_of, groups_name, new_chunk
from acklog.backup.copy_tools import CopyTools
from acklog.backup.manifest import ChunkEntry, Gap, PartitionEntry
from acklog.backup.message_count import messages_from
from acklog.client import copy_calls
from acklog.errors import LogDiverged, OffsetOutOfRange, RecordsCorrupt, TopicNotFound
from acklog.wire.log_page import verified

PAGE_BYTES = 8 * 1024 * 1024
_REMOVED = "retention, or somebody, had removed it before it was read"
_CORRUPT = "the server could not read it"


class PartitionBackup:
    """`known` are files that earlier runs have, by name."""

    def __init__(self, tools: CopyTools, known: Mapping[str, ChunkEntry]) -> None:
        self._tools = tools
        self._copies = tools.copies
        self._store = tools.store
        self._entries = dict(known)
        self._gaps: list[Gap] = []

    def take(self, topic: str, place: PartitionPlace, cut: copy_calls.PartitionCut) -> PartitionEntry:
        """Raises TopicNotFound where it went meanwhile, also if another one has its name now; and AcklogError."""
        self._gaps = []
        chunks = self._known(topic, place, cut)
        chunks += self._read(topic, place, cut, chunks)
        entries = [self._entry(each) for each in chunks]
        name = groups_name(place, cut.high_watermark, cut.state)
        self._store.put_new(name, cut.state)
        return PartitionEntry(
            place.partition,
            cut.log_start,
            cut.high_watermark,
            entries,
            sum(self._messages_from(cut.log_start, *each) for each in zip(chunks, entries, strict=True)),
            self._gaps,
            name,
            cut.groups,
        )

    def _known(self, topic: str, place: PartitionPlace, cut: copy_calls.PartitionCut) -> list[Chunk]:
        """What an earlier run has, if the log still has the same (rule R9)."""
        found = [chunk_of(name, size) for name, size in self._store.sizes(place.folder).items()]
        chain = chunk_chain([each for each in found if each is not None], cut.log_start, cut.high_watermark)
        if chain:
            try:
                self._page(topic, place, chain[-1].end, epoch=chain[-1].epoch, max_bytes=1)
            except LogDiverged:
                return []
            except (OffsetOutOfRange, RecordsCorrupt):
                pass  # the reading meets it again
        return chain

    def _read(self, topic: str, place: PartitionPlace, cut: copy_calls.PartitionCut, known: list[Chunk]) -> list[Chunk]:
        made: list[Chunk] = []
        gathered = bytearray()
        position, end = (known[-1].end if known else cut.log_start), cut.high_watermark
        while position < end:
            try:
                page = self._page(topic, place, position, epoch=None, max_bytes=PAGE_BYTES)
            except (OffsetOutOfRange, RecordsCorrupt) as error:
                self._write(place, gathered, made)
                position = self._skip(position, end, error)
                continue
            content, behind = batches_below(page.content, end)
            if page.content and not content:
                break  # compaction has joined what was here to what is behind the end: nothing is left of it
            if not content:
                self._note_gap(position, end, _CORRUPT)
                break
            gathered += content
            self._tools.moved(len(content))
            position = behind
            if len(gathered) >= SEALED_BYTES:
                self._write(place, gathered, made)
        self._write(place, gathered, made)
        return made

    def _entry(self, chunk: Chunk) -> ChunkEntry:
        """A file that only a run which was killed has is read once more."""
        known = self._entries.get(chunk.name)
        return known or ChunkEntry(chunk.name, chunk.size_bytes, messages_from(0, checked_chunk(self._store, chunk)))

    def _messages_from(self, log_start: int, chunk: Chunk, entry: ChunkEntry) -> int:
        """How many of a file's messages readers find."""
        if log_start <= chunk.start:
            return entry.messages
        is_full = entry.messages == chunk.end - chunk.start
        return chunk.end - log_start if is_full else messages_from(log_start, checked_chunk(self._store, chunk))

    def _page(
        self, topic: str, place: PartitionPlace, offset: int, *, epoch: int | None, max_bytes: int
    ) -> copy_calls.BatchPage:
        page = self._copies.perform(
            copy_calls.batches(topic, place.partition, offset, epoch=epoch, max_bytes=max_bytes)
        )
        if page.topic_id != place.topic_id:
            raise TopicNotFound(f"the topic {topic!r} was deleted, and made anew, while it was backed up")
        return page

    def _write(self, place: PartitionPlace, gathered: bytearray, made: list[Chunk]) -> None:
        if gathered:
            content = bytes(gathered)
            gathered.clear()
            chunk = new_chunk(place, content)
            self._store.put_new(chunk.name, content)
            self._entries[chunk.name] = ChunkEntry(chunk.name, chunk.size_bytes, messages_from(0, content))
            made.append(chunk)

    def _skip(self, position: int, end: int, error: OffsetOutOfRange | RecordsCorrupt) -> int:
        """Where to go on behind what is gone, or cannot be read. Raises BackupError where nothing says so."""
        is_gone = isinstance(error, OffsetOutOfRange)
        names = ("logStart", "log_start") if is_gone else ("next_offset",)
        onwards = next((error.extra[name] for name in names if name in error.extra), None)
        if not isinstance(onwards, int) or onwards <= position:
            raise BackupError(f"offset {position} cannot be read, nor what is behind it: {error}") from error
        self._note_gap(position, min(onwards, end), _REMOVED if is_gone else _CORRUPT)
        return onwards

    def _note_gap(self, start: int, end: int, reason: str) -> None:
        self._gaps.append(Gap(start, end, reason))


def batches_below(content: bytes, end: int) -> tuple[bytes, int]:
    """The batches of a page that end at or below `end`, and where they end. Each is verified. What compaction has
    joined to something behind the end is left out: nothing is left of it.

    Raises BatchCorruptError.
    """
    until = behind = 0
    for at, header in verified(content):
        if header.next_offset > end:
            break
        until, behind = at + header.length, header.next_offset
    return content[:until], behind
