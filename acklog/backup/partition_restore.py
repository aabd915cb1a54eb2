"""One partition, restored: what of its log is not there yet, and what its groups had done."""

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from acklog.backup.backup_error import BackupError
from acklog.backup.content_file import checked_chunk, checked_content, chunk_of
from acklog.backup.copy_tools import CopyTools
from acklog.backup.manifest import PartitionEntry
from acklog.backup.message_count import messages_from
from acklog.backup.restore_plan import TopicPlan
from acklog.client import copy_calls
from acklog.wire.log_page import verified

PAGE_BYTES = 8 * 1024 * 1024


class FilledPartition(NamedTuple):
    """Where it ends, and how many messages readers find."""

    end: int
    messages: int


class PartitionRestore:
    """Every call raises AcklogError, and BackupDamaged for a file that is not what it was: nothing of it is sent
    then."""

    def __init__(self, tools: CopyTools) -> None:
        self._tools = tools
        self._copies = tools.copies
        self._store = tools.store

    def fill(self, plan: TopicPlan, copy: PartitionEntry, *, end: int) -> FilledPartition:
        """Append what is missing of a partition that ends at `end` by now."""
        messages = 0
        for entry in copy.chunks:
            chunk = chunk_of(entry.name, entry.size_bytes)
            if chunk is None:
                raise BackupError(f"{entry.name} is no file of messages")
            if chunk.end <= end and plan.is_whole:
                self._tools.advanced(chunk.size_bytes)
                continue
            content, is_cut = before(plan.until_ms, checked_chunk(self._store, chunk))
            for page in pages(content):
                end = self._append(plan, copy.partition, page, end)
            messages += messages_from(copy.log_start, content)
            if is_cut:
                break
        if plan.is_whole:
            end = self._append(plan, copy.partition, b"", end, fill_to=copy.end)
            messages = copy.messages
        return FilledPartition(end, messages)

    def groups(self, plan: TopicPlan, copy: PartitionEntry, known: Container[str]) -> None:
        """Those that are `known`: others were deleted while they were backed up. Durable on return. No group is further
        than the log here goes."""
        groups = {group_id: name for group_id, name in copy.groups.items() if name in known}
        if groups:
            state = checked_content(self._store, copy.groups_name)
            self._copies.perform(copy_calls.restore_groups(plan.name, copy.partition, plan.restore_id, groups, state))

    def _append(self, plan: TopicPlan, partition: int, page: bytes, end: int, *, fill_to: int | None = None) -> int:
        """Until the server has all of it: it fills long stretches of which nothing is left step by step."""
        wanted = max(end, fill_to or 0, last_end(page))
        while end < wanted:
            call = copy_calls.restore_batches(plan.name, partition, plan.restore_id, page, fill_to=fill_to)
            reached = self._copies.perform(call).end
            if reached <= end:
                raise BackupError(f"partition {partition} of {plan.name} does not go on behind offset {end}")
            end = reached
        self._tools.moved(len(page))
        return end


def before(until_ms: int, content: bytes) -> tuple[bytes, bool]:
    """The batches that were appended before that time, and whether there are others."""
    for at, header in verified(content):
        if header.append_time_ms >= until_ms:
            return content[:at], True
    return content, False


def pages(content: bytes) -> Iterator[bytes]:
    """Whole batches, about PAGE_BYTES at a time."""
    ends = [at + header.length for at, header in verified(content)]
    begin = 0
    for end in ends:
        if end - begin >= PAGE_BYTES or end == ends[-1]:
            yield content[begin:end]
            begin = end


def last_end(page: bytes) -> int:
    """Behind the last message; 0 where there is none."""
    found: Sequence[int] = [header.next_offset for _, header in verified(page)]
    return found[-1] if found else 0
