"""What a mirror finds missing: it says so, and stops that topic unless it was told to go on (rule R42)."""

from enum import StrEnum

import msgspec


class GapKind(StrEnum):
    """What happened."""

    REMOVED = "removed"
    """The source removed messages before they were copied: by retention, or because somebody deleted them."""
    SOURCE_CUT = "sourceCut"
    """The source's log was cut: what was copied from there is no more, and other messages may have its offsets."""
    SOURCE_REMADE = "sourceRemade"
    """The source's topic was deleted and made anew."""
    SOURCE_GONE = "sourceGone"
    """The source's topic was deleted."""
    TARGET_CUT = "targetCut"
    """The target's log ends before what was copied: copies are lost there."""
    TARGET_REMADE = "targetRemade"
    """The target's topic was deleted and made anew: all copies are lost there."""
    REFUSED = "refused"
    """A message that the target cannot take."""


class MirrorGap(msgspec.Struct, frozen=True, rename="camel"):
    """`from_offset` to `below_offset` are missing, of the source's partition; None where that cannot be said."""

    kind: GapKind
    topic: str
    partition: int | None
    detail: str
    from_offset: int | None = None
    below_offset: int | None = None


class GapFoundError(Exception):
    """The copying of a partition cannot go on as if nothing were missing."""

    def __init__(self, gap: MirrorGap) -> None:
        super().__init__(gap.detail)
        self.gap = gap


class OnGap(StrEnum):
    """What is to be done about gaps: `STOP` copies nothing more of that topic, `SKIP` reports it and goes on."""

    STOP = "stop"
    SKIP = "skip"
