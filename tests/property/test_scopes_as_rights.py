"""Tokens with scopes decide as they did before there were rights."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from app.auth.principal import Principal
from app.auth.rights import rights_of
from app.auth.scopes import Scope, rights_of_scopes
from cluster.errors import ServerError
from cluster.model.action import Action

EVERY = ("*",)


@dataclass(frozen=True)
class Before:
    """The rules of scopes, topics and groups, as plainly as they can be said."""

    scopes: tuple[Scope, ...]
    topics: tuple[str, ...]
    groups: tuple[str, ...] | None

    def has(self, *scopes: Scope) -> bool:
        return all(each in self.scopes for each in scopes)

    def may_see(self, topic: str) -> bool:
        return any(fnmatchcase(topic, pattern) for pattern in self.topics)

    @property
    def is_for_every_topic(self) -> bool:
        return self.topics == EVERY

    @property
    def may_use_any_group(self) -> bool:
        return self.groups is None or self.groups == EVERY

    def may_use_group(self, group: str) -> bool:
        return self.may_use_any_group or any(fnmatchcase(group, pattern) for pattern in self.groups or ())

    def may_see_group(self, group: str) -> bool:
        return self.is_for_every_topic if self.groups is None else self.may_use_group(group)

    @property
    def is_for_everything(self) -> bool:
        return self.is_for_every_topic and self.may_use_any_group


NAMES = st.sampled_from(["a", "ab", "orders", "orders.eu", "orders.us", "salaries", "x[y", "*", ""]) | st.text(
    "ab.*", max_size=4
)
PATTERNS = (
    st.sampled_from(["*", "orders", "orders.*", "*.eu", "[ao]*", "?", "a*b", "**", "x[[]y", "[", "[!a]*"]) | NAMES
)
TOKENS = st.builds(
    Before,
    scopes=st.lists(st.sampled_from(list(Scope)), min_size=1, max_size=4).map(tuple),
    topics=st.just(EVERY) | st.lists(PATTERNS, max_size=4).map(tuple),
    groups=st.none() | st.just(EVERY) | st.lists(PATTERNS, max_size=4).map(tuple),
)
OF_SCOPE = {
    Scope.READ: (Action.RECEIVE, Action.SETTLE, Action.LOOK),
    Scope.WRITE: (Action.SEND,),
    Scope.ADMIN: (Action.MANAGE, Action.SEEK),
    Scope.PURGE: (Action.PURGE,),
}
USES = {Scope.READ: (Action.RECEIVE, Action.SETTLE), Scope.WRITE: (Action.SEND,), Scope.ADMIN: (Action.SEEK,)}


def now(token: Before) -> Principal:
    return Principal("now", rights_of(rights_of_scopes(token.scopes, token.topics, token.groups)))


def allows(principal: Principal, call: str, *arguments: object) -> bool:
    try:
        getattr(principal, call)(*arguments)
    except ServerError:
        return False
    return True


@given(TOKENS, NAMES)
def test_topics(before: Before, topic: str) -> None:
    token = now(before)
    for scope, actions in OF_SCOPE.items():
        for action in actions:
            assert token.may_on_topic(action, topic) == (before.has(scope) and before.may_see(topic))
            assert token.may_somewhere(action) >= (before.has(scope) and before.may_see(topic))
            assert token.may_on_every_topic(action) == (before.has(scope) and before.is_for_every_topic)
            kept = None if before.is_for_every_topic else tuple(dict.fromkeys(before.topics))
            if before.has(scope):
                assert token.topic_patterns(action) == kept
    assert token.knows_topic(topic) == before.may_see(topic)
    assert token.knows_every_topic() == before.is_for_every_topic


@given(TOKENS, NAMES)
def test_what_is_done_with_groups(before: Before, group: str) -> None:
    token = now(before)
    for scope, actions in USES.items():
        for action in actions:
            assert token.may_on_group(action, group) == (before.has(scope) and before.may_use_group(group))
            # That there are namespaces, whose groups one for some topics may not use, came later.
            is_for_all = before.groups == EVERY or (before.groups is None and before.is_for_every_topic)
            assert token.may_on_every_group(action) == (before.has(scope) and is_for_all)
    assert allows(token, "require_progress_of", group) == (before.has(Scope.READ) and before.may_use_group(group))
    assert token.knows_group(group) == before.may_use_group(group)


@given(TOKENS, NAMES)
def test_what_is_done_to_groups(before: Before, group: str) -> None:
    token = now(before)
    for scope, action in ((Scope.READ, Action.LOOK), (Scope.ADMIN, Action.MANAGE)):
        assert token.may_on_group(action, group) == (before.has(scope) and before.may_see_group(group))


@given(TOKENS)
def test_the_cluster(before: Before) -> None:
    token = now(before)
    assert allows(token, "require_on_cluster", Action.LOOK) == before.has(Scope.READ)
    is_operator = before.has(Scope.ADMIN) and before.is_for_every_topic
    assert allows(token, "require_on_cluster", Action.MANAGE) == is_operator
    for scope, action in ((Scope.READ, Action.LOOK), (Scope.ADMIN, Action.MANAGE)):
        expected = before.has(scope) and before.is_for_everything
        assert allows(token, "require_everything", action) == expected
