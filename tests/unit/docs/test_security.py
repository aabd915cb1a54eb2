"""What docs/security.md says of rights is what the server goes by."""

import re

from app.auth.action import Action
from app.auth.right import PATTERN_LENGTH_MAX, PATTERNS_MAX, RIGHTS_MAX, ROLES_MAX, ROLES_PER_TOKEN_MAX
from app.auth.roles import BUILT_IN
from app.auth.scopes import Scope
from app.auth.tokens import parse_token_table
from app.auth.tried_rights import TOLD_MAX
from tests.unit.docs.documents import read_document, section, table

PAGE = read_document("security.md")


def test_its_tokens_files_are_such() -> None:
    files = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [len(parse_token_table(file.encode(), toml=True)) for file in files] == [1, 2]


def test_actions_roles_and_scopes() -> None:
    assert [row[0] for row in table(section(PAGE, "Rights"))] == [f"`{action.value}`" for action in Action]
    roles = dict(row[:2] for row in table(section(PAGE, "Roles"))[: len(BUILT_IN)])
    assert list(roles) == [f"`{name}`" for name in BUILT_IN]
    for name, [right] in BUILT_IN.items():
        actions = right.allow or ()
        said = "all" if actions == tuple(Action) else ", ".join(action.value for action in actions)
        assert roles[f"`{name}`"] == said
    for scope in Scope:
        assert f"| `{scope.value}` |" in section(PAGE, "Roles")


def test_limits() -> None:
    said = " ".join(section(PAGE, "Roles").split())
    assert f"at most {RIGHTS_MAX} rights, those of its roles among them, and {ROLES_PER_TOKEN_MAX} roles" in said
    assert f"at most {PATTERNS_MAX} patterns of topics and {PATTERNS_MAX} of groups" in said
    assert f"of at most {PATTERN_LENGTH_MAX} characters" in said
    assert f"at most {ROLES_MAX:,} roles" in said
    assert f"{TOLD_MAX:,} different ones" in section(PAGE, "Trying rights out")
