"""Where the copying of a partition goes on after a start, or after anything whose outcome is not known. Without I/O."""

from dataclasses import dataclass, field

from acklog.mirror.checkpoint import Checkpoint
from acklog.mirror.copied_place import CopiedPlace
from acklog.mirror.mirror_gap import GapFoundError, GapKind, MirrorGap
from acklog.mirror.offset_map import OffsetMap


@dataclass(frozen=True, slots=True)
class TopicPair:
    """A topic of the source, and the one that it is copied to. Names may come to mean other topics, ids never."""

    source: str
    source_id: str
    target: str
    target_id: str


@dataclass(slots=True)
class CopyState:
    """How far a partition is. `next_offset` None: nothing was ever dealt with."""

    pair: TopicPair
    partition: int
    next_offset: int | None = None
    last: CopiedPlace | None = None
    offsets: OffsetMap = field(default_factory=OffsetMap)

    def note(self, place: CopiedPlace) -> None:
        """A copy that is in the target."""
        self.offsets.add(place.source_offset, place.target_offset)
        self.last = place
        # Not the larger of both: where the source's log was cut, what came last is right.
        self.next_offset = place.source_offset + 1

    @property
    def epoch(self) -> int | None:
        """That of the message before `next_offset`, by which the source tells whether its log was cut since; None where
        it is not known."""
        last = self.last
        return last.source_epoch if last is not None and last.source_offset + 1 == self.next_offset else None

    def checkpoint(self, at_ms: int) -> Checkpoint | None:
        """None where there is nothing to be kept yet."""
        if self.next_offset is None:
            return None
        last = self.last
        return Checkpoint(
            self.pair.source,
            self.pair.source_id,
            self.pair.target,
            self.pair.target_id,
            self.partition,
            self.next_offset,
            None if last is None else last.source_offset,
            None if last is None else last.source_epoch,
            None if last is None else last.target_offset,
            self.offsets.runs,
            self.offsets.is_whole,
            at_ms,
        )


def state_from(checkpoint: Checkpoint | None, pair: TopicPair, partition: int, *, goes_on: bool) -> CopyState:
    """How far the partition is by its checkpoint. `goes_on` takes a topic that was made anew as another one, which is
    copied from its beginning; else raises GapFoundError."""
    fresh = CopyState(pair, partition)
    if checkpoint is None:
        return fresh
    for kind, name, was, now in (
        (GapKind.SOURCE_REMADE, pair.source, checkpoint.source_topic_id, pair.source_id),
        (GapKind.TARGET_REMADE, pair.target, checkpoint.target_topic_id, pair.target_id),
    ):
        if was == now:
            continue
        if goes_on:
            return fresh
        end = "source" if kind is GapKind.SOURCE_REMADE else "target"
        detail = f"{name} of the {end} was deleted and made anew, or is called otherwise than before: it was {was}"
        raise GapFoundError(MirrorGap(kind, pair.source, partition, detail))
    return CopyState(pair, partition, checkpoint.next_offset, checkpoint.last, checkpoint.offset_map())


def gap_of_out_of_range(state: CopyState, log_start: int, high_watermark: int) -> MirrorGap:
    """What is missing where the source has nothing at `next_offset`."""
    begin = state.next_offset or 0
    if begin < log_start:
        detail = f"the source removed offsets {begin} to {log_start - 1} before they were copied"
        return MirrorGap(GapKind.REMOVED, state.pair.source, state.partition, detail, begin, log_start)
    detail = f"the source's log ends at {high_watermark}, and was copied up to {begin}: it was cut"
    return MirrorGap(GapKind.SOURCE_CUT, state.pair.source, state.partition, detail, high_watermark, begin)
