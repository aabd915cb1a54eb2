"""A leader and followers that it does not hear: who leaves the ISR, and when the leadership is handed over."""

from msgspec.structs import replace

from storage.replication.divergence import LogPosition
from storage.replication.isr import ChangeOutcome
from storage.replication.leader_events import (
    AskWhoIsHeard,
    AssignmentSeen,
    ChangeIsr,
    CoordinationChanged,
    FollowerFetched,
    FollowersHeard,
    ForgetHandOvers,
    HandOver,
    IsrChangeEnded,
    TimePassed,
)
from storage.replication.leader_replica import LeaderReplica
from storage.replication.replication_settings import TopicReplication
from tests.unit.storage.replication.support import SETTINGS, Leader, assignment, identity, members

SILENCE_MS, GRACE_MS = SETTINGS.silence_ms, SETTINGS.silence_grace_ms


def patient_leader(*, min_insync: int = 2, given_up_by: tuple[int, ...] = ()) -> Leader:
    """Nobody is late for a minute."""
    leader = Leader()
    leader.machine = LeaderReplica(
        identity(1),
        replace(assignment(), given_up_by=given_up_by),
        logs=[leader.messages, leader.records],
        high_watermarks=[0, 0],
        topic=TopicReplication(min_insync_replicas=min_insync, max_replica_lag_ms=60_000),
        settings=SETTINGS,
        now_ms=0,
    )
    return leader


class Heard:
    """A leader with two followers that have all there is at 0; then time passes, and `heard` of them go on fetching."""

    def __init__(self, leader: Leader, *, heard: tuple[int, ...]) -> None:
        self.leader = leader
        self.heard = heard
        self.told_ms = 0
        for node_id in (2, 3):
            leader.fetched(identity(node_id), (0, -1))

    def pass_time(self, until_ms: int) -> list[tuple[int, object]]:
        """What it wants but answers, with when: whenever it asks who is heard, it is told."""
        wanted: list[tuple[int, object]] = []
        machine = self.leader.machine
        while (at_ms := machine.next_deadline()) is not None and at_ms <= until_ms:
            effects = self.leader.step(TimePassed(), at_ms)
            if AskWhoIsHeard() in effects:
                at = {node_id: at_ms - 100 if node_id in self.heard else 0 for node_id in (2, 3)}
                effects += self.leader.step(FollowersHeard(at), at_ms)
            wanted += [(at_ms, each) for each in effects if isinstance(each, ChangeIsr | HandOver | ForgetHandOvers)]
        return wanted


def test_a_follower_that_is_silent_leaves_long_before_it_is_late() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=(2,))
    leader.append()
    leader.fetched(identity(2), (1, 5), now_ms=50)
    [(at_ms, effect)] = heard.pass_time(SILENCE_MS + 2 * GRACE_MS)
    assert at_ms == SILENCE_MS + GRACE_MS
    assert isinstance(effect, ChangeIsr)
    assert effect.change.isr == members(1, 2)


def test_where_nothing_waits_silence_is_no_news() -> None:
    heard = Heard(patient_leader(), heard=())
    assert heard.pass_time(60_000) == []


def test_it_does_not_join_again_on_what_it_said_before() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=(2,))
    leader.append()  # node 2 fetches and does not get it yet: node 3 is at the high watermark
    [(at_ms, effect)] = heard.pass_time(SILENCE_MS + GRACE_MS)
    assert isinstance(effect, ChangeIsr)
    ended = leader.step(IsrChangeEnded(effect.change.serial, ChangeOutcome.DONE, 11), at_ms)
    assert not any(isinstance(each, ChangeIsr) for each in ended)


def test_a_leader_that_stood_still_itself_hears_them_before_it_judges() -> None:
    """After the pause the timer comes first, then the fetches that waited in the sockets."""
    leader = patient_leader()
    Heard(leader, heard=())
    leader.append()
    woken_ms = 9_000
    assert leader.step(TimePassed(), woken_ms) == [AskWhoIsHeard()]
    assert leader.step(FollowersHeard({2: 0, 3: 0}), woken_ms) == []
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (1, 5), now_ms=woken_ms + 1)
    assert not any(isinstance(each, HandOver | ChangeIsr) for each in leader.step(TimePassed(), woken_ms + GRACE_MS))


def test_a_slow_machine_has_more_time() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=(2,))
    leader.append()
    leader.fetched(identity(3), (1, 5), now_ms=1_000)  # it took a second
    leader.append(now_ms=1_000)
    [(at_ms, _)] = heard.pass_time(60_000)[:1]
    assert at_ms == 1_000 + SILENCE_MS + 1_000 + GRACE_MS


def test_it_hands_over_where_too_few_are_heard() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=())
    leader.append()
    wanted = heard.pass_time(SILENCE_MS + 3 * GRACE_MS)
    assert [at_ms for at_ms, _ in wanted] == [SILENCE_MS + GRACE_MS * turn for turn in (1, 2, 3)], "asked for again"
    assert {effect for _, effect in wanted} == {HandOver(2, ())}, "and nobody leaves the ISR"


