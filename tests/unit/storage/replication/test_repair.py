"""A replica whose logs are damaged: when it gives up its place, and when it begins anew."""

from storage.replication.assignment import Assignment
from storage.replication.divergence import LogPosition
from storage.replication.follower_events import FetchFrom, LogChanged, LogUnchanged, RestartLog
from storage.replication.leader_events import AssignmentSeen, CoordinationChanged
from storage.replication.partition_replica import PartitionReplica
from storage.replication.replica_events import ComeToRest, GiveUpPlace, LogDamaged, LogsAtRest
from storage.replication.replication_settings import TopicReplication
from tests.property.replication.model_log import ModelLog
from tests.unit.storage.replication.support import SETTINGS, identity, log_of, members

RETRY_MS = SETTINGS.repair_retry_ms


def replica(*logs: ModelLog, min_insync: int = 2, high_watermark: int = 0) -> PartitionReplica:
    return PartitionReplica(
        identity(1),
        logs=logs or [log_of(5, 5, 5), log_of(5)],
        high_watermarks=[high_watermark, 0],
        topic=TopicReplication(min_insync_replicas=min_insync),
        settings=SETTINGS,
    )


def seen(
    machine: PartitionReplica,
    leader: int,
    epoch: int,
    *,
    isr: tuple[int, ...] = (1, 2, 3),
    replicas: tuple[int, ...] = (1, 2, 3),
    now_ms: int = 0,
) -> list[object]:
    """What comes of the assignment, once the logs are at rest."""
    effects = machine.step(AssignmentSeen(Assignment(leader, 1, epoch, replicas, members(*isr), epoch)), now_ms)
    rest = [effect for effect in effects if isinstance(effect, ComeToRest)]
    machine.check_invariants()
    return list(machine.step(LogsAtRest(rest[0].serial), now_ms)) if rest else list(effects)


def asked(effects: list[object]) -> list[GiveUpPlace]:
    return [effect for effect in effects if isinstance(effect, GiveUpPlace)]


def restarted(effects: list[object]) -> list[int]:
    return [effect.log for effect in effects if isinstance(effect, RestartLog)]


def test_a_leader_asks_at_once_and_again_until_another_leads() -> None:
    machine = replica()
    seen(machine, 1, 5)
    assert asked([*machine.step(LogDamaged(0), 0)]) == [GiveUpPlace(2)]
    assert machine.step(LogDamaged(0), 0) == [], "it is known"
    deadline_ms = machine.next_deadline()
    assert deadline_ms is not None
    assert deadline_ms <= RETRY_MS
    assert asked([*machine.time_passed(RETRY_MS)]) == [GiveUpPlace(2)]
    assert restarted(seen(machine, 2, 6, isr=(2, 3))) == [0]


def test_a_follower_keeps_its_log_while_it_is_in_sync() -> None:
    machine = replica()
    seen(machine, 2, 5)
    assert asked([*machine.step(LogDamaged(1), 0)]) == [GiveUpPlace(2)]
    effects = seen(machine, 3, 6)
    assert restarted(effects) == []
    assert asked(effects) == [GiveUpPlace(2)]
    assert restarted(seen(machine, 3, 7, isr=(2, 3))) == [1]


def test_out_of_sync_is_not_enough_within_the_epoch() -> None:
    """The leader may count what this replica told it of the log before."""
    machine = replica()
    seen(machine, 2, 5, isr=(2, 3))
    machine.step(LogDamaged(0), 0)
    assert restarted(seen(machine, 2, 5, isr=(2, 3))) == []
    assert restarted(seen(machine, 2, 6, isr=(2, 3))) == [0]


def test_damage_that_recovery_found_waits_for_an_epoch_that_knows_nothing_of_the_life_before() -> None:
    machine = replica()
    assert machine.step(LogDamaged(0), 0) == []
    effects = seen(machine, 2, 5, isr=(2, 3))
    assert restarted(effects) == []
    assert asked(effects) == [GiveUpPlace(2)]
    assert restarted(seen(machine, 2, 6, isr=(2, 3))) == [0]


def test_no_position_is_told_before_all_that_is_damaged_is_replaced() -> None:
    messages, delivery = log_of(5, 5, 5), log_of(5)
    machine = replica(messages, delivery, high_watermark=3)
    seen(machine, 2, 5)
    machine.step(LogDamaged(0), 0)
    machine.step(LogDamaged(1), 0)
    restarts = [each for each in seen(machine, 2, 6, isr=(2, 3)) if isinstance(each, RestartLog)]
    assert [(each.log, each.offset) for each in restarts] == [(0, 0), (1, 0)]
    assert machine.high_watermarks == (0, 0), "of the new log nothing is known yet"
    messages.restart([])
    assert machine.step(LogChanged(0, restarts[0].serial), 0) == []
    assert machine.damaged == {1}
    delivery.restart([])
    assert machine.step(LogChanged(1, restarts[1].serial), 0) == [
        FetchFrom(2, 6, (LogPosition(0, -1), LogPosition(0, -1)))
    ]
    assert machine.damaged == frozenset()
    assert machine.next_deadline() is None
    machine.check_invariants()


def test_a_beginning_that_fails_is_tried_again() -> None:
    machine = replica()
    seen(machine, 2, 5)
    machine.step(LogDamaged(1), 0)
    [restart] = [each for each in seen(machine, 2, 6, isr=(2, 3)) if isinstance(each, RestartLog)]
    assert machine.step(LogUnchanged(1, restart.serial), 0) == []
    assert restarted([*machine.time_passed(SETTINGS.retry_ms)]) == [1]
    assert machine.damaged == {1}


def test_whoever_is_alone_has_nobody_to_make_room_for() -> None:
    machine = replica()
    seen(machine, 1, 5, isr=(1,), replicas=(1,))
    assert machine.step(LogDamaged(0), 0) == []
    assert asked(seen(machine, 1, 5, isr=(1,), replicas=(1,))) == []
    later = AssignmentSeen(Assignment(1, 1, 5, (1, 2), members(1), 6))
    assert asked([*machine.step(later, 0)]) == [GiveUpPlace(1)], "somebody else holds it now"


def test_two_replicas_make_do_with_one_meanwhile() -> None:
    machine = replica()
    seen(machine, 2, 5, isr=(1, 2), replicas=(1, 2))
    assert asked([*machine.step(LogDamaged(0), 0)]) == [GiveUpPlace(1)]


def test_nothing_is_asked_while_the_store_is_away() -> None:
    machine = replica()
    seen(machine, 2, 5)
    machine.step(CoordinationChanged(False), 0)
    assert machine.step(LogDamaged(0), 0) == []
    assert asked([*machine.time_passed(RETRY_MS)]) == []
    machine.step(CoordinationChanged(True), 0)
    assert asked([*machine.time_passed(2 * RETRY_MS)]) == [GiveUpPlace(2)]


def test_it_stops_asking_when_nobody_else_is_left() -> None:
    machine = replica()
    seen(machine, 1, 5, isr=(1, 2), replicas=(1, 2))
    machine.step(LogDamaged(0), 0)
    machine.step(AssignmentSeen(Assignment(1, 1, 5, (1,), members(1), 6)), 0)
    machine.time_passed(RETRY_MS)
    deadline_ms = machine.next_deadline()
    assert deadline_ms is None or deadline_ms > RETRY_MS
