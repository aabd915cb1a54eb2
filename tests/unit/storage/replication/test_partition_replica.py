"""A replica through its roles."""

from storage.replication.assignment import NO_LEADER, Assignment
from storage.replication.divergence import LogPosition
from storage.replication.follower_events import FetchFrom
from storage.replication.leader_events import (
    AckAwaited,
    AcksUnknown,
    AssignmentSeen,
    FetchRefusal,
    FetchVerdict,
    FollowerFetched,
    LogsMoved,
)
from storage.replication.partition_replica import PartitionReplica
from storage.replication.replica_events import ComeToRest, LogsAtRest, Role, RoleTaken
from storage.replication.replication_settings import TopicReplication
from tests.property.replication.model_log import ModelLog
from tests.unit.storage.replication.support import SETTINGS, identity, log_of, members


def replica(node_id: int = 1, incarnation: int = 1, log: ModelLog | None = None) -> PartitionReplica:
    return PartitionReplica(
        identity(node_id, incarnation),
        logs=[log or ModelLog(), ModelLog()],
        high_watermarks=[0, 0],
        topic=TopicReplication(),
        settings=SETTINGS,
    )


def seen(
    leader: int, epoch: int, *, incarnation: int = 1, replicas: tuple[int, ...] = (1, 2, 3), revision: int = 0
) -> AssignmentSeen:
    return AssignmentSeen(Assignment(leader, incarnation, epoch, replicas, members(1, 2, 3), revision or epoch))


def take_role(machine: PartitionReplica, event: AssignmentSeen) -> list[object]:
    [*_, rest] = machine.step(event, 0)
    assert isinstance(rest, ComeToRest)
    machine.check_invariants()
    return list(machine.step(LogsAtRest(rest.serial), 0))


def test_it_leads_follows_or_stands_by() -> None:
    machine = replica()
    assert take_role(machine, seen(1, 5))[0] == RoleTaken(Role.LEADER, 5)
    assert take_role(machine, seen(2, 6)) == [
        RoleTaken(Role.FOLLOWER, 6),
        FetchFrom(2, 6, (LogPosition(0, -1), LogPosition(0, -1))),
    ]
    assert take_role(machine, seen(NO_LEADER, 7)) == [RoleTaken(Role.NONE, 7)]
    assert take_role(machine, seen(2, 8, replicas=(2, 3))) == [RoleTaken(Role.NONE, 8)]
    assert machine.role is Role.NONE


def test_it_does_not_go_on_with_a_leadership_of_its_earlier_life() -> None:
    """R10."""
    machine = replica(incarnation=2)
    assert take_role(machine, seen(1, 5)) == [RoleTaken(Role.NONE, 5)]
    assert take_role(machine, seen(1, 6, incarnation=2))[0] == RoleTaken(Role.LEADER, 6)


def test_no_role_begins_before_the_logs_are_at_rest() -> None:
    machine = replica()
    machine.step(seen(1, 5), 0)
    assert machine.role is Role.NONE
    [rest] = machine.step(seen(2, 6), 0)
    assert isinstance(rest, ComeToRest)
    assert machine.step(LogsAtRest(rest.serial - 1), 0) == []
    assert RoleTaken(Role.FOLLOWER, 6) in machine.step(LogsAtRest(rest.serial), 0)
    assert machine.step(LogsAtRest(rest.serial), 0) == []


def test_epochs_only_rise() -> None:
    machine = replica()
    take_role(machine, seen(1, 5))
    assert machine.step(seen(2, 4), 0) == []
    assert machine.step(seen(2, 5), 0) == []
    assert machine.role is Role.LEADER


def test_a_leader_that_is_replaced_says_what_it_does_not_know() -> None:
    machine = replica(log=log_of(1))
    take_role(machine, seen(1, 5))
    machine.step(AckAwaited(0, 1, -1, 42), 0)
    effects = machine.step(seen(2, 6), 0)
    assert AcksUnknown((42,)) in effects
    assert machine.step(LogsMoved(), 0) == []
    assert machine.step(AckAwaited(0, 1, -1, 43), 0) == [AcksUnknown((43,))]


def test_a_fetch_is_answered_in_every_role() -> None:
    machine = replica()
    machine.step(seen(2, 5), 0)
    positions = (LogPosition(0, -1), LogPosition(0, -1))
    for epoch, refusal in (
        (4, FetchRefusal.FENCED_EPOCH),
        (5, FetchRefusal.NOT_LEADER),
        (6, FetchRefusal.UNKNOWN_EPOCH),
    ):
        assert machine.step(FollowerFetched(identity(3), epoch, positions), 0) == [
            FetchVerdict(identity(3), 5, refusal)
        ]


def test_what_is_known_to_be_committed_goes_from_role_to_role() -> None:
    log = log_of(1, 1, 1)
    machine = replica(log=log)
    take_role(machine, seen(1, 5))
    for node_id in (2, 3):
        positions = (LogPosition(2, 1), LogPosition(0, -1))
        machine.step(FollowerFetched(identity(node_id), 5, positions), 0)
    assert machine.high_watermarks == (2, 0)
    machine.step(seen(2, 6), 0)
    assert machine.high_watermarks == (2, 0)
    take_role(machine, seen(3, 7))
    assert machine.high_watermarks == (2, 0)


def test_a_replica_is_added_and_taken_away_within_an_epoch() -> None:
    machine = replica()
    assert take_role(machine, seen(2, 5, replicas=(2, 3), revision=70)) == [RoleTaken(Role.NONE, 5)]
    assert take_role(machine, seen(2, 5, revision=71))[0] == RoleTaken(Role.FOLLOWER, 5)
    assert machine.step(seen(2, 5, replicas=(2, 3), revision=70), 0) == []
    assert take_role(machine, seen(2, 5, replicas=(2, 3), revision=72)) == [RoleTaken(Role.NONE, 5)]


def test_news_that_come_before_the_role_is_taken_are_not_lost() -> None:
    machine = replica()
    [rest] = machine.step(seen(2, 5, replicas=(2, 3), revision=70), 0)
    assert isinstance(rest, ComeToRest)
    assert machine.step(seen(2, 5, revision=71), 0) == []
    assert RoleTaken(Role.FOLLOWER, 5) in machine.step(LogsAtRest(rest.serial), 0)
