"""What is committed, acknowledged, refused; who is in sync (rules R5, R6, R10)."""

import pytest

from storage.replication.acks import ACKS_ALL
from storage.replication.assignment import NO_LEADER, Assignment
from storage.replication.isr import ChangeOutcome
from storage.replication.leader_events import (
    AckAwaited,
    AcksReached,
    AcksUnknown,
    AskWhoIsHeard,
    AssignmentSeen,
    AssignmentUnreadable,
    ChangeIsr,
    CoordinationChanged,
    FetchRefusal,
    FollowersHeard,
    HighWatermarkAdvanced,
    IsrChangeEnded,
    NodesImpaired,
    ReadAssignment,
    Refusal,
    Service,
    ServiceChanged,
    TimePassed,
    TopicChanged,
)
from storage.replication.replication_settings import TopicReplication
from tests.unit.storage.replication.support import LAG_MS, SETTINGS, Leader, assignment, identity, log_of, members


def changes(effects: list[object]) -> list[ChangeIsr]:
    return [effect for effect in effects if isinstance(effect, ChangeIsr)]


# --- the high watermark ---


def test_the_high_watermark_is_the_least_durable_end_in_the_isr() -> None:
    leader = Leader()
    leader.append(4)
    leader.fetched(identity(2), (3, 5))
    assert leader.high_watermark == 0  # node 3 was not heard
    effects = leader.fetched(identity(3), (2, 5))
    assert HighWatermarkAdvanced(0, 2) in effects
    leader.fetched(identity(3), (4, 5))
    assert leader.high_watermark == 3


def test_the_leaders_own_copy_counts_when_it_is_durable() -> None:
    leader = Leader(isr=members(1, 2))
    leader.append(4, durable=False)
    leader.fetched(identity(2), (4, 5))
    assert leader.high_watermark == 0
    leader.messages.sync(4)
    leader.append(0)
    assert leader.high_watermark == 4


def test_each_log_is_committed_for_itself() -> None:
    leader = Leader(isr=members(1, 2), records=log_of(5, 5))
    leader.append(4)
    leader.fetched(identity(2), (4, 5), (1, 5))
    assert leader.machine.high_watermarks == (4, 1)


def test_a_log_that_parts_from_the_leaders_counts_for_nothing() -> None:
    leader = Leader(isr=members(1, 2), messages=log_of(1, 1, 1))
    effects = leader.fetched(identity(2), (3, 2))
    assert leader.verdict(effects).logs[0].parting is not None
    assert leader.high_watermark == 0


def test_a_delayed_fetch_takes_nothing_back() -> None:
    leader = Leader(isr=members(1, 2))
    leader.append(4)
    leader.fetched(identity(2), (2, 5))
    leader.fetched(identity(2), (1, 5))
    leader.append(1)
    assert leader.high_watermark == 2
    leader.machine.check_invariants()


def test_below_the_minimum_nothing_is_committed() -> None:
    leader = Leader(isr=members(1), min_insync=2)
    leader.append(2)
    assert leader.high_watermark == 0
    leader.step(TopicChanged(TopicReplication(1, LAG_MS)))
    assert leader.high_watermark == 2


def test_a_member_with_another_disk_holds_the_high_watermark_until_it_has_left() -> None:
    leader = Leader(isr=members(1, 2))
    leader.append(4)
    effects = leader.fetched(identity(2, incarnation=2, directory="new"), (4, 5))
    assert leader.high_watermark == 0
    [change] = changes(effects)
    assert change.change.isr == members(1)


# --- fencing ---


@pytest.mark.parametrize(
    ("epoch", "refusal"), [(4, FetchRefusal.FENCED_EPOCH), (6, FetchRefusal.UNKNOWN_EPOCH), (5, None)]
)
def test_only_fetches_of_its_epoch_are_answered(epoch: int, refusal: FetchRefusal | None) -> None:
    leader = Leader()
    verdict = leader.verdict(leader.fetched(identity(2), (0, -1), epoch=epoch))
    assert (verdict.refusal, verdict.leader_epoch) == (refusal, 5)


