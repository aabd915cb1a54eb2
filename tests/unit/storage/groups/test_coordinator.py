"""Who is a member of an exclusive group, and who owns what."""

import pytest
from msgspec.structs import replace

from cluster.errors import ServerError
from cluster.model.values import Assignor
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.events import Beat
from storage.groups.records import Assigned, MemberWritten
from storage.rpc.membership_messages import LEAVE, STEP_OUT, UNSAID, HeartbeatRequest, HeartbeatResponse, Ownership
from tests.support.coordinated import GROUP, SESSION_MS, Coordinated


def made(*members: str, partitions: int = 6, **settings: int) -> Coordinated:
    """All of them joined, one after the other."""
    world = Coordinated(CoordinatorSettings(**settings))
    world.set_topics(a=partitions)
    for member in members:
        world.hear(member)
    return world


def test_who_joins_gets_a_share_and_hears_of_it() -> None:
    world = made()
    first = world.hear("one")
    assert [each.partition for each in first.assigned] == [0, 1, 2, 3, 4, 5]
    assert first.session_timeout_ms == SESSION_MS
    second = world.hear("two")
    assert len(second.assigned) == 3
    assert second.member_epoch > first.member_epoch
    assert not any(each.is_forced for each in second.assigned)


def test_ownership_rises_with_every_other_owner_and_only_then() -> None:
    world = made("one")
    before = {each.partition: each.ownership for each in world.hear("one").assigned}
    moved = {each.partition: each.ownership for each in world.hear("two").assigned}
    kept = {each.partition: each.ownership for each in world.hear("one").assigned}
    assert all(moved[number] > before[number] for number in moved)
    assert kept == {number: before[number] for number in kept}
    world.leave("two")
    back = {each.partition: each for each in world.hear("one").assigned}
    assert all(back[number].ownership > moved[number] for number in moved)
    assert all(back[number].is_forced for number in moved)


def test_what_was_nobodys_is_forced_and_what_is_given_up_is_not() -> None:
    world = made("one", "two", "three")
    assert not any(each.is_forced for each in world.hear("three").assigned)
    world.leave("one")
    forced = [each for member in ("two", "three") for each in world.hear(member).assigned if each.is_forced]
    assert len(forced) >= 2


def said(world: Coordinated, member: str) -> set[tuple[int, int, int]]:
    """What its claims say: by which numbers, and since which ones the owners before are gone, and have left."""
    return {(each.ownership, each.gone_since, each.left_since) for each in world.hear(member).assigned}


def numbers(world: Coordinated, member: str) -> set[int]:
    return {ownership for ownership, _, _ in said(world, member)}


def test_an_owner_that_leaves_says_nothing_of_the_one_before_it() -> None:
    """The one before may not have heard yet that the partition is not its own, and has messages in hand."""
    world = made("one", partitions=2)
    [first] = numbers(world, "one")
    [second] = numbers(world, "two")
    assert said(world, "two") == {(second, second, second)}
    world.leave("two")
    assert (second, second) in {(gone, left) for number, gone, left in said(world, "one") if number > second}
    assert second > first


def test_who_is_gone_is_known_as_far_back_as_nobody_lives() -> None:
    world = made("one", partitions=1)
    [first] = numbers(world, "one")
    world.pass_time(SESSION_MS)
    world.hear("two")
    [second] = numbers(world, "two")
    assert said(world, "two") == {(second, first, first + 1)}  # it did not leave
    world.replace()
    world.leave("two")
    world.replace()
    world.coordinator = world.replayed(list(world.coordinator.written()))
    world.hear("three")
    assert {(gone, left) for _, gone, left in said(world, "three")} == {(first, first + 1)}


def test_what_is_nobodys_because_nobody_wants_it_may_be_at_work_still() -> None:
    world = made("one", partitions=2)
    world.hear("one", topics=["b"])
    world.hear("two")
    assert all(gone == left > 1 for _, gone, left in said(world, "two"))
    assert not {gone for _, gone, _ in said(world, "two")} & {1, 2}


