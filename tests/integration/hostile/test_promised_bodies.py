"""Bodies that are promised, and bodies that do not go on, starve nobody (rule R38)."""

import json
from pathlib import Path

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.hostile.arena import DURATIONS, endure

pytestmark = pytest.mark.integration

TOKEN = "honest-token-000001"
ATTACK = "tests.integration.hostile.promised_bodies"


@pytest.mark.parametrize("seconds", DURATIONS)
def test_promised_bodies(make_server: ServerMaker, seconds: float) -> None:
    endure(make_server().start(), ATTACK, seconds=seconds)


@pytest.mark.hostile
def test_promised_bodies_without_a_token(make_server: ServerMaker, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [{"name": "honest", "token": TOKEN, "scopes": ["read", "write"]}]}))
    server = make_server(f"--tokens-file={tokens}").start()
    endure(server, ATTACK, seconds=10, token=TOKEN, growth_bytes_max=100 * 1024 * 1024)
