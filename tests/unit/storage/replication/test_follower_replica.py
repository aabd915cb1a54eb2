"""Where a follower fetches from, what it cuts, what it believes."""

import pytest

from storage.replication.assignment import NO_LEADER
from storage.replication.divergence import Diverged, LogPosition, Restart
from storage.replication.follower_events import (
    Answered,
    AppendBatches,
    Contradiction,
    FetchFrom,
    HighWatermarkLearned,
    LogChanged,
    LogUnchanged,
    LookForLeader,
    RaiseLogStart,
    RestartLog,
    TimePassed,
    TruncateLog,
)
from storage.replication.follower_replica import FollowerReplica
from storage.replication.leader_events import FetchRefusal
from storage.replication.messages import FetchMode, LogAnswer, PartitionAnswer
from tests.property.replication.model_log import Batch, ModelLog
from tests.unit.storage.replication.support import SETTINGS, answer, assignment, follower_of, identity, log_of


def say(machine: FollowerReplica, answered: PartitionAnswer, data: bytes = b"", now_ms: int = 0) -> list[object]:
    return list(machine.step(Answered(answered, (data, b"")), now_ms))


def news(offset: int, epoch: int, *, size: int = 0, high: int = 0, end: int = 0, start: int = 0) -> LogAnswer:
    return LogAnswer(LogPosition(offset, epoch), start, high, end or offset, size)


def test_it_fetches_from_behind_what_is_durable() -> None:
    machine = FollowerReplica(
        identity(2),
        assignment(),
        logs=[log_of(1, 1, 2), ModelLog()],
        high_watermarks=[0, 0],
        settings=SETTINGS,
    )
    assert machine.start() == [FetchFrom(1, 5, (LogPosition(3, 2), LogPosition(0, -1)))]


def test_while_something_is_written_it_says_nothing() -> None:
    machine, log = follower_of(log_of(1))
    [append] = say(machine, answer(news(1, 1, size=3, end=2)), b"abc")
    assert append == AppendBatches(0, 1, b"abc")
    log.append(Batch(1, 5, [1]))
    assert not machine.is_fetching
    log.sync(2)
    assert machine.step(LogChanged(0, 1), 0) == [FetchFrom(1, 5, (LogPosition(2, 5), LogPosition(0, -1)))]
    machine.check_invariants()


def test_an_answer_to_another_position_is_void() -> None:
    machine, _ = follower_of(log_of(1, 1))
    expected = FetchFrom(1, 5, (LogPosition(2, 1), LogPosition(0, -1)))
    assert say(machine, answer(news(1, 1, size=3)), b"abc") == [expected]
    assert say(machine, answer(news(2, 0, size=3)), b"abc") == [expected]


def test_an_answer_of_another_epoch_is_void() -> None:
    """R3."""
    machine, _ = follower_of(log_of(1, 1))
    [effect] = say(machine, answer(news(2, 1, size=3), epoch=4), b"abc")
    assert isinstance(effect, FetchFrom)


def test_it_cuts_by_epoch() -> None:
    machine, log = follower_of(log_of(1, 1, 2, 2))
    parted = LogAnswer(LogPosition(4, 2), 0, 0, 9, diverged=Diverged(1, 7))
    assert say(machine, answer(parted)) == [TruncateLog(0, 1, 2)]
    log.truncate(2)
    [effect] = machine.step(LogChanged(0, 1), 0)
    assert effect == FetchFrom(1, 5, (LogPosition(2, 1), LogPosition(0, -1)))


def test_it_never_cuts_what_is_committed() -> None:
    machine, _ = follower_of(log_of(1, 1, 2, 2), high_watermark=3)
    parted = LogAnswer(LogPosition(4, 2), 0, 0, 9, diverged=Diverged(1, 7))
    [effect] = say(machine, answer(parted))
    assert isinstance(effect, Contradiction)
    assert "committed up to 3" in effect.reason
    assert not machine.is_fetching
    assert say(machine, answer(parted)) == []


def test_it_begins_anew_where_the_leader_cannot_compare() -> None:
    machine, log = follower_of(log_of(1, 1), high_watermark=2)
    parted = LogAnswer(LogPosition(2, 1), 6, 8, 9, restart=Restart(6))
    assert say(machine, answer(parted)) == [RestartLog(0, 1, 6)]
    log.restart(log_of(1, 1, 2, 2, 2, 2).records)
    effects = machine.step(LogChanged(0, 1), 0)
    assert effects == [HighWatermarkLearned(0, 6), FetchFrom(1, 5, (LogPosition(6, -1), LogPosition(0, -1)))]