def test_an_idle_leader_hands_over_once_somebody_wants_to_know() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=())
    assert leader.step(FollowersHeard({2: 0, 3: 0}), 50_000) == []
    assert heard.pass_time(50_000 + GRACE_MS) == [(50_000 + GRACE_MS, HandOver(2, ()))]
    assert heard.pass_time(90_000) == [], "until it is asked again"


def test_one_of_two_is_enough() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=(2, 3))
    leader.append()
    assert not any(isinstance(effect, HandOver) for _, effect in heard.pass_time(SETTINGS.commit_stall_ms - 1))


def test_with_a_minimum_of_one_the_leader_goes_on_alone() -> None:
    leader = patient_leader(min_insync=1)
    heard = Heard(leader, heard=())
    leader.append()
    wanted = heard.pass_time(SILENCE_MS + GRACE_MS)
    assert [effect.change.isr for _, effect in wanted if isinstance(effect, ChangeIsr)] == [members(1)]
    assert not any(isinstance(effect, HandOver) for _, effect in wanted)


def test_followers_that_fetch_and_get_nowhere_make_it_hand_over() -> None:
    """Its answers are lost, or it cannot read what it has."""
    leader = patient_leader()
    heard = Heard(leader, heard=(2, 3))
    leader.append()
    wanted = heard.pass_time(SETTINGS.commit_stall_ms + GRACE_MS)
    at_ms = SETTINGS.commit_stall_ms
    assert wanted == [(at_ms, HandOver(2, (2, 3))), (at_ms + GRACE_MS, HandOver(2, (2, 3)))]


def test_one_that_stood_still_itself_is_not_the_cause() -> None:
    leader = patient_leader()
    Heard(leader, heard=())
    leader.append()
    woken_ms = 2 * SETTINGS.commit_stall_ms
    assert leader.step(TimePassed(), woken_ms) == [AskWhoIsHeard()]
    assert leader.step(FollowersHeard({2: 0, 3: 0}), woken_ms) == []


def test_without_the_store_nothing_is_handed_over() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=())
    leader.append()
    leader.step(CoordinationChanged(False), 10)
    assert heard.pass_time(60_000) == []


def test_who_got_it_back_keeps_it_for_longer() -> None:
    heard = Heard(patient_leader(given_up_by=(1, 3)), heard=())
    heard.leader.append()
    wanted = heard.pass_time(SETTINGS.hand_over_again_ms + 2 * GRACE_MS)
    assert wanted
    assert SETTINGS.hand_over_again_ms <= wanted[0][0] < SETTINGS.hand_over_again_ms + GRACE_MS


def test_hand_overs_are_forgotten_when_all_is_well_for_long() -> None:
    heard = Heard(patient_leader(given_up_by=(3,)), heard=())
    assert heard.pass_time(SETTINGS.hand_over_calm_ms) == [(SETTINGS.hand_over_calm_ms, ForgetHandOvers())]
    forgotten = AssignmentSeen(assignment(revision=11))
    heard.leader.step(forgotten, SETTINGS.hand_over_calm_ms)
    assert heard.pass_time(5 * SETTINGS.hand_over_calm_ms) == []


def test_they_are_not_while_one_of_them_is_away() -> None:
    heard = Heard(patient_leader(given_up_by=(3,)), heard=())
    away = replace(assignment(isr=members(1, 2), revision=11), given_up_by=(3,))
    heard.leader.step(AssignmentSeen(away), 10)
    assert not any(isinstance(effect, ForgetHandOvers) for _, effect in heard.pass_time(90_000))


def test_they_are_when_one_of_them_holds_no_replica_any_more() -> None:
    """Also after a change of the ISR by the leader itself, of which it hears no other way."""
    leader = patient_leader(given_up_by=(2, 4))
    heard = Heard(leader, heard=(2, 3))
    away = replace(assignment(isr=members(1, 3), revision=11), given_up_by=(2, 4))
    leader.step(AssignmentSeen(away), 0)
    effects = leader.fetched(identity(2), (0, -1), now_ms=10)
    [change] = [effect.change for effect in effects if isinstance(effect, ChangeIsr)]
    leader.step(IsrChangeEnded(change.serial, ChangeOutcome.DONE, 12), 10)
    assert (10 + SETTINGS.hand_over_calm_ms, ForgetHandOvers()) in heard.pass_time(2 * SETTINGS.hand_over_calm_ms)


def test_a_fetch_refutes_the_doubt() -> None:
    leader = patient_leader()
    heard = Heard(leader, heard=())
    leader.append()
    heard.pass_time(SILENCE_MS)
    for node_id in (2, 3):
        leader.step(
            FollowerFetched(identity(node_id), 5, (LogPosition(1, 5), LogPosition(0, -1))), SILENCE_MS + GRACE_MS - 1
        )
    assert heard.pass_time(SILENCE_MS + 2 * GRACE_MS) == []