def test_who_steps_out_and_does_not_come_back_has_left() -> None:
    world = made()
    first = world.hear("one", is_static=True, instance_id="a").assigned[0].ownership
    world.hear("one", STEP_OUT, instance_id="a")
    world.pass_time(SESSION_MS)
    world.hear("two")
    assert {(gone, left) for _, gone, left in said(world, "two")} == {(first, first)}


def test_a_log_of_an_earlier_version_says_of_no_owner_that_it_is_gone() -> None:
    world = made("one", partitions=1)
    world.pass_time(SESSION_MS)
    world.hear("two")
    [owned] = [each for each in world.log if isinstance(each, Assigned)][-1].owned
    earlier = replace(owned, gone_since=UNSAID, left_since=UNSAID)
    world.log = [
        Assigned(each.group_id, each.epoch, (earlier,)) if each is world.log[-1] else each for each in world.log
    ]
    world.replace()
    assert said(world, "two") == {(owned.ownership, owned.ownership, owned.ownership)}


def test_what_was_somebodys_is_forgotten_with_its_topic() -> None:
    world = made("one")
    world.leave("one")
    assert len(world.coordinator.groups[GROUP].vacant) == 6
    world.set_topics(b=1)
    world.hear("two", topics=["b"])
    assert world.coordinator.groups[GROUP].vacant == {}
    assert list(world.replayed().written()) == list(world.coordinator.written())


def test_many_joins_in_one_turn_are_one_assignment() -> None:
    world = made(partitions=200)
    world.decide(*(Beat(-number, HeartbeatRequest(0, GROUP, f"m{number}", 0, ["a"])) for number in range(1, 101)))
    assert sum(isinstance(record, Assigned) for record in world.log) == 1
    assert set(world.counts().values()) == {2}


def test_a_heartbeat_waits_until_the_assignment_changes() -> None:
    world = made("one")
    epoch = world.hear("one").member_epoch
    token = world.beat("one", epoch, known_epoch=epoch, wait_ms=5_000)
    assert token not in world.answers
    world.hear("two")
    answer = world.answers[token]
    assert isinstance(answer, HeartbeatResponse)
    assert answer.member_epoch > epoch
    assert len(answer.assigned) == 3


def test_a_heartbeat_waits_no_longer_than_it_says() -> None:
    world = made("one")
    epoch = world.hear("one").member_epoch
    token = world.beat("one", epoch, known_epoch=epoch, wait_ms=5_000)
    assert world.coordinator.next_deadline() is not None
    world.pass_time(4_999)
    assert token not in world.answers
    world.pass_time(1)
    assert token in world.answers


def test_who_is_not_heard_goes_and_its_partitions_are_forced() -> None:
    world = made("one", "two")
    world.pass_time(SESSION_MS - 1)
    world.hear("two")
    assert set(world.counts()) == {"one", "two"}
    world.pass_time(1)
    assert world.counts() == {"two": 6}
    assert sum(each.is_forced for each in world.hear("two").assigned) >= 3
    assert world.refusal("one", 1) == "MEMBER_UNKNOWN"


def test_who_waits_is_there_and_who_gives_up_has_a_session_from_then() -> None:
    world = made("one")
    epoch = world.hear("one").member_epoch
    token = world.beat("one", epoch, known_epoch=epoch, wait_ms=60_000)
    world.pass_time(3 * SESSION_MS)
    assert world.counts() == {"one": 6}
    world.give_up(token)
    world.pass_time(SESSION_MS - 1)
    assert world.counts() == {"one": 6}
    world.pass_time(1)
    assert world.counts() == {}


def test_a_clean_leave_moves_at_once_and_ends_what_waits() -> None:
    world = made("one", "two")
    epoch = world.hear("one").member_epoch
    token = world.beat("one", epoch, known_epoch=epoch, wait_ms=60_000)
    assert world.hear("one", LEAVE).member_epoch == LEAVE
    assert world.counts() == {"two": 6}
    answer = world.answers[token]
    assert isinstance(answer, ServerError)
    assert answer.code.name == "MEMBER_UNKNOWN"
    assert world.refusal("one", LEAVE) == "MEMBER_UNKNOWN"