def test_a_restart_below_what_is_committed_is_a_contradiction() -> None:
    machine, _ = follower_of(log_of(1, 1, 2, 2), high_watermark=3)
    [effect] = say(machine, answer(LogAnswer(LogPosition(4, 2), 2, 2, 2, restart=Restart(2))))
    assert isinstance(effect, Contradiction)


def test_what_could_not_be_done_is_tried_again() -> None:
    machine, _ = follower_of(log_of(1, 1))
    say(machine, answer(LogAnswer(LogPosition(2, 1), 6, 8, 9, restart=Restart(6))))
    assert machine.step(LogUnchanged(0, 1), 100) == []
    assert machine.next_deadline() == 100 + SETTINGS.retry_ms
    [effect] = machine.step(TimePassed(), 100 + SETTINGS.retry_ms)
    assert isinstance(effect, FetchFrom)


def test_the_high_watermark_is_known_as_far_as_the_log_is_durable() -> None:
    machine, log = follower_of(log_of(1, 1))
    effects = say(machine, answer(news(2, 1, size=3, high=4, end=5)), b"abc")
    assert HighWatermarkLearned(0, 2) in effects
    log.append(Batch(2, 5, [1, 2, 3]))
    log.sync(5)
    assert HighWatermarkLearned(0, 4) in machine.step(LogChanged(0, 1), 0)
    assert machine.high_watermarks == (4, 0)


def test_news_of_a_high_watermark_alone_leaves_the_fetch_as_it_is() -> None:
    machine, _ = follower_of(log_of(1, 1))
    assert say(machine, answer(news(2, 1, high=1))) == [HighWatermarkLearned(0, 1)]


def test_what_the_leader_removed_goes_here_too_and_is_said_once() -> None:
    machine, _ = follower_of(log_of(1, 1, 1))
    assert RaiseLogStart(0, 2) in say(machine, answer(news(3, 1, high=3, start=2)))
    assert say(machine, answer(news(3, 1, high=3, start=2))) == []


@pytest.mark.parametrize(
    "refusal", [FetchRefusal.UNKNOWN_EPOCH, FetchRefusal.NOT_LEADER, FetchRefusal.STALE_INCARNATION]
)
def test_a_refusal_is_followed_by_a_pause_and_a_look_at_the_assignment(refusal: FetchRefusal) -> None:
    machine, _ = follower_of(log_of(1))
    assert say(machine, answer(epoch=4, refusal=refusal.value)) == [LookForLeader()]
    assert machine.next_deadline() == SETTINGS.retry_ms
    [effect] = machine.step(TimePassed(), SETTINGS.retry_ms)
    assert isinstance(effect, FetchFrom)


def test_being_fenced_counts_only_from_a_later_epoch() -> None:
    """R3."""
    machine, _ = follower_of(log_of(1))
    [effect] = say(machine, answer(epoch=5, refusal=FetchRefusal.FENCED_EPOCH.value))
    assert isinstance(effect, FetchFrom)
    assert say(machine, answer(epoch=6, refusal=FetchRefusal.FENCED_EPOCH.value)) == [LookForLeader()]


def test_completions_of_an_earlier_role_are_not_its_own() -> None:
    machine, _ = follower_of(log_of(1))
    say(machine, answer(news(1, 1, size=3, end=2)), b"abc")
    assert machine.step(LogChanged(0, 99), 0) == []
    assert not machine.is_fetching


def test_far_behind_it_catches_up_elsewhere() -> None:
    machine, log = follower_of(log_of(1))
    end = 2 + SETTINGS.live_lag_records_max
    say(machine, answer(news(1, 1, size=3, end=end)), b"abc")
    log.append(Batch(1, 5, [1]))
    log.sync(2)
    machine.step(LogChanged(0, 1), 0)
    assert machine.mode is FetchMode.CATCH_UP or end - 2 <= SETTINGS.live_lag_records_max
    say(machine, answer(news(2, 5, size=3, end=end + 9)), b"abc")
    assert machine.mode is FetchMode.CATCH_UP
    log.append(Batch(2, 5, [0] * (end + 7)))
    log.sync(end + 9)
    machine.step(LogChanged(0, 2), 0)
    assert machine.mode is FetchMode.LIVE


def test_nobody_follows_nobody() -> None:
    with pytest.raises(ValueError, match="cannot follow"):
        FollowerReplica(identity(2), assignment(leader=NO_LEADER), logs=[], high_watermarks=[], settings=SETTINGS)
