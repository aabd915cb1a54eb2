"""The drill of docs/recipes/restore-drill.md, run from its page: it finds a good backup good, and a bad one bad."""

from pathlib import Path

import pytest

from acklog import Client
from tests.support.recipe import Recipe
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

FOLDER = "restore_drill"


def test_the_drill_compares_what_comes_back_and_leaves_nothing_behind(server: ServerProcess, tmp_path: Path) -> None:
    recipe = Recipe("restore-drill.md", tmp_path / "recipe", server.base_url)
    recipe.shell(recipe.commands[0], folder=FOLDER)
    said = recipe.shell(recipe.commands[1], folder=FOLDER)
    assert "2 messages came back as they were, in " in said
    with Client(server.base_url) as client:
        assert [topic.name for topic in client.topics.list()] == ["orders"]
    [victim, *_] = (tmp_path / "recipe" / FOLDER / "backups" / "content").rglob("*.batches")
    victim.write_bytes(victim.read_bytes()[:-1])
    with recipe.python("drill.py", "backups", "orders", folder=FOLDER) as drill:
        assert drill.process.wait(60) != 0
        assert "does not hold what it held" in drill.output or "bytes, not" in drill.output