def test_a_fetch_of_a_later_epoch_ends_this_one() -> None:
    leader = Leader(isr=members(1, 2))
    leader.append()
    leader.step(AckAwaited(0, 1, ACKS_ALL, 7))
    effects = leader.fetched(identity(2), (1, 5), epoch=6)
    assert AcksUnknown((7,)) in effects
    assert leader.machine.service is Service.STEPPED_DOWN
    assert leader.high_watermark == 0
    assert leader.verdict(leader.fetched(identity(2), (1, 5))).refusal is FetchRefusal.NOT_LEADER


def test_an_earlier_life_of_a_follower_is_not_believed() -> None:
    leader = Leader(isr=members(1, 2))
    leader.append(4)
    leader.fetched(identity(2, incarnation=2), (1, 5))
    verdict = leader.verdict(leader.fetched(identity(2, incarnation=1), (4, 5)))
    assert verdict.refusal is FetchRefusal.STALE_INCARNATION
    assert leader.high_watermark == 1


def test_what_an_earlier_life_said_is_not_counted() -> None:
    leader = Leader(isr=members(1, 2, 3))
    leader.append(4)
    leader.fetched(identity(2), (4, 5))
    leader.fetched(identity(2, incarnation=2), (1, 5))
    leader.fetched(identity(3), (4, 5))
    assert leader.high_watermark == 1


def test_a_stranger_is_not_answered() -> None:
    leader = Leader()
    assert leader.verdict(leader.fetched(identity(9), (0, -1))).refusal is FetchRefusal.NOT_A_REPLICA


def test_a_leadership_that_was_taken_away_ends() -> None:
    """As when its data directory was replaced, and nobody else was in sync."""
    for taken in (
        Assignment(NO_LEADER, 0, 5, (1, 2, 3), members(2), 11),
        Assignment(1, 1, 5, (1, 2, 3), members(2), 11),
    ):
        leader = Leader(isr=members(1, 2))
        leader.step(AssignmentSeen(taken))
        assert leader.machine.service is Service.STEPPED_DOWN


# --- acknowledgements ---


@pytest.mark.parametrize(
    ("acks", "needs"),
    [(1, "the leader"), (2, "one follower"), (3, "both followers"), (ACKS_ALL, "both followers")],
)
def test_an_append_is_acknowledged_when_enough_replicas_have_it(acks: int, needs: str) -> None:
    leader = Leader()
    reached = leader.append(2, durable=False) + leader.step(AckAwaited(0, 2, acks, 7))
    leader.messages.sync(2)
    steps = {
        "the leader": leader.append(0),
        "one follower": leader.fetched(identity(2), (2, 5)),
        "both followers": leader.fetched(identity(3), (2, 5)),
    }
    assert AcksReached((7,)) not in reached
    assert [step for step, effects in steps.items() if AcksReached((7,)) in effects] == [needs]


def test_what_waits_when_the_leadership_ends_is_unknown() -> None:
    leader = Leader()
    leader.append(2)
    for token in (1, 2):
        leader.step(AckAwaited(0, token, ACKS_ALL, token))
    assert AcksUnknown((1, 2)) in leader.step(AssignmentSeen(assignment(epoch=6, revision=20)))
    assert leader.step(AckAwaited(0, 2, 1, 3)) == [AcksUnknown((3,))]


def test_an_append_that_is_waited_for_again_does_not_wait_for_later_ones() -> None:
    leader = Leader()
    leader.append(3)
    for next_offset, token in ((3, 7), (1, 8), (2, 9)):
        leader.step(AckAwaited(0, next_offset, 2, token))
    assert AcksReached((8, 9)) in leader.fetched(identity(2), (2, 5))
    assert AcksReached((7,)) in leader.fetched(identity(2), (3, 5))


