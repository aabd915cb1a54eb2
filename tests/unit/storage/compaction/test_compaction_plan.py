from acklog.wire.compacted_batch import NEVER_MS
from storage.compaction.compaction_plan import NO_LIMIT, Compacted, CompactionLags, CompactionPlan, plan_compaction
from storage.log.segment_rewrite import SealedSegment

NOTHING_DONE = Compacted()
LAGS = CompactionLags(min_ms=100, max_ms=1_000, tombstone_ms=500)
SEGMENTS = [
    SealedSegment(0, 10, 1_000, 0, 90),
    SealedSegment(10, 20, 1_000, 100, 190),
    SealedSegment(20, 30, 500, 200, 290),
]


def plan(
    done: Compacted = NOTHING_DONE,
    *,
    now_ms: int = 10_000,
    committed_end: int = 100,
    lags: CompactionLags = LAGS,
    dirty_ratio_min: float = 0.5,
    tombstones_may_go: bool = True,
) -> CompactionPlan:
    return plan_compaction(
        SEGMENTS,
        done,
        lags,
        committed_end=committed_end,
        now_ms=now_ms,
        dirty_ratio_min=dirty_ratio_min,
        tombstones_may_go=tombstones_may_go,
    )


def test_only_what_is_committed_and_older_than_the_least_lag() -> None:
    assert plan().end == 30
    assert plan(committed_end=29).end == 20
    assert plan(now_ms=389).end == 20
    assert plan(now_ms=390).end == 30
    assert plan(now_ms=50) == CompactionPlan(0, 0, 0, False)


def test_it_is_due_when_enough_of_it_is_new() -> None:
    lags = CompactionLags(0, NO_LIMIT, 500)
    assert plan(lags=lags).is_due
    half = plan(Compacted(10), lags=lags)
    assert (half.clean_bytes, half.dirty_bytes, half.is_due) == (1_000, 1_500, True)
    assert not plan(Compacted(10), lags=lags, dirty_ratio_min=0.61).is_due
    assert plan(Compacted(10), lags=lags, dirty_ratio_min=0.6).is_due
    assert not plan(Compacted(30), lags=lags, dirty_ratio_min=0).is_due, "there is nothing new"


def test_it_is_due_when_something_new_is_older_than_the_greatest_lag() -> None:
    assert not plan(Compacted(20), now_ms=1_200).is_due
    assert plan(Compacted(20), now_ms=1_201).is_due
    assert not plan(Compacted(20), lags=CompactionLags(0, NO_LIMIT, 500)).is_due


def test_it_is_due_when_a_tombstone_has_stayed_for_long_enough() -> None:
    done = Compacted(30, oldest_tombstone_ms=9_000)
    assert not plan(done, now_ms=9_500).is_due
    assert plan(done, now_ms=9_501).is_due
    assert not plan(done, tombstones_may_go=False).is_due
    assert not plan(Compacted(30, NEVER_MS)).is_due
