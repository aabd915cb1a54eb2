"""What rights decide, against the plainest reading of them; and the right that is named as the reason decides alike."""

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.name_patterns import is_pattern_for
from acklog.wire.names import namespace_of
from app.auth.deciding_right import deciding_on_cluster, deciding_on_group, deciding_on_topic
from app.auth.right import Effect, Right
from app.auth.rights import rights_of
from cluster.model.action import Action

NAMES = st.sampled_from(
    [
        "a",
        "ab",
        "orders",
        "orders.eu",
        "x[y",
        "*",
        "b\n",
        "",
        "shop/orders",
        "shop/",
        "/a",
        "a/b/c",
        "sqs.ab",
        "sqs.orders",
        "sqs.orders.fifo",
    ]
) | st.text("ab.*[]!?-/", max_size=5)
PATTERNS = (
    st.sampled_from(
        [
            "*",
            "a*",
            "*b",
            "a*b*",
            "orders.*",
            "[ab]?",
            "[!a]*",
            "**",
            "[",
            "a|b",
            "(",
            "x\\",
            "shop/*",
            "*/*",
            "sqs.*",
            "sqs.a*",
        ]
    )
    | NAMES
)
MANY = st.lists(PATTERNS, max_size=4).map(tuple)
RIGHTS = st.lists(
    st.builds(
        Right,
        effect=st.sampled_from(Effect),
        actions=st.lists(st.sampled_from(Action), min_size=1, max_size=3).map(tuple),
        topics=MANY,
        groups=MANY,
        is_for_cluster=st.booleans(),
    ),
    max_size=6,
).map(tuple)


def plainly(rights: tuple[Right, ...], action: Action, kind: str, name: str) -> bool:
    """The group of a queue of SQS may be used as the queue's topic may, unless it is denied itself."""
    queue = name.removeprefix("sqs.")
    is_of_queue = kind == "groups" and name in {"sqs.ab", "sqs.orders", "sqs.orders.fifo"}
    is_allowed, is_denied = said(rights, action, kind, name)
    return (is_allowed or (is_of_queue and plainly(rights, action, "topics", queue))) and not is_denied


def said(rights: tuple[Right, ...], action: Action, kind: str, name: str) -> tuple[bool, bool]:
    """Whether it is allowed, and whether it is denied."""

    def is_said(effect: Effect) -> bool:
        return any(
            right.effect is effect
            and action in right.actions
            and any(is_pattern_for(pattern, name) for pattern in getattr(right, kind))
            for right in rights
        )

    return is_said(Effect.ALLOW), is_said(Effect.DENY)


@given(RIGHTS, NAMES)
def test_names(rights: tuple[Right, ...], name: str) -> None:
    found = rights_of(rights)
    for action in Action:
        for kind, known, deciding in (
            ("topics", found.topics, deciding_on_topic),
            ("groups", found.groups, deciding_on_group),
        ):
            expected = plainly(rights, action, kind, name)
            for _ in range(2):  # found, and remembered
                assert (known.of(name) & action.bit != 0) == expected
            reason = deciding(rights, action, name)
            assert reason.is_allowed == expected
            assert (reason.right is None) <= (not expected)
            if known.everywhere & action.bit:
                assert expected
            if expected:
                assert known.somewhere & action.bit


@given(RIGHTS)
def test_the_cluster(rights: tuple[Right, ...]) -> None:
    found = rights_of(rights)
    for action in Action:
        said = {right.effect for right in rights if right.is_for_cluster and action in right.actions}
        expected = said == {Effect.ALLOW}
        assert (found.cluster & action.bit != 0) == expected
        assert deciding_on_cluster(rights, action).is_allowed == expected


@given(RIGHTS, NAMES)
def test_patterns_that_are_kept_are_no_more_than_is_allowed(rights: tuple[Right, ...], name: str) -> None:
    found = rights_of(rights)
    for action in Action:
        kept = found.topics.patterns_of(action.bit)
        if kept is not None and any(is_pattern_for(pattern, name) for pattern in kept):
            assert found.topics.of(name) & action.bit


@given(RIGHTS, st.sampled_from(["shop/orders", "shop/a", "a/ab"]))
def test_who_may_do_something_with_a_name_may_do_something_in_its_namespace(
    rights: tuple[Right, ...], name: str
) -> None:
    found = rights_of(rights)
    for kind in (found.topics, found.groups):
        assert kind.in_namespace(namespace_of(name)) & kind.of(name) == kind.of(name)


def test_what_is_denied_of_a_whole_namespace_is_none_of_what_may_be_done_there() -> None:
    allowed = Right(effect=Effect.ALLOW, actions=(Action.LOOK,), topics=("shop/*", "other/a"))
    denied = Right(effect=Effect.DENY, actions=(Action.LOOK,), topics=("shop/*",))
    found = rights_of([allowed, denied]).topics
    assert (found.in_namespace("shop"), found.in_namespace("other")) == (0, Action.LOOK.bit)
    assert found.in_namespace("third") == 0