def test_an_earlier_life_is_fenced() -> None:
    world = made("one", "two")
    old = world.hear("one").member_epoch
    world.leave("one")
    new = world.hear("one").member_epoch
    assert new > old
    assert world.refusal("one", old) == "MEMBER_FENCED"
    assert world.refusal("one", new + 1) == "MEMBER_FENCED"
    assert world.hear("one", new).member_epoch == new


def test_another_process_under_a_name_that_is_not_static_takes_it_over_with_other_ownerships() -> None:
    world = made("two")
    before = world.hear("one", instance_id="a")
    token = world.beat("one", before.member_epoch, known_epoch=before.member_epoch, wait_ms=60_000, instance_id="a")
    after = world.hear("one", instance_id="b")
    assert min(each.ownership for each in after.assigned) > max(each.ownership for each in before.assigned)
    assert world.refusal("one", before.member_epoch, instance_id="a") == "MEMBER_FENCED"
    answer = world.answers[token]
    assert isinstance(answer, ServerError)
    assert answer.code.name == "MEMBER_FENCED"


def test_a_static_member_comes_back_within_its_timeout_without_a_rebalance() -> None:
    world = made("two")
    before = world.hear("one", is_static=True, instance_id="a")
    world.pass_time(SESSION_MS - 1)
    world.hear("two")
    log = len(world.log)
    assert world.hear("one", is_static=True, instance_id="a") == before
    assert world.log[log:] == []


