"""Where a seek would take a group, and what that means for its messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acklog.command.failures import UsageError
from acklog.command.quantities import count_text
from acklog.command.times import clock_text, parse_moment
from acklog.wire.identifiers import parse_message_id

if TYPE_CHECKING:
    from acklog.catalog import GroupOffsets, PartitionProgress, PartitionSeek, SeekResult

OFFSET_DIGITS_MAX = 11  # longer numbers are milliseconds since 1970; `offset:N` says that one is an offset
_OFFSET_PREFIX = "offset:"


@dataclass(frozen=True, slots=True)
class SeekTarget:
    """Exactly one of them, as the SDK's `seek` takes them."""

    to_offset: int | None = None
    to_time_ms: int | None = None
    to_earliest: bool = False
    to_latest: bool = False
    to_relative: int | None = None
    to_message_id: str | None = None

    def text(self) -> str:
        if self.to_offset is not None:
            return f"offset {self.to_offset:,}"
        if self.to_time_ms is not None:
            return clock_text(self.to_time_ms)
        if self.to_relative is not None:
            return f"{count_text(abs(self.to_relative), 'message')} {'back' if self.to_relative < 0 else 'ahead'}"
        if self.to_message_id is not None:
            return f"the message {self.to_message_id}"
        return "the earliest message" if self.to_earliest else "the end of the log"


def parse_target(text: str, *, has_partition: bool, now_ms: int) -> SeekTarget:
    """`earliest`, `latest`, an offset (`1234`, `offset:1234`), messages from where it is (`+100`, `-100`), a message's
    id, or a moment (`2h`, `2026-11-21T12:00`).

    Raises UsageError.
    """
    if text == "earliest":
        return SeekTarget(to_earliest=True)
    if text == "latest":
        return SeekTarget(to_latest=True)
    if text[:1] in {"+", "-"} and text[1:].isascii() and text[1:].isdigit():
        return SeekTarget(to_relative=int(text))
    if parse_message_id(text) is not None:
        return SeekTarget(to_message_id=text)
    digits = text.removeprefix(_OFFSET_PREFIX)
    if digits.isascii() and digits.isdigit() and (digits != text or len(digits) <= OFFSET_DIGITS_MAX):
        if not has_partition:
            hint = "Name the partition: --partition NUMBER. For all of them: --to earliest, latest or a time."
            raise UsageError("an offset is one partition's", field="--to", hint=hint)
        return SeekTarget(to_offset=int(digits))
    try:
        return SeekTarget(to_time_ms=parse_moment(text, now_ms=now_ms, field="--to"))
    except UsageError as error:
        hint = "It may be earliest, latest, an offset (1234), -100 (messages back), a message's id, 2h (ago) or a date."
        raise UsageError(f"{text!r} is no place to seek to", field="--to", hint=hint) from error


@dataclass(frozen=True, slots=True)
class PartitionMove:
    """`again` messages that were done come once more, `skipped` ones never come. Both are upper bounds where messages
    behind the first that is not done are done already."""

    partition: int
    before: int
    after: int
    again: int
    skipped: int
    leased: int = 0

    def document(self) -> dict[str, object]:
        return {
            "partition": self.partition,
            "from": self.before,
            "to": self.after,
            "deliveredAgain": self.again,
            "skipped": self.skipped,
            "leased": self.leased,
        }


@dataclass(frozen=True, slots=True)
class SeekPlan:
    """What a seek moves, and the partitions that it cannot move."""

    moves: list[PartitionMove]
    failed: "list[PartitionSeek]"

    @property
    def again(self) -> int:
        return sum(move.again for move in self.moves)

    @property
    def skipped(self) -> int:
        return sum(move.skipped for move in self.moves)

    @property
    def leased(self) -> int:
        return sum(move.leased for move in self.moves)


def plan_of(result: "SeekResult", offsets: "GroupOffsets") -> SeekPlan:
    """From a seek (a dry run, as a rule) and the group's progress before it."""
    progress = {each.partition: each for each in offsets.offsets if each.topic == result.topic}
    failed = [each for each in result.partitions if each.problem is not None]
    moves = [_move(each, progress) for each in result.partitions if each.problem is None]
    return SeekPlan(moves, failed)


def _move(seek: "PartitionSeek", progress: "Mapping[int, PartitionProgress]") -> PartitionMove:
    after = seek.offset or 0
    before = after if seek.previous is None else seek.previous
    known = progress.get(seek.partition)
    done_above = 0 if known is None else known.done_above or 0
    log_start = 0 if known is None else known.log_start or 0
    again = max(0, before - max(after, log_start)) + done_above
    skipped = max(0, after - before)
    leased = 0 if known is None else known.in_flight or 0
    return PartitionMove(seek.partition, before, after, again, skipped, leased)