def test_only_so_many_may_wait() -> None:
    leader = Leader(messages=log_of())
    leader.fetched(identity(2), (0, -1))
    leader.fetched(identity(3), (0, -1))
    for token in range(SETTINGS.waiting_acks_max):
        assert leader.machine.refusal(3) is None
        leader.append()
        leader.step(AckAwaited(0, token + 1, 3, token))
    assert leader.machine.refusal(3) is Refusal.TOO_MANY_WAITING
    assert leader.machine.refusal(0) is None
    assert leader.machine.refusal(ACKS_ALL) is None, "it waits for the high watermark, which may move all the same"


def test_below_the_minimum_only_what_asks_for_less_than_all_is_taken() -> None:
    leader = Leader(isr=members(1, 2), min_insync=2)
    leader.fetched(identity(2), (0, -1))
    assert leader.machine.refusal(ACKS_ALL) is None
    leader.append()
    leader.step(TimePassed(), LAG_MS)  # node 2 is late now, and stays in the ISR, as it would be too small
    assert leader.machine.refusal(ACKS_ALL) is Refusal.NOT_ENOUGH_REPLICAS
    assert leader.machine.refusal(1) is None


# --- beginning ---


def test_it_serves_when_the_high_watermark_has_reached_the_log_end_at_the_election() -> None:
    leader = Leader(messages=log_of(1, 1, 2), isr=members(1, 2))
    assert leader.machine.service is Service.STARTING
    assert leader.machine.refusal(0) is Refusal.NOT_SERVING
    leader.fetched(identity(2), (2, 1))
    assert leader.machine.service is Service.STARTING
    assert ServiceChanged(Service.SERVING) in leader.fetched(identity(2), (3, 2))


def test_every_log_has_to_be_there() -> None:
    leader = Leader(messages=log_of(1), records=log_of(1, 1), isr=members(1, 2))
    leader.fetched(identity(2), (1, 1), (1, 1))
    assert leader.machine.service is Service.STARTING
    leader.fetched(identity(2), (1, 1), (2, 1))
    assert leader.machine.service is Service.SERVING


# --- who is in sync ---


def test_a_follower_that_lacks_something_for_too_long_leaves() -> None:
    leader = Leader()
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (0, -1))
    leader.append(now_ms=100)
    leader.fetched(identity(2), (1, 5), now_ms=110)
    assert leader.machine.next_deadline() == 100 + LAG_MS
    assert changes(leader.step(TimePassed(), 99 + LAG_MS)) == []
    [change] = changes(leader.step(TimePassed(), 100 + LAG_MS))
    assert change.change.isr == members(1, 2)
    assert leader.high_watermark == 0
    leader.step(IsrChangeEnded(change.change.serial, ChangeOutcome.DONE, 11), 101 + LAG_MS)
    assert leader.high_watermark == 1


def test_one_that_follows_a_steady_stream_stays() -> None:
    leader = Leader(isr=members(1, 2))
    for at in range(0, 4 * LAG_MS, 100):
        leader.append(now_ms=at)
        effects = leader.fetched(identity(2), (leader.messages.written_end - 1, 5 if at else -1), now_ms=at + 50)
        assert changes(effects) == []


@pytest.mark.parametrize("heard", [2, 3])
def test_late_ones_stay_as_long_as_the_isr_would_be_too_small(heard: int) -> None:
    """Both lack the same since the same moment: the one that was heard since then stays, as the other may be dead."""
    leader = Leader(min_insync=2)
    leader.append()
    leader.fetched(identity(heard), (0, -1), now_ms=10)
    [change] = changes(leader.step(TimePassed(), 2 * LAG_MS))
    assert change.change.isr == members(1, heard)
    leader.step(IsrChangeEnded(change.change.serial, ChangeOutcome.DONE, 11), 2 * LAG_MS)
    assert changes(leader.step(TimePassed(), 9 * LAG_MS)) == []


