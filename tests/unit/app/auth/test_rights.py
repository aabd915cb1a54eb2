"""What rights come to: default deny, deny wins, and nothing grows with what clients ask."""

import pytest

from acklog.wire.limits import NAME_LENGTH_MAX
from acklog.wire.problems import ProblemCode
from app.auth.giving import require_giving
from app.auth.principal import Principal
from app.auth.right import EVERY, Effect, Right
from app.auth.rights import NAMES_KNOWN_MAX, NamedRights, rights_of
from cluster.errors import ServerError
from cluster.model.action import Action


def allow(*actions: Action, **resources: object) -> Right:
    return Right(effect=Effect.ALLOW, actions=actions, **resources)  # type: ignore[arg-type]


def deny(*actions: Action, **resources: object) -> Right:
    return Right(effect=Effect.DENY, actions=actions, **resources)  # type: ignore[arg-type]


def holder(*rights: Right) -> Principal:
    return Principal("holder", rights_of(rights))


def test_who_has_no_right_may_do_nothing() -> None:
    nobody = holder()
    for action in Action:
        assert not nobody.may_on_topic(action, "a")
        assert not nobody.may_on_group(action, "a")
        for call in (nobody.require_on_cluster, nobody.require_somewhere, nobody.require_everything):
            with pytest.raises(ServerError) as refused:
                call(action)
            assert refused.value.code is ProblemCode.FORBIDDEN
    assert not nobody.knows_topic("a")
    assert not nobody.knows_group("a")


@pytest.mark.parametrize("is_denied_first", [False, True])
def test_deny_wins_wherever_it_stands(is_denied_first: bool) -> None:
    rights = [
        allow(Action.SEND, Action.LOOK, topics=("orders.*",)),
        deny(Action.SEND, topics=("orders.secret*",)),
        allow(Action.SEND, topics=("orders.secret.not",)),
    ]
    who = holder(*(reversed(rights) if is_denied_first else rights))
    assert who.may_on_topic(Action.SEND, "orders.eu")
    assert not who.may_on_topic(Action.SEND, "orders.secret.not")
    assert who.may_on_topic(Action.LOOK, "orders.secret.not"), "another action than the one that is denied"
    assert who.knows_topic("orders.secret")


def test_a_right_on_topics_is_none_on_groups_or_the_cluster() -> None:
    who = holder(allow(Action.LOOK, topics=EVERY))
    assert who.may_on_every_topic(Action.LOOK)
    assert not who.may_on_group(Action.LOOK, "a")
    with pytest.raises(ServerError, match="the cluster"):
        who.require_on_cluster(Action.LOOK)
    with pytest.raises(ServerError):
        who.require_everything(Action.LOOK)


def test_everything_is_every_topic_every_group_and_the_cluster() -> None:
    everything = allow(Action.LOOK, topics=EVERY, groups=EVERY, is_for_cluster=True)
    holder(everything).require_everything(Action.LOOK)
    for less in (
        deny(Action.LOOK, topics=("a",)),
        deny(Action.LOOK, groups=("a",)),
        deny(Action.LOOK, is_for_cluster=True),
    ):
        with pytest.raises(ServerError):
            holder(everything, less).require_everything(Action.LOOK)


def test_patterns_that_are_kept_say_all_or_are_refused() -> None:
    assert holder(allow(Action.MANAGE, topics=EVERY)).topic_patterns(Action.MANAGE) is None
    some = [allow(Action.MANAGE, topics=("a*", "b")), allow(Action.SEND, topics=("c",))]
    assert holder(*some).topic_patterns(Action.MANAGE) == ("a*", "b")
    assert holder(*some, deny(Action.SEND, topics=("a",))).topic_patterns(Action.MANAGE) == ("a*", "b")
    with pytest.raises(ServerError, match="deny"):
        holder(*some, deny(Action.MANAGE, topics=("ab",))).topic_patterns(Action.MANAGE)


