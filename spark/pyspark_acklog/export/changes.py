"""What has become of a topic since its last run: pure.

What comes is read. What went before anybody read it is a gap, or a log that ended at an unknown place: both are told,
and written down only where that is allowed (rule R42: nothing is "nothing new" if it is gone).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark_acklog.export.failures import ExportError, RemovedOffsetsError
from pyspark_acklog.export.manifest import Manifest
from pyspark_acklog.export.plan import Plan
from pyspark_acklog.export.ports import TopicBounds
from pyspark_acklog.export.spans import EndedLog, EndReason, Gap, Span, total_length

LOGS_NAMED_MAX = 10

LogName = tuple[str, int]
"""The id of a topic, and the number of a partition."""


@dataclass(frozen=True, slots=True)
class Changes:
    """`spans` are new, `gaps` what of them is gone; `ended` are logs that have ended since the last run. `has_topic`:
    the topic is there, or there again."""

    spans: list[Span]
    gaps: list[Gap]
    ended: list[EndedLog]
    has_topic: bool

    def refuse_losses(self, topic: str) -> None:
        """Raises RemovedOffsetsError for what was gone before it was exported."""
        lost = [each for each in self.ended if each.reason != "complete"]
        if lost:
            raise _lost(topic, lost, self.gaps, has_topic=self.has_topic)
        if self.gaps:
            raise removed_offsets(topic, self.gaps)


def is_readable(plan: Plan, bounds: TopicBounds | None) -> bool:
    """Whether the server still has the logs that the plan is about to read: not those of a topic that was deleted, nor
    of a partition that was freed. No run would ever get on with such a plan."""
    planned = {(span.topic_id, span.partition) for piece in plan.pieces for span in piece.spans}
    if bounds is None:
        return not planned
    return all(topic_id == bounds.topic_id and partition not in bounds.gone for topic_id, partition in planned)


def changes_of(topic: str, bounds: TopicBounds | None, last: Manifest | None, pending: Plan | None) -> Changes:
    """What a run has to do. `pending` is a plan that was never carried out: what it was about to read is known to have
    been there. Raises ExportError for a log that is shorter than what was exported."""
    positions = () if last is None else last.positions
    ended = {} if last is None else {(each.topic_id, each.partition): each for each in last.ended}
    planned = {} if pending is None else {(span.topic_id, span.partition): span for span in pending.spans}
    spans, gaps = ([], []) if bounds is None else new_spans(topic, bounds, positions)
    found = [] if bounds is None else list(_complete_logs(bounds, ended))
    for span, log in _lost_logs(bounds, positions, ended, planned):
        found.append(log)
        if span.length and log.reason != "complete":
            spans.append(span)
            gaps.append(Gap(span, log.reason))
    return Changes(spans, gaps, found, bounds is not None)


def _complete_logs(bounds: TopicBounds, ended: Mapping[LogName, EndedLog]) -> Iterator[EndedLog]:
    """Partitions that take no new messages: this run reads them to their end."""
    for partition, _, high_watermark in bounds.partitions:
        log = EndedLog(bounds.topic_id, partition, high_watermark, "complete")
        if partition in bounds.closed and ended.get((bounds.topic_id, partition)) != log:
            yield log


def _lost_logs(
    bounds: TopicBounds | None,
    positions: Sequence[Span],
    ended: Mapping[LogName, EndedLog],
    planned: Mapping[LogName, Span],
) -> Iterator[tuple[Span, EndedLog]]:
    """Logs that are there no more, and were not known to be exported to their end; with what of them is known to have
    been there, from a plan that was never carried out."""
    exported = {(span.topic_id, span.partition): span.end for span in positions}
    unseen = {(bounds.topic_id, partition): 0 for partition in bounds.gone} if bounds is not None and positions else {}
    for name in sorted({**unseen, **exported, **dict.fromkeys(planned, 0)}):
        topic_id, partition = name
        start = exported.get(name, planned[name].start if name in planned else 0)
        end = max(start, planned[name].end) if name in planned else start
        is_known = name in ended and ended[name].end >= end
        is_freed = bounds is not None and topic_id == bounds.topic_id
        is_there = is_freed and bounds is not None and partition not in bounds.gone
        if not is_known and not is_there:
            reason: EndReason = "freed" if is_freed else "deleted"
            yield Span(topic_id, partition, start, end), EndedLog(topic_id, partition, end, reason)


def new_spans(topic: str, bounds: TopicBounds, positions: Sequence[Span]) -> tuple[list[Span], list[Gap]]:
    """What has come since `positions`, and what of it is gone already. Raises ExportError for a log that is shorter
    than what was exported of it."""
    known = {(span.topic_id, span.partition): span.end for span in positions}
    is_first = not positions  # later, a partition or a topic that is new is expected whole
    spans: list[Span] = []
    gaps: list[Gap] = []
    for partition, log_start, high_watermark in bounds.partitions:
        start = known.get((bounds.topic_id, partition), log_start if is_first else 0)
        if high_watermark < start:
            raise ExportError(
                f"{topic} partition {partition} ends at {high_watermark}, and offsets up to {start} were exported"
                " before: is this another server, or one that was restored from an old copy?"
            )
        # A log that is new and empty is noted as well: what it gets later has no beginning that is missed.
        if high_watermark > start or (bounds.topic_id, partition) not in known:
            spans.append(Span(bounds.topic_id, partition, start, high_watermark))
        if log_start > start:
            gaps.append(Gap(Span(bounds.topic_id, partition, start, min(log_start, high_watermark)), "retention"))
    return spans, gaps


def removed_offsets(topic: str, gaps: Sequence[Gap]) -> RemovedOffsetsError:
    count = total_length(gap.span for gap in gaps)
    return RemovedOffsetsError(
        f"retention has removed {count:,} messages of {topic} before they were exported ({gaps[0].span}): go on with"
        " --allow-gaps, which records them as gaps"
    )


def _lost(topic: str, lost: Sequence[EndedLog], gaps: Sequence[Gap], *, has_topic: bool) -> RemovedOffsetsError:
    deleted = "was deleted and made anew" if has_topic else "was deleted"
    what = deleted if lost[0].reason == "deleted" else "had partitions decommissioned and freed"
    starts = {(gap.span.topic_id, gap.span.partition): gap.span.start for gap in gaps}
    named = ", ".join(
        f"p{each.partition} from {starts.get((each.topic_id, each.partition), each.end)} on"
        for each in lost[:LOGS_NAMED_MAX]
    )
    more = f" and {len(lost) - LOGS_NAMED_MAX:,} more" if len(lost) > LOGS_NAMED_MAX else ""
    return RemovedOffsetsError(
        f"{topic} {what}, and nobody has exported what it held in {named}{more}, if anything: go on with --allow-gaps,"
        " which records that"
    )