def test_a_follower_joins_with_everything_that_is_committed_in_every_log() -> None:
    leader = Leader(isr=members(1, 2), records=log_of(5, 5))
    leader.append(4)
    leader.fetched(identity(2), (4, 5), (2, 5))
    assert changes(leader.fetched(identity(3, incarnation=3), (4, 5), (1, 5))) == []
    assert changes(leader.fetched(identity(3, incarnation=4), (3, 5), (2, 5))) == []
    [change] = changes(leader.fetched(identity(3, incarnation=4), (4, 5), (2, 5)))
    assert change.change.isr == members(1, 2, 3)
    assert change.change.registered == (identity(1), identity(3, incarnation=4))


def test_a_joining_follower_holds_the_high_watermark_at_once() -> None:
    leader = Leader(isr=members(1, 2))
    leader.fetched(identity(2), (0, -1))
    assert changes(leader.fetched(identity(3), (0, -1)))
    leader.append(2)
    leader.fetched(identity(2), (2, 5))
    assert leader.high_watermark == 0


def test_a_follower_joins_only_with_what_the_leader_found_at_its_election() -> None:
    """The high watermark of a new leader may be behind what is committed."""
    leader = Leader(messages=log_of(1, 1, 1), isr=members(1, 2))
    assert changes(leader.fetched(identity(3), (2, 1))) == []
    assert changes(leader.fetched(identity(3), (3, 1)))


def test_a_follower_that_was_not_heard_lately_does_not_join_on_its_old_word() -> None:
    """The controller took it out of the ISR. It may be gone for good, though it lacked nothing when it was heard."""
    leader = Leader()
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (0, -1))
    removed = leader.step(AssignmentSeen(assignment(isr=members(1, 2), revision=11)), 50_000)
    assert (changes(removed), removed[-1]) == ([], AskWhoIsHeard())
    now_ms = 60_000
    assert leader.step(FollowersHeard({3: now_ms - SETTINGS.contact_ms}), now_ms) == [], "asked once"
    [change] = changes(leader.step(FollowersHeard({3: now_ms - SETTINGS.contact_ms + 1}), now_ms))
    assert change.change.isr == members(1, 2, 3)


def test_a_follower_that_was_put_out_lives_only_if_it_is_heard_afterwards() -> None:
    """A node has died, and was heard a moment ago. Each of its partitions would ask in vain to have it back, again and
    again, and commit nothing meanwhile."""
    leader = Leader()
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (0, -1), now_ms=1_000)
    put_out = leader.step(AssignmentSeen(assignment(isr=members(1, 2), revision=11)), 1_200)
    assert (changes(put_out), put_out[-1]) == ([], AskWhoIsHeard())
    assert changes(leader.step(FollowersHeard({3: 1_200}), 1_300)) == []
    assert [member.node_id for member in leader.machine.isr.maximal] == [1, 2]
    [change] = changes(leader.step(FollowersHeard({3: 1_201}), 1_300))
    assert change.change.isr == members(1, 2, 3)


def test_whether_a_follower_that_was_put_out_lives_is_asked_once_more() -> None:
    """Without news of its own a partition is not told of fetches, unless the node was silent for long."""
    leader = Leader()
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (0, -1), now_ms=1_000)
    leader.step(AssignmentSeen(assignment(isr=members(1, 2), revision=11)), 1_200)
    ask_at_ms = 1_200 + SETTINGS.contact_ms
    assert leader.machine.next_deadline() == ask_at_ms
    assert leader.step(TimePassed(), ask_at_ms) == [AskWhoIsHeard()]
    assert leader.step(FollowersHeard({2: ask_at_ms, 3: 1_000}), ask_at_ms) == []
    assert leader.machine.next_deadline() is None


def test_a_follower_that_comes_back_joins_when_it_fetches() -> None:
    leader = Leader()
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (0, -1))
    leader.step(AssignmentSeen(assignment(isr=members(1, 2), revision=11)), 60_000)
    assert leader.machine.next_deadline() is None, "nothing is asked again and again meanwhile"
    [change] = changes(leader.fetched(identity(3), (0, -1), now_ms=70_000))
    assert change.change.isr == members(1, 2, 3)


