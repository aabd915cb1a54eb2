"""Patterns of names: no wildcard gets behind or before the `/` of a namespace, and names without one match as ever."""

from fnmatch import fnmatchcase

from hypothesis import assume, given
from hypothesis import strategies as st

from acklog.wire.name_patterns import covers, every_name_in, is_pattern_for
from acklog.wire.names import SEPARATOR, full_name_fault, in_namespace, local_name, namespace_of
from app.auth.common_patterns import common_patterns
from app.auth.name_patterns import BitsOfPattern, NamePatterns
from storage.groups.surroundings import TopicShape, TopicTable

PARTS = st.sampled_from(["a", "ab", "shop", "orders", "a.b", "x[y", "a]"]) | st.text("ab.[]!-", min_size=1, max_size=4)
NAMES = PARTS | st.tuples(PARTS, PARTS).map("/".join)
ANY_TEXT = st.text("ab/*?[]!-.\n", max_size=8)
WILD = st.sampled_from(["*", "**", "a*", "*b", "?", "[!x]", "[a/b]", "[]/]", "[!/]*", "[", "a[", "[*"]) | PARTS
PATTERNS = WILD | st.tuples(WILD, WILD).map("/".join) | ANY_TEXT


@given(PATTERNS, NAMES | ANY_TEXT)
def test_names_in_no_namespace_match_as_they_did(pattern: str, name: str) -> None:
    name = name.replace(SEPARATOR, "")
    assert is_pattern_for(pattern, name) == fnmatchcase(name, pattern)


@given(PATTERNS, PARTS, PARTS, PARTS)
def test_no_pattern_crosses(pattern: str, namespace: str, other: str, local: str) -> None:
    """One that names no namespace is for none; one that does is judged part by part."""
    name = in_namespace(namespace, local)
    if pattern == "*":
        assert is_pattern_for(pattern, name)
        return
    if SEPARATOR not in pattern:
        assert not is_pattern_for(pattern, name)
    if pattern.startswith(f"{namespace}/") and not set(namespace) & set("[]*?") and other != namespace:
        assert not is_pattern_for(pattern, in_namespace(other, local)) or namespace == other
    if is_pattern_for(pattern, name):
        assert not is_pattern_for(pattern, local)
        assert not is_pattern_for(pattern, namespace)
        assert not is_pattern_for(pattern, f"{name}/{local}")


@given(st.lists(PATTERNS, max_size=5), NAMES | ANY_TEXT)
def test_compiled_ones_decide_alike(patterns: list[str], name: str) -> None:
    assume(name.count("/") <= 1)  # what has more is no name, and nobody has a right on it
    compiled = NamePatterns([BitsOfPattern(text, 1 << number) for number, text in enumerate(patterns)])
    expected = sum(1 << number for number, text in enumerate(patterns) if is_pattern_for(text, name))
    assert compiled.bits_of(name) == expected
    if name.count(SEPARATOR) == 1:  # what may be in a namespace is no less than what is
        assert compiled.bits_in(namespace_of(name)) & expected == expected


@given(PATTERNS, PATTERNS, NAMES)
def test_what_covers_another_is_for_all_that_it_is_for(pattern: str, other: str, name: str) -> None:
    assert covers(pattern, pattern)
    assert covers("*", other)
    if covers(pattern, other) and is_pattern_for(other, name):
        assert is_pattern_for(pattern, name)


@given(st.lists(PATTERNS, max_size=5), st.lists(PATTERNS, max_size=5), NAMES)
def test_what_two_lists_are_both_for(first: list[str], second: list[str], name: str) -> None:
    found = common_patterns(tuple(first), tuple(second)) or ()
    if any(is_pattern_for(each, name) for each in found):
        assert any(is_pattern_for(each, name) for each in first)
        assert any(is_pattern_for(each, name) for each in second)
    certain = {one for one in first for other in second if covers(other, one)}
    certain |= {one for one in second for other in first if covers(other, one)}
    assert set(found) == certain
    assert len(found) == len(certain)


@given(st.none() | st.lists(PATTERNS, max_size=5).map(tuple))
def test_what_a_list_and_everything_are_both_for(patterns: tuple[str, ...] | None) -> None:
    assert common_patterns(None, patterns) == common_patterns(patterns, None) == patterns


@given(PARTS, NAMES)
def test_all_of_a_namespace(namespace: str, name: str) -> None:
    if not set(namespace) & set("[]*?"):
        assert is_pattern_for(every_name_in(namespace), name) == (namespace_of(name) == namespace)
    assert is_pattern_for(every_name_in(""), name) == (namespace_of(name) == "")


@given(PATTERNS, st.sampled_from(["", "a", "shop"]), st.lists(NAMES, unique=True, max_size=8))
def test_members_of_a_group_read_its_namespace_only(pattern: str, namespace: str, names: list[str]) -> None:
    """Whatever they subscribe to, also `*`."""
    table = TopicTable([TopicShape(name, name, (0,)) for name in names])
    found = table.matching(pattern, namespace)
    assert all(namespace_of(name) == namespace for name in found)
    if pattern == "*":
        assert sorted(found) == sorted(name for name in names if namespace_of(name) == namespace)


@given(NAMES | ANY_TEXT)
def test_parts_of_a_name(name: str) -> None:
    if full_name_fault(name) is None:
        assert in_namespace(namespace_of(name), local_name(name)) == name
        assert name.count(SEPARATOR) == bool(namespace_of(name))
