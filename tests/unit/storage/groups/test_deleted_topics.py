"""Members of an exclusive group whose topics are deleted: one that is made again under the name is another one."""

from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.rpc.membership_messages import LEAVE, STEP_OUT, HeartbeatResponse
from tests.support.coordinated import GROUP, SESSION_MS, Coordinated

HEARS = {"topics_must_exist": True}
"""What a heartbeat says that is to be told; those of earlier versions do not."""


def made(**partitions: int) -> Coordinated:
    world = Coordinated()
    world.set_topics(**partitions)
    return world


def waiting(world: Coordinated, member: str, **fields: Any) -> int:
    """The token of a heartbeat that waits for another assignment than the member has now."""
    epoch = world.hear(member, topics=[], member_epoch=world.coordinator.groups[GROUP].members[member].member_epoch)
    known = epoch.member_epoch
    return world.beat(
        member, **{"member_epoch": known, "topics": [], "known_epoch": known, "wait_ms": 20_000, **fields}
    )


def is_told(world: Coordinated, token: int) -> bool:
    answer = world.answers.get(token)
    assert answer is None or (isinstance(answer, ServerError) and answer.code is ProblemCode.TOPIC_NOT_FOUND), answer
    return answer is not None


@pytest.mark.parametrize("fields", [{}, {"member_epoch": 0, "topics": ["a"]}], ids=["heartbeat", "receive"])
def test_who_waits_is_told_whether_it_owned_something_or_not(fields: dict[str, Any]) -> None:
    world = made(a=1)
    for member in ("owner", "spare"):
        world.hear(member, **HEARS)
    assert sorted(world.counts().values()) == [0, 1]
    tokens = [waiting(world, member, **HEARS, **fields) for member in ("owner", "spare")]
    assert not any(is_told(world, token) for token in tokens)
    world.set_topics(again=1)
    assert all(is_told(world, token) for token in tokens)


def test_who_asks_later_is_told_until_it_subscribes_to_what_is_there() -> None:
    world = made(a=2)
    epoch = world.hear("one", **HEARS).member_epoch
    world.set_topics(again=2)
    for fields in ({}, {"known_epoch": epoch, "wait_ms": 20_000}, {"member_epoch": 0, "topics": ["a"]}):
        asked = {"member_epoch": epoch, "topics": [], **fields}
        assert world.refusal("one", **asked, **HEARS) == "TOPIC_NOT_FOUND"  # type: ignore[arg-type]
    joined = world.hear("one", topics=["again"], **HEARS)
    assert [each.topic_id for each in joined.assigned] == ["again", "again"]
    assert world.hear("one", joined.member_epoch, topics=[], **HEARS) == joined


def test_one_of_several_topics_is_enough_as_it_is_when_it_joins() -> None:
    world = made(a=2, b=2)
    epoch = world.hear("one", topics=["a", "b"], **HEARS).member_epoch
    token = waiting(world, "one", **HEARS)
    world.set_topics(b=2)
    assert is_told(world, token)
    assert world.refusal("one", epoch, topics=[], **HEARS) == "TOPIC_NOT_FOUND"
    assert world.refusal("two", topics=["a", "b"], **HEARS) == "TOPIC_NOT_FOUND"
    assert set(world.counts()) == {"one"}


def test_who_waits_is_told_when_another_heartbeat_subscribes_to_what_is_no_more() -> None:
    world = made(a=1)
    world.hear("one", **HEARS)
    token = waiting(world, "one", **HEARS)
    world.hear("one", topics=["a", "gone"])
    assert is_told(world, token)


def test_a_pattern_matches_no_longer_and_that_is_all() -> None:
    world = made(a=2, b=2)
    world.hear("one", topics=["b"], patterns=["a*"], **HEARS)
    token = waiting(world, "one", **HEARS)
    world.set_topics(b=2)
    answer = world.answers[token]
    assert isinstance(answer, HeartbeatResponse)
    assert {each.topic_id for each in answer.assigned} == {"b"}
    world.set_topics(b=2, a2=1)
    assert len(world.hear("one", answer.member_epoch, topics=[], **HEARS).assigned) == 3


def test_who_is_told_may_leave_and_is_not_kept_by_what_is_refused() -> None:
    world = made(a=2)
    epochs = {each: world.hear(each, is_static=True, **HEARS).member_epoch for each in ("one", "two", "three")}
    world.set_topics(again=2)
    world.hear("one", LEAVE, **HEARS)
    world.hear("two", STEP_OUT, **HEARS)
    world.pass_time(SESSION_MS - 1)
    assert world.refusal("three", epochs["three"], topics=[], **HEARS) == "TOPIC_NOT_FOUND"
    world.pass_time(1)
    assert world.counts() == {}


def test_another_coordinator_tells_it_too() -> None:
    world = made(a=2)
    epoch = world.hear("one", **HEARS).member_epoch
    world.set_topics(again=2)
    world.replace()
    assert world.refusal("one", epoch, topics=[], **HEARS) == "TOPIC_NOT_FOUND"


def test_a_gateway_of_an_earlier_version_is_told_of_the_assignment_alone() -> None:
    """It would not know what to do, and ask again and again."""
    world = made(a=2, b=2)
    world.hear("one", topics=["a", "b"])
    token = waiting(world, "one")
    world.set_topics(b=2)
    answer = world.answers[token]
    assert isinstance(answer, HeartbeatResponse)
    assert {each.topic_id for each in answer.assigned} == {"b"}
    again = waiting(world, "one")
    world.set_topics(b=2, c=1)
    assert again not in world.answers
    assert world.hear("two", topics=["a"]).assigned == []