def test_nobody_is_asked_for_where_nobody_may_join() -> None:
    leader = Leader(min_insync=2)
    leader.fetched(identity(2), (0, -1))
    leader.append()
    effects = leader.step(AssignmentSeen(assignment(isr=members(1, 2), revision=11)), 1_000)
    effects += leader.step(TimePassed(), SETTINGS.silence_ms - 1)
    assert AskWhoIsHeard() not in effects


def test_an_unknown_outcome_is_looked_up_after_a_pause() -> None:
    leader = Leader(isr=members(1, 2))
    leader.fetched(identity(2), (0, -1))
    [change] = changes(leader.fetched(identity(3), (0, -1)))
    leader.step(IsrChangeEnded(change.change.serial, ChangeOutcome.UNKNOWN), 50)
    at = leader.machine.next_deadline()
    assert at == 50 + SETTINGS.retry_ms
    assert ReadAssignment() in leader.step(TimePassed(), at)
    leader.step(AssignmentUnreadable(), at)
    assert ReadAssignment() in leader.step(TimePassed(), at + SETTINGS.retry_ms)
    [again] = changes(leader.step(AssignmentSeen(assignment(isr=members(1, 2))), at + SETTINGS.retry_ms))
    assert again.change.isr == members(1, 2)


def test_replicas_that_are_added_during_the_epoch_are_answered() -> None:
    leader = Leader()
    more = assignment(revision=11)
    more = type(more)(1, 1, 5, (1, 2, 3, 4), more.isr, 11)
    leader.step(AssignmentSeen(more))
    assert leader.verdict(leader.fetched(identity(4), (0, -1))).refusal is None


# --- without the coordination store ---


def test_without_coordination_the_isr_stays_as_it_is() -> None:
    leader = Leader(isr=members(1, 2))
    leader.step(CoordinationChanged(False))
    assert changes(leader.fetched(identity(3), (0, -1))) == []
    leader.append()
    assert changes(leader.step(TimePassed(), 5 * LAG_MS)) == []
    assert changes(leader.step(CoordinationChanged(True), 5 * LAG_MS))


def test_without_coordination_it_serves_while_enough_followers_are_heard() -> None:
    leader = Leader(min_insync=2)
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (0, -1), now_ms=1_000)
    leader.step(CoordinationChanged(False), 1_000)
    assert leader.machine.service is Service.SERVING
    leader.step(FollowersHeard({3: 2_000}), 2_000)
    until = 2_000 + SETTINGS.contact_ms
    assert leader.machine.next_deadline() == until
    leader.step(TimePassed(), until - 1)
    assert leader.machine.service is Service.SERVING
    leader.step(TimePassed(), until)
    assert leader.machine.service is Service.ISOLATED
    assert leader.machine.refusal(1) is Refusal.NOT_SERVING
    leader.step(FollowersHeard({2: until + 5}), until + 5)
    assert leader.machine.service is Service.SERVING


def test_a_leader_that_needs_nobody_serves_without_coordination() -> None:
    leader = Leader(isr=members(1), min_insync=1)
    leader.step(CoordinationChanged(False))
    leader.step(TimePassed(), 10**9)
    assert leader.machine.service is Service.SERVING


# --- who is heard ---


def is_sure(leader: Leader, now_ms: int, *, is_registered: bool = True) -> bool:
    return leader.machine.certainty.is_sure(now_ms - SETTINGS.contact_ms + 1, is_registered=is_registered)


@pytest.mark.parametrize("is_registered", [True, False])
def test_it_is_sure_for_a_while_after_enough_followers_fetched_registered_or_not(is_registered: bool) -> None:
    leader = Leader(min_insync=2)
    assert is_sure(leader, SETTINGS.contact_ms - 1, is_registered=is_registered), "it has just been elected"
    assert not is_sure(leader, SETTINGS.contact_ms, is_registered=is_registered)
    leader.fetched(identity(3), (0, -1), now_ms=1_000)
    until = 1_000 + SETTINGS.contact_ms
    for is_reachable in (True, False):
        leader.step(CoordinationChanged(is_reachable), 1_000)
        assert is_sure(leader, until - 1, is_registered=is_registered)
        assert not is_sure(leader, until, is_registered=is_registered), "by the clock, without any event"


