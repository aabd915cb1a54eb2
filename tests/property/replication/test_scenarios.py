"""Histories that random runs meet too seldom, each with the bug that it is there for."""

import pytest

from storage.replication.divergence import LogPosition, compare, position_of
from storage.replication.follower_events import Answered, LogChanged, TruncateLog
from storage.replication.follower_replica import FollowerReplica
from storage.replication.leader_events import FollowerFetched
from storage.replication.leader_replica import LeaderReplica
from storage.replication.messages import LogAnswer, PartitionAnswer
from storage.replication.replication_settings import TopicReplication
from tests.property.replication.model_log import ModelLog
from tests.property.replication.mutants import answers_of_any_epoch, cut_where_the_leader_says
from tests.unit.storage.replication.support import PARTITION, SETTINGS, assignment, identity, log_of, members


def answer_to(leader: ModelLog, follower: ModelLog, *, epoch: int) -> Answered:
    """What the leader of `epoch` says of where the follower is now."""
    position = position_of(follower)
    parting = compare(leader, position)
    log = LogAnswer(position, leader.log_start, 0, leader.written_end)
    if parting is not None:
        log.diverged = parting  # type: ignore[assignment]
    other = LogAnswer(LogPosition(0, -1), 0, 0, 0)
    return Answered(PartitionAnswer(PARTITION, epoch, logs=[log, other]), (b"", b""))


def follower_in(epoch: int, log: ModelLog, *, leader: int) -> FollowerReplica:
    machine = FollowerReplica(
        identity(3),
        assignment(leader=leader, epoch=epoch),
        logs=[log, ModelLog()],
        high_watermarks=[2, 0],
        settings=SETTINGS,
    )
    machine.start()
    return machine


def fast_double_failover() -> None:
    """KIP-279. Epoch 1's leader wrote three records, two of which reached the follower. The follower led epoch 2 and
    wrote two of its own. Then the first one is elected again, for epoch 3, which has never heard of epoch 2."""
    leader, log = log_of(1, 1, 1, 3), log_of(1, 1, 2, 2)
    machine = follower_in(3, log, leader=1)
    for _ in range(4):
        if compare(leader, position_of(log)) is None:
            break
        for effect in machine.step(answer_to(leader, log, epoch=3), 0):
            if isinstance(effect, TruncateLog):
                log.truncate(effect.offset)
                machine.step(LogChanged(effect.log, effect.serial), 0)
    assert compare(leader, position_of(log)) is None, "they never agree"
    assert log.records == leader.records[: log.written_end]


def an_answer_that_outlives_its_epoch() -> None:
    """Epoch 1's leader wrote three records, which nodes 2 and 3 have, and node 1 two of them. Node 1 leads epoch 2 and
    tells node 3 to cut the third; the answer is late. Node 2 leads epoch 3, commits all three with node 3, and then
    the answer arrives."""
    log = log_of(1, 1, 1)
    late = answer_to(log_of(1, 1), log, epoch=2)
    leader = LeaderReplica(
        identity(1),
        assignment(leader=1, epoch=3, isr=members(1, 3)),
        logs=[log_of(1, 1, 1), ModelLog()],
        high_watermarks=[2, 0],
        topic=TopicReplication(),
        settings=SETTINGS,
        now_ms=0,
    )
    machine = follower_in(3, log, leader=1)
    leader.step(FollowerFetched(identity(3), 3, (position_of(log), LogPosition(0, -1))), 0)
    assert leader.high_watermarks == (3, 0)
    effects = machine.step(late, 0)
    assert not any(isinstance(effect, TruncateLog) for effect in effects), "it cuts what is committed"


def test_truncation_after_a_fast_double_failover() -> None:
    fast_double_failover()


def test_that_scenario_finds_its_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_where_the_leader_says(monkeypatch)
    with pytest.raises(AssertionError, match="never agree"):
        fast_double_failover()


def test_an_answer_of_an_earlier_epoch_changes_nothing() -> None:
    an_answer_that_outlives_its_epoch()


def test_this_scenario_finds_its_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    answers_of_any_epoch(monkeypatch)
    with pytest.raises(AssertionError, match="cuts what is committed"):
        an_answer_that_outlives_its_epoch()