@pytest.mark.parametrize("is_static", [True, False])
@pytest.mark.parametrize("assignor", Assignor)
def test_another_process_of_a_name_has_the_same_partitions_by_other_numbers(
    assignor: Assignor, is_static: bool
) -> None:
    """Its leaders depose the first process, which may still be at work; of the others' nothing moves."""
    world = made("two", "three", partitions=8)
    world.set_assignor(assignor)
    before = world.hear("one", is_static=is_static, instance_id="a")
    others = [world.hear(each) for each in ("two", "three")]
    world.pass_time(SESSION_MS // 2)
    assert [world.hear(each) for each in ("two", "three")] == others
    after = world.hear("one", is_static=is_static, instance_id="b")
    assert [each.partition for each in after.assigned] == [each.partition for each in before.assigned]
    first = {each.partition: each.ownership for each in before.assigned}
    assert all(each.ownership > first[each.partition] >= each.gone_since for each in after.assigned)
    assert all(each.is_forced and each.left_since > first[each.partition] for each in after.assigned)  # as who died
    for member, told in zip(("two", "three"), others, strict=True):
        assert world.hear(member).assigned == told.assigned
    assert world.refusal("one", before.member_epoch, instance_id="a") == "MEMBER_FENCED"


def test_another_process_of_a_static_name_has_only_what_it_subscribes_to() -> None:
    world = made("two")
    world.set_topics(a=4, b=4)
    before = world.hear("one", is_static=True, instance_id="a")
    world.pass_time(SESSION_MS // 2)
    world.hear("two")
    after = world.hear("one", topics=["b"], is_static=True, instance_id="b")
    assert {each.topic_id for each in after.assigned} == {"b"}
    [first] = {each.ownership for each in before.assigned}
    taken = [each for each in world.hear("two").assigned if each.ownership > first]
    assert len(taken) == 2
    assert all(each.gone_since <= first for each in taken)  # the first process is not waited for


def test_a_coordinator_that_fails_between_the_records_of_a_takeover_leaves_nothing_to_the_first_process() -> None:
    """The log may end after each of them."""
    world = made("two")
    before = world.hear("one", is_static=True, instance_id="a")
    world.pass_time(SESSION_MS // 2)
    log = len(world.log)
    world.hear("one", is_static=True, instance_id="b")
    whole = list(world.log)
    for end in range(log + 1, len(whole) + 1):
        world.log = whole[:end]
        world.replace()
        first = {each.partition: each.ownership for each in before.assigned}
        after = world.hear("one", is_static=True, instance_id="b").assigned
        assert {each.partition for each in after} == set(first)
        assert all(each.ownership > first[each.partition] >= each.gone_since for each in after)


def test_two_living_processes_cannot_have_one_static_name() -> None:
    world = made()
    epoch = world.hear("one", is_static=True, instance_id="a").member_epoch
    assert world.refusal("one", is_static=True, instance_id="b") == "MEMBER_EXISTS"
    world.pass_time(SESSION_MS // 2 - 1)
    assert world.refusal("one", is_static=True, instance_id="b") == "MEMBER_EXISTS"
    world.beat("one", epoch, is_static=True, instance_id="a", known_epoch=epoch, wait_ms=60_000)
    world.pass_time(SESSION_MS)
    assert world.refusal("one", is_static=True, instance_id="b") == "MEMBER_EXISTS"


def test_a_static_member_that_steps_out_leaves_its_name_to_the_next_process() -> None:
    world = made("two")
    before = world.hear("one", is_static=True, instance_id="a")
    world.hear("one", STEP_OUT, instance_id="a")
    assert world.counts() == {"one": 3, "two": 3}
    after = world.hear("one", is_static=True, instance_id="b")
    assert [each.partition for each in after.assigned] == [each.partition for each in before.assigned]
    first = {each.partition: each.ownership for each in before.assigned}
    assert all(each.ownership > first[each.partition] >= each.left_since for each in after.assigned)
    world.hear("one", STEP_OUT, instance_id="b")
    world.pass_time(SESSION_MS)
    assert "one" not in world.counts()
    assert world.hear("two").assigned
    assert world.refusal("two", STEP_OUT) == "INVALID_FIELD"


def test_a_late_heartbeat_of_who_has_stepped_out_does_not_keep_the_next_process_out() -> None:
    world = made()
    epoch = world.hear("one", is_static=True, instance_id="a").member_epoch
    world.hear("one", STEP_OUT, instance_id="a")
    for fields in ({"instance_id": "a"}, {}, {"topics": []}, {"known_epoch": epoch, "wait_ms": 5_000}):
        assert world.refusal("one", epoch, **fields) == "MEMBER_UNKNOWN"
    world.hear("one", STEP_OUT, instance_id="a")  # may be repeated
    assert world.hear("one", is_static=True, instance_id="b").member_epoch > epoch


def test_who_has_stepped_out_comes_back_by_joining_and_may_still_leave() -> None:
    world = made()
    before = world.hear("one", is_static=True, instance_id="a")
    world.hear("one", STEP_OUT, instance_id="a")
    assert world.hear("one", is_static=True, instance_id="a") == before
    assert world.hear("one", before.member_epoch, topics=[], instance_id="a") == before
    assert world.refusal("one", is_static=True, instance_id="b") == "MEMBER_EXISTS"
    world.hear("one", STEP_OUT, instance_id="a")
    world.leave("one")
    assert world.counts() == {}


def test_topics_that_appear_or_grow_are_assigned() -> None:
    world = made()
    world.hear("one", topics=["a"], patterns=["b*"])
    world.hear("two", topics=["a"], patterns=["b*"])
    assert world.counts() == {"one": 3, "two": 3}
    world.set_topics(a=6, b1=2, c=9)
    assert world.counts() == {"one": 4, "two": 4}
    world.set_topics(a=8, b1=2, c=9)
    assert world.counts() == {"one": 5, "two": 5}
    world.set_topics(a=8)
    assert world.counts() == {"one": 4, "two": 4}


def test_no_pattern_is_for_acklogs_own_topics_nor_for_the_groups_dead_letters() -> None:
    world = made()
    world.set_topics(**{"a": 1, "__groups": 4, f"a.{GROUP}.dlq": 2, "a.other.dlq": 2})
    world.hear("one", topics=[], patterns=["*"])
    assert {topic for topic, _ in world.owners()} == {"a", "a.other.dlq"}


def test_members_have_only_what_they_subscribe_to() -> None:
    world = made()
    world.set_topics(a=4, b=4)
    world.hear("one", topics=["a"])
    world.hear("two", topics=["a", "b"])
    assert {topic for topic, number in world.owners() if world.owners()[topic, number] == "one"} == {"a"}
    assert world.counts() == {"one": 4, "two": 4}
    world.hear("two", topics=["a"])
    assert world.counts() == {"one": 2, "two": 2}


def test_heartbeats_that_say_no_subscription_keep_it() -> None:
    world = made("one")
    epoch = world.hear("one").member_epoch
    log = len(world.log)
    assert len(world.hear("one", epoch, topics=[]).assigned) == 6
    assert len(world.log) == log


def test_another_assignor_is_used_at_once() -> None:
    world = made("one", "two", "three")
    world.set_assignor(Assignor.RANGE)
    assert [name for _, name in sorted(world.owners().items())] == ["one"] * 2 + ["three"] * 2 + ["two"] * 2


def test_heartbeats_without_news_write_nothing() -> None:
    world = made("one", "two")
    log = len(world.log)
    for _ in range(20):
        world.pass_time(SESSION_MS // 3)
        for member in ("one", "two"):
            world.hear(member)
    assert len(world.log) == log


def test_a_new_coordinator_knows_all_and_gives_everybody_a_session_again() -> None:
    world = made("one", "two")
    before = {member: world.hear(member) for member in ("one", "two")}
    world.pass_time(SESSION_MS - 1)
    world.replace()
    log = len(world.log)
    world.pass_time(SESSION_MS - 1)
    assert {member: world.hear(member, before[member].member_epoch) for member in before} == before
    assert len(world.log) == log
    world.pass_time(SESSION_MS)
    assert world.counts() == {}


def test_a_new_coordinator_sees_what_came_meanwhile() -> None:
    world = made("one")
    world.coordinator = Coordinated().coordinator  # it does not hear of the topics
    world.set_topics(a=8)
    world.replace()
    world.decide()
    assert world.counts() == {"one": 8}


def test_the_state_written_anew_stands_for_the_log_before() -> None:
    world = made("one", "two", "three")
    world.leave("two")
    rewritten = list(world.coordinator.written())
    for log in (rewritten, [*world.log, *rewritten], [*world.log[3:], *rewritten]):
        assert list(world.replayed(log).written()) == rewritten


def test_a_deleted_group_is_forgotten_and_who_waits_is_told() -> None:
    world = made("one")
    epoch = world.hear("one").member_epoch
    token = world.beat("one", epoch, known_epoch=epoch, wait_ms=60_000)
    world.delete()
    assert world.coordinator.groups == {}
    answer = world.answers[token]
    assert isinstance(answer, ServerError)
    assert answer.code.name == "GROUP_NOT_FOUND"
    assert world.replayed().groups == {}
    assert world.refusal("one") == "GROUP_NOT_FOUND"


@pytest.mark.parametrize(
    ("settings", "fields", "code"),
    [
        ({"members_per_group_max": 2}, {}, "TOO_MANY_MEMBERS"),
        ({"groups_max": 1}, {"group": "other"}, "TOO_MANY_GROUPS"),
        ({"topics_per_subscription_max": 2}, {"topics": ["a", "b", "c"]}, "INVALID_FIELD"),
        ({"patterns_per_subscription_max": 2}, {"patterns": ["a", "b", "c"]}, "INVALID_FIELD"),
        ({"pattern_length_max": 3}, {"patterns": ["abcd"]}, "INVALID_FIELD"),
        ({}, {"session_timeout_ms": 999}, "INVALID_FIELD"),
        ({}, {"session_timeout_ms": 30 * 60_000 + 1}, "INVALID_FIELD"),
    ],
)
def test_beyond_a_bound_a_join_is_refused_and_changes_nothing(
    settings: dict[str, int], fields: dict[str, object], code: str
) -> None:
    world = made("one", "two", **settings)
    assert world.refusal("three", **fields) == code
    assert set(world.counts()) == {"one", "two"}


def test_at_its_bounds_everything_is_taken() -> None:
    world = made("one", members_per_group_max=2, topics_per_subscription_max=2, patterns_per_subscription_max=2)
    world.hear("two", topics=["a", "b"], patterns=["c", "d"], session_timeout_ms=1_000)
    assert set(world.counts()) == {"one", "two"}


@pytest.mark.parametrize("bound", ["waiting_heartbeats_max", "waiting_per_member_max"])
def test_so_many_heartbeats_wait_and_no_more(bound: str) -> None:
    world = made("one", **{bound: 2})
    epoch = world.hear("one").member_epoch
    waiting = [world.beat("one", epoch, known_epoch=epoch, wait_ms=5_000) for _ in range(2)]
    assert world.refusal("one", epoch, known_epoch=epoch, wait_ms=5_000) == "TOO_MANY_WAITING"
    world.give_up(waiting[0])
    assert world.beat("one", epoch, known_epoch=epoch, wait_ms=5_000) not in world.answers


def test_no_heartbeat_waits_longer_than_may_be() -> None:
    world = made("one", wait_ms_max=2_000)
    epoch = world.hear("one").member_epoch
    token = world.beat("one", epoch, known_epoch=epoch, wait_ms=60_000)
    world.pass_time(2_000)
    assert token in world.answers


def test_one_subscription_of_many_is_kept_once() -> None:
    world = made(*(f"m{number}" for number in range(10)))
    members = world.coordinator.groups[GROUP].members.values()
    assert len({id(member.subscription) for member in members}) == 1
    assert sum(isinstance(record, MemberWritten) for record in world.log) == 10


class TestNumbersThatWereLost:
    """Partitions' leaders have seen higher ownerships than this coordinator ever gave out."""

    def test_everything_is_its_owners_by_higher_numbers(self) -> None:
        world = made("one", "two")
        before = {member: [each.partition for each in world.hear(member).assigned] for member in ("one", "two")}
        refused = world.hear("one").assigned[0].partition
        answer = world.hear("one", overtaken=[Ownership("a", refused, 57)])
        assert answer.member_epoch == answer.group_epoch == 58
        for member, places in before.items():
            assert [each.partition for each in world.hear(member).assigned] == places
            assert all(each.ownership == 58 and not each.is_forced for each in world.hear(member).assigned)
        assert world.hear("three").group_epoch > 58

    def test_who_waits_hears_of_it(self) -> None:
        world = made("one", "two")
        epoch = world.hear("two").member_epoch
        token = world.beat("two", epoch, known_epoch=epoch, wait_ms=5_000)
        refused = world.hear("one").assigned[0]
        world.hear("one", overtaken=[Ownership("a", refused.partition, refused.ownership + 1)])
        answer = world.answers[token]
        assert isinstance(answer, HeartbeatResponse)
        assert answer.member_epoch > epoch

    def test_an_owner_of_before_that_is_refused_changes_nothing(self) -> None:
        world = made("one")
        world.hear("two")
        moved = world.hear("two").assigned[0]
        records = len(world.log)
        for needed in (0, 1, moved.ownership):
            world.hear("one", overtaken=[Ownership("a", moved.partition, needed)])
        world.hear("one", overtaken=[Ownership("a", 99, 1_000), Ownership("gone", 0, 1_000)])
        assert len(world.log) == records

    def test_the_log_says_it_to_the_next_coordinator(self) -> None:
        world = made("one")
        world.hear("one", overtaken=[Ownership("a", 0, 57)])
        world.replace()
        assert {each.ownership for each in world.hear("one").assigned} == {58}