def test_a_leader_that_is_alone_in_the_isr_is_always_sure() -> None:
    """Nobody else can be elected."""
    assert is_sure(Leader(isr=members(1), min_insync=1), 10**9, is_registered=False)


def test_with_a_minimum_of_one_every_silent_member_may_lead() -> None:
    leader = Leader(min_insync=1)
    later = 10 * SETTINGS.contact_ms
    leader.fetched(identity(2), (0, -1), now_ms=later)
    assert is_sure(leader, later), "somebody else would have been elected under its eyes"
    assert not is_sure(leader, later, is_registered=False), "node 3 may lead, alone"
    leader.fetched(identity(3), (0, -1), now_ms=later)
    assert is_sure(leader, later, is_registered=False)
    assert not is_sure(leader, later + SETTINGS.contact_ms, is_registered=False)


def test_who_is_silent_and_could_be_elected_needs_enough_others_to_commit() -> None:
    """A minimum of two of three: one that is silent cannot make it without one that is heard here."""
    leader = Leader(min_insync=2)
    later = 10 * SETTINGS.contact_ms
    leader.fetched(identity(3), (0, -1), now_ms=later)
    assert is_sure(leader, later, is_registered=False)


def test_a_silent_replica_outside_the_isr_is_no_leader_but_helps_one() -> None:
    later = 10 * SETTINGS.contact_ms
    leader = Leader(isr=members(1, 2), min_insync=1)
    leader.fetched(identity(2), (0, -1), now_ms=later)
    assert is_sure(leader, later, is_registered=False), "node 3 cannot be elected"
    assert not is_sure(leader, later + SETTINGS.contact_ms, is_registered=False)


def test_a_place_in_the_isr_on_its_way_counts() -> None:
    """It may have been taken, and its owner elected since."""
    later = 10 * SETTINGS.contact_ms
    leader = Leader(isr=members(1, 2), min_insync=1)
    leader.fetched(identity(2), (0, -1), now_ms=later)
    effects = leader.fetched(identity(3), (0, -1), now_ms=later)
    assert changes(effects), "node 3 is to join"
    leader.fetched(identity(2), (0, -1), now_ms=later + SETTINGS.contact_ms)
    assert not is_sure(leader, later + SETTINGS.contact_ms, is_registered=False), "node 3 fell silent"


def is_confirmed(leader: Leader, followed_ms: dict[int, int]) -> bool:
    return leader.machine.certainty.is_confirmed(1_000, followed_ms)


def test_it_is_confirmed_by_those_who_surely_followed_since_whenever_they_were_heard() -> None:
    leader = Leader(min_insync=2)
    for node_id in (2, 3):
        leader.fetched(identity(node_id), (0, -1), now_ms=2_000)
    assert not is_confirmed(leader, {})
    assert not is_confirmed(leader, {2: 999, 3: 999})
    assert is_confirmed(leader, {2: 999, 3: 1_000})
    assert is_confirmed(leader, {2: 1_000, 3: 1_000})


def test_with_a_minimum_of_one_everybody_has_to_confirm_it() -> None:
    leader = Leader(min_insync=1)
    assert not is_confirmed(leader, {2: 1_000})
    assert is_confirmed(leader, {2: 1_000, 3: 1_000})
    assert is_confirmed(Leader(isr=members(1), min_insync=1), {}), "nobody else can be elected"


def test_a_node_with_a_full_disk_joins_when_it_has_room_again() -> None:
    leader = Leader(isr=members(1, 2))
    leader.fetched(identity(2), (0, -1))
    leader.step(NodesImpaired(frozenset({3})))
    assert changes(leader.fetched(identity(3), (0, -1))) == []
    [change] = changes(leader.step(NodesImpaired(frozenset())))
    assert change.change.isr == members(1, 2, 3)
