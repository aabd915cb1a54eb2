"""Which topics a mirror copies, and what they are called."""

import pytest

from acklog.errors import InvalidArgument
from acklog.mirror.topic_rules import PATTERNS_MAX, RENAMES_MAX, TopicRules


def test_patterns_say_what_is_meant_and_what_is_not() -> None:
    rules = TopicRules(["orders*", "shop/*"], excluded=["*.dlq"])
    meant = ["orders", "orders.eu", "orders.mail.dlq", "refunds", "shop/carts", "acklog-mirror.a", "__groups"]
    assert [name for name in meant if rules.is_meant(name)] == ["orders", "orders.eu", "shop/carts"]


def test_a_mirrors_state_is_never_copied() -> None:
    rules = TopicRules(["*"])
    assert not rules.is_meant("acklog-mirror.eu")
    assert not rules.is_meant("shop/acklog-mirror.eu")
    assert not rules.is_meant("__audit")


def test_a_prefix_stands_behind_the_namespace_and_a_rename_is_as_it_is() -> None:
    rules = TopicRules(["*"], prefix="eu.", renames={"orders": "all-orders"})
    assert [rules.target_of(name) for name in ("refunds", "shop/carts", "orders")] == [
        "eu.refunds",
        "shop/eu.carts",
        "all-orders",
    ]


def test_two_topics_do_not_become_one() -> None:
    rules = TopicRules(["*"], renames={"a": "b"})
    pairs, faults = rules.pairs(["a", "b"])
    assert pairs == {"a": "b"}
    assert faults == {"b": "it would be b in the target, as a is"}


def test_a_name_that_becomes_too_long_is_told() -> None:
    pairs, faults = TopicRules(["*"], prefix="eu.").pairs(["x" * 249, "y" * 246])
    assert list(pairs) == ["y" * 246]
    assert "has 252 characters, the limit is 249" in faults["x" * 249]


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (TopicRules([]), "patterns"),
        (TopicRules(["a"] * (PATTERNS_MAX + 1)), "patterns"),
        (TopicRules(["a"], excluded=["a"] * (PATTERNS_MAX + 1)), "excluded"),
        (TopicRules(["a"], prefix="a b"), "prefix"),
        (TopicRules(["a"], prefix="__"), "prefix"),
        (TopicRules(["a"], renames={"a": "a b"}), "renames"),
        (TopicRules(["a"], renames={"a": "c", "b": "c"}), "renames"),
        (TopicRules(["a"], renames={f"a{number}": f"b{number}" for number in range(RENAMES_MAX + 1)}), "renames"),
    ],
)
def test_rules_that_cannot_be_right_are_refused(rules: TopicRules, field: str) -> None:
    with pytest.raises(InvalidArgument) as failure:
        rules.check()
    assert failure.value.field == field


def test_rules_at_their_limits_are_fine() -> None:
    renames = {f"a{number}": f"b{number}" for number in range(RENAMES_MAX)}
    TopicRules(["a"] * PATTERNS_MAX, excluded=["b"] * PATTERNS_MAX, prefix="eu.", renames=renames).check()
