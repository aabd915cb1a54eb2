"""What a follower does with what it knew to be committed before an unclean election: the machine alone."""

from dataclasses import dataclass, field

import pytest

from storage.log.leader_epochs import UNKNOWN_EPOCH, LeaderEpochs
from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity
from storage.replication.divergence import Diverged, Restart, position_of
from storage.replication.follower_events import (
    Answered,
    Contradiction,
    FollowerEffect,
    LogChanged,
    RestartLog,
    TruncateLog,
)
from storage.replication.leader_events import AssignmentSeen
from storage.replication.messages import LogAnswer, PartitionAnswer, PartitionId
from storage.replication.partition_replica import PartitionReplica
from storage.replication.replica_events import ComeToRest, LogsAtRest
from storage.replication.replication_settings import ReplicationSettings, TopicReplication

ME = ReplicaIdentity(2, 1, "d2")
UNCLEAN = 7


@dataclass
class Log:
    log_start: int
    written_end: int
    entries: list[tuple[int, int]] = field(default_factory=list)

    @property
    def durable_end(self) -> int:
        return self.written_end

    @property
    def epochs(self) -> LeaderEpochs:
        epochs = LeaderEpochs(self.entries)
        epochs.log_end = self.written_end
        return epochs


class Scene:
    """A replica with one log, which follows node 1 in the leader epochs that a test names."""

    def __init__(self, log: Log, *, high_watermark: int) -> None:
        self.log = log
        self.replica = PartitionReplica(
            ME,
            logs=[log],
            high_watermarks=[high_watermark],
            topic=TopicReplication(min_insync_replicas=1, max_replica_lag_ms=1_000),
            settings=ReplicationSettings(),
        )

    def follow(self, leader_epoch: int, *, unclean_epoch: int) -> list[object]:
        assignment = Assignment(
            1, 1, leader_epoch, (1, 2), (IsrMember(1, "d1"),), leader_epoch, unclean_epoch=unclean_epoch
        )
        [rest] = self.replica.step(AssignmentSeen(assignment), 0)
        assert isinstance(rest, ComeToRest)
        return list(self.replica.step(LogsAtRest(rest.serial), 0))

    def answer(self, **fields: object) -> list[FollowerEffect]:
        position = position_of(self.log)
        told = {"leader_end": 0, "high_watermark": 0, "log_start": 0, **fields}
        log = LogAnswer(position=position, **told)  # type: ignore[arg-type]
        answer = PartitionAnswer(PartitionId("t", 0), self.replica.leader_epoch, logs=[log])
        effects = self.replica.step(Answered(answer, (b"",)), 0)
        self.replica.check_invariants()
        return effects  # type: ignore[return-value]


def old_log() -> Log:
    return Log(0, 100, [(3, 0), (5, 60)])


@pytest.mark.parametrize("unclean_epoch", [-1, 5, 4])
def test_without_a_later_unclean_election_nothing_committed_is_cut(unclean_epoch: int) -> None:
    for refused in ({"diverged": Diverged(3, 40)}, {"restart": Restart(40)}):
        scene = Scene(old_log(), high_watermark=90)
        scene.follow(8, unclean_epoch=unclean_epoch)
        assert [type(each) for each in scene.answer(**refused)] == [Contradiction]
        assert scene.replica.high_watermarks == (90,)


def test_after_one_it_follows_and_what_it_learns_is_protected_again() -> None:
    scene = Scene(old_log(), high_watermark=90)
    scene.follow(UNCLEAN, unclean_epoch=UNCLEAN)
    assert scene.replica.high_watermarks == (0,), "nobody is given what may be gone"
    [cut] = scene.answer(diverged=Diverged(3, 40))
    assert isinstance(cut, TruncateLog)
    assert cut.offset == 40
    scene.log.written_end, scene.log.entries = 40, [(3, 0)]
    scene.replica.step(LogChanged(0, cut.serial), 0)
    assert scene.replica.high_watermarks == (0,), "until the leader agrees"
    scene.answer(leader_end=45, high_watermark=45)
    assert scene.replica.high_watermarks == (40,)
    for epoch in (UNCLEAN + 1, UNCLEAN + 2):
        scene.follow(epoch, unclean_epoch=UNCLEAN)
        assert scene.replica.high_watermarks == (40,), "it is of this election's log now"
    assert [type(each) for each in scene.answer(diverged=Diverged(3, 30))] == [Contradiction]
    scene.follow(20, unclean_epoch=19)
    assert [type(each) for each in scene.answer(diverged=Diverged(3, 30))] == [TruncateLog], "another one"


def test_what_was_learned_of_its_epoch_is_protected_after_a_restart() -> None:
    scene = Scene(Log(0, 100, [(3, 0), (UNCLEAN, 60)]), high_watermark=90)
    scene.follow(UNCLEAN + 1, unclean_epoch=UNCLEAN)
    assert [type(each) for each in scene.answer(diverged=Diverged(UNCLEAN, 80))] == [Contradiction]


def test_a_log_that_begins_behind_the_cut_begins_anew() -> None:
    """It would miss what was committed since, and its state is that of another history."""
    scene = Scene(Log(50, 100, [(5, 50)]), high_watermark=90)
    scene.follow(UNCLEAN, unclean_epoch=UNCLEAN)
    [anew] = scene.answer(diverged=Diverged(3, 40))
    assert isinstance(anew, RestartLog)
    assert anew.offset == 0
    assert not scene.replica.follower.is_fetching  # type: ignore[union-attr]
    scene.log.log_start = scene.log.written_end = 0
    scene.log.entries = []
    scene.replica.step(LogChanged(0, anew.serial), 0)
    assert scene.replica.follower.is_fetching  # type: ignore[union-attr]


def test_an_empty_log_that_began_at_something_committed_begins_anew() -> None:
    scene = Scene(Log(50, 50), high_watermark=50)
    assert position_of(scene.log).last_epoch == UNKNOWN_EPOCH
    effects = scene.follow(UNCLEAN, unclean_epoch=UNCLEAN)
    assert [type(each) for each in effects if isinstance(each, RestartLog)] == [RestartLog]
