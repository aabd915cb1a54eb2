"""The rules of docs/rules.md and those who cite them: every number that is cited is there, every rule in force is
cited by a test."""

import re

from tests.architecture.source_tree import text_files

RULES = "docs/rules.md"
_CITED = re.compile(r"(?<![\w./-])R([1-9][0-9]?)(?![\w.]*\w)")
_RANGE = re.compile(r"(?<![\w./-])R([1-9][0-9]?) to R([1-9][0-9]?)(?!\w)")
_STATED = re.compile(r"^\*\*R([1-9][0-9]?)\.\*\*(?: (\*Ahead\.\*))?", re.MULTILINE)
# A test that mends this by citing a rule in passing helps nobody: the citation stands where the rule is guarded.
_CITING = (".py", ".md", ".toml", ".txt", ".yaml")


def stated() -> dict[int, bool]:
    """Number of each rule, and whether it is in force."""
    text = dict(text_files())[RULES]
    return {int(number): not ahead for number, ahead in _STATED.findall(text)}


def cited_in(text: str) -> set[int]:
    found = {int(number) for number in _CITED.findall(text)}
    for first, last in _RANGE.findall(text):
        found.update(range(int(first), int(last) + 1))
    return found


def test_rules_are_numbered_without_gaps() -> None:
    assert list(stated()) == list(range(1, len(stated()) + 1))


def test_what_is_cited_is_there() -> None:
    unknown = {
        path: sorted(missing)
        for path, text in text_files()
        if path.endswith(_CITING) and (missing := cited_in(text) - set(stated()))
    }
    assert unknown == {}


def test_every_rule_in_force_is_cited_by_a_test() -> None:
    here = "tests/architecture/test_rules.py"
    cited = [cited_in(text) for path, text in text_files() if path.startswith("tests/") and path != here]
    unguarded = {number for number, in_force in stated().items() if in_force} - set().union(*cited)
    assert sorted(unguarded) == []


def test_citations_are_recognised() -> None:
    assert cited_in("rules R1, R10 and R22 to R24; (R3), R4.") == {1, 10, 22, 23, 24, 3, 4}
    assert cited_in("R256 of SHAR1, R1x or a/R2 are none") == set()