def test_somewhere_is_where_not_everything_is_denied() -> None:
    allowed = allow(Action.SEND, topics=("a*",))
    holder(allowed, deny(Action.SEND, topics=("a*",))).require_somewhere(Action.SEND)  # nobody compares patterns
    with pytest.raises(ServerError):
        holder(allowed, deny(Action.SEND, topics=EVERY)).require_somewhere(Action.SEND)


def test_a_refusal_names_the_act_and_shows_no_more_of_a_name_than_one_can_have() -> None:
    with pytest.raises(ServerError) as refused:
        holder().require_on_topic(Action.SEND, "x" * 10_000)
    assert refused.value.detail == f"the token has no right to send on topic {'x' * NAME_LENGTH_MAX!r}"


def test_names_are_remembered_up_to_a_limit() -> None:
    rights = NamedRights([allow(Action.SEND, topics=("a*",))], lambda right: right.topics)
    for number in range(NAMES_KNOWN_MAX):
        assert rights.of(f"a{number}") == Action.SEND.bit
    assert len(rights._known) == NAMES_KNOWN_MAX
    assert rights.of("b") == 0
    assert len(rights._known) == 1
    rights.of("x" * NAME_LENGTH_MAX)
    assert len(rights._known) == 2
    rights.of("x" * (NAME_LENGTH_MAX + 1))
    assert len(rights._known) == 2


def test_the_group_of_a_queue_goes_by_the_rights_on_its_topic() -> None:
    who = holder(allow(Action.RECEIVE, topics=("orders", "shop-*", "eu/orders")))
    assert who.may_on_group(Action.RECEIVE, "sqs.orders")
    assert who.may_on_group(Action.RECEIVE, "sqs.shop-1.fifo")
    assert not who.may_on_group(Action.SEND, "sqs.orders"), "another action than the one on the topic"
    for other in ("orders", "sqs.other", "sqs.", "sqs.eu/orders", "eu/sqs.orders", "sqs.a.b", f"sqs.shop-{'x' * 76}"):
        assert not who.may_on_group(Action.RECEIVE, other), other
    assert who.may_on_group(Action.RECEIVE, f"sqs.shop-{'x' * 75}"), "the longest name that a queue may have"
    assert who.rights.groups.somewhere & Action.RECEIVE.bit
    assert not who.may_on_every_group(Action.RECEIVE)


def test_what_is_denied_on_the_group_of_a_queue_or_on_its_topic_is_denied() -> None:
    on_topics = allow(Action.RECEIVE, Action.LOOK, topics=EVERY)
    assert not holder(on_topics, deny(Action.RECEIVE, groups=("sqs.*",))).may_on_group(Action.RECEIVE, "sqs.orders")
    assert holder(on_topics, deny(Action.RECEIVE, groups=("sqs.*",))).may_on_group(Action.LOOK, "sqs.orders")
    assert not holder(on_topics, deny(Action.RECEIVE, topics=("orders",))).may_on_group(Action.RECEIVE, "sqs.orders")
    own = allow(Action.RECEIVE, groups=("sqs.orders",))
    assert holder(own, deny(Action.RECEIVE, topics=("orders",))).may_on_group(Action.RECEIVE, "sqs.orders")


@pytest.mark.parametrize(
    ("denied", "may_give"),
    [("billing", True), ("sqs", True), ("sqs.*/x", True), ("sqs.orders", False), ("s*", False), ("*", False)],
)
def test_nobody_gives_by_topics_what_is_denied_to_them_on_groups_of_queues(denied: str, may_give: bool) -> None:
    giver = holder(allow(Action.SEND, topics=EVERY), deny(Action.SEND, groups=(denied,)))
    given = [allow(Action.SEND, topics=("orders",))]
    if may_give:
        require_giving(giver, given, until_ms=None)
    else:
        with pytest.raises(ServerError, match="groups of queues"):
            require_giving(giver, given, until_ms=None)
