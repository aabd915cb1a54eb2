"""Access keys in the tokens file: what they may be, whose they are, and that nobody is shown a secret."""

import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.auth.access_key import ACCESS_KEYS_PER_TOKEN_MAX
from app.auth.tokens import TokensFileError, TokenTable, parse_token_table
from tests.support.memory_gateway import MemoryWorld

TOKEN = "a-token-0123456789"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEY = {"id": "AKIDEXAMPLE00000", "secret": SECRET}


def content_of(*keys: object, **entry: object) -> bytes:
    token = {"name": "billing", "token": TOKEN, "roles": ["admin"], "accessKeys": list(keys), **entry}
    return json.dumps({"tokens": [token]}).encode()


def test_a_key_is_its_token_s() -> None:
    table = parse_token_table(content_of(KEY, requestsPerSecond=5))
    key = table.access_key("AKIDEXAMPLE00000")
    assert key is not None
    assert key.secret == SECRET
    assert key.holder is table.find(TOKEN)
    assert table.access_key("AKIDEXAMPLE00001") is None
    assert table.access_key(SECRET) is None


def test_toml_says_the_same() -> None:
    text = f"""
        [[tokens]]
        name = "billing"
        roles = ["consumer"]

        [[tokens.accessKeys]]
        id = "AKIDEXAMPLE00000"
        secret = "{SECRET}"
    """
    table = parse_token_table(text.encode(), toml=True)
    assert table.access_key("AKIDEXAMPLE00000") is not None
    assert (len(table), table.names(), [each.name for each in table.named("billing")]) == (1, {"billing"}, ["billing"])


def test_limits_of_what_they_are_made_of() -> None:
    for key_id in ("a" * 16, "A_1" * 5 + "z", "a" * 128):
        for secret in ("!" * 16, "~" * 128, "/+=" * 10):
            table = parse_token_table(content_of({"id": key_id, "secret": secret}))
            assert table.access_key(key_id) is not None


@pytest.mark.parametrize(
    "key",
    [
        {**KEY, "id": "a" * 15},
        {**KEY, "id": "a" * 129},
        {**KEY, "id": "a" * 15 + "/"},
        {**KEY, "id": "a" * 15 + "é"},
        {**KEY, "id": "a" * 16 + "\n"},
        {**KEY, "secret": "s" * 15},
        {**KEY, "secret": "s" * 129},
        {**KEY, "secret": "s" * 15 + " "},
        {**KEY, "secret": "s" * 15 + "é"},
        {**KEY, "secret": "s" * 16 + "\n"},
        {**KEY, "secret": None},
        {**KEY, "sessionToken": "none of ours"},
        {"id": "AKIDEXAMPLE00000"},
    ],
)
def test_what_is_no_key_is_refused_without_showing_it(key: dict[str, Any]) -> None:
    with pytest.raises(TokensFileError) as refused:
        parse_token_table(content_of(key))
    assert str(key.get("secret")) not in str(refused.value)


def test_a_token_has_so_many() -> None:
    keys = [{"id": f"AKIDEXAMPLE{number:05}", "secret": SECRET} for number in range(ACCESS_KEYS_PER_TOKEN_MAX + 1)]
    assert parse_token_table(content_of(*keys[:-1])).access_key("AKIDEXAMPLE00009") is not None
    for refused in (keys, []):
        with pytest.raises(TokensFileError, match="accessKeys"):
            parse_token_table(content_of(*refused))


def test_an_id_stands_once_in_a_file() -> None:
    with pytest.raises(TokensFileError, match="AKIDEXAMPLE00000 of 'billing' is already one of 'billing'"):
        parse_token_table(content_of(KEY, {**KEY, "secret": "another-secret-0123"}))
    first, second = ({"name": name, "roles": ["viewer"], "accessKeys": [KEY]} for name in ("one", "two"))
    with pytest.raises(TokensFileError, match="of 'two' is already one of 'one'") as refused:
        parse_token_table(json.dumps({"tokens": [first, second]}).encode())
    assert SECRET not in str(refused.value)


def test_without_keys_a_token_is_needed() -> None:
    with pytest.raises(TokensFileError, match="needs either token or sha256"):
        parse_token_table(b'{"tokens": [{"name": "a", "roles": ["viewer"]}]}')
    with pytest.raises(TokensFileError, match="needs either token or sha256"):
        parse_token_table(content_of(KEY, sha256="0" * 64))


def test_another_secret_makes_another_table() -> None:
    table = parse_token_table(content_of(KEY))
    assert table.is_same_as(parse_token_table(content_of(KEY)))
    assert not table.is_same_as(parse_token_table(content_of({**KEY, "secret": "another-secret-0123"})))


@pytest.mark.parametrize(("mode", "is_taken"), [(0o600, True), (0o640, True), (0o644, False), (0o602, False)])
def test_others_may_not_read_a_file_that_has_secrets(tmp_path: Path, mode: int, is_taken: bool) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(content_of(KEY))
    path.chmod(mode)
    if is_taken:
        assert TokenTable.load(str(path)).access_key("AKIDEXAMPLE00000") is not None
        return
    with pytest.raises(TokensFileError, match=f"others may read or change it: chmod o= {path}"):
        TokenTable.load(str(path))


def test_one_that_has_none_is_everybody_s_own_business(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"tokens": [{"name": "a", "token": TOKEN, "roles": ["viewer"]}]}))
    path.chmod(0o644)
    assert len(TokenTable.load(str(path))) == 1


async def test_no_answer_and_no_line_of_the_log_shows_a_secret(serve: Any) -> None:
    table = parse_token_table(content_of(KEY))
    key = table.access_key("AKIDEXAMPLE00000")
    assert SECRET not in repr(key)
    assert SECRET not in repr(table)
    world = MemoryWorld(tokens=table)
    with capture_logs() as logs:
        async with serve(world) as client:
            for path in ("/tokens", "/token", "/tokens/billing/can?action=send&topic=a", "/cluster", "/metrics"):
                answer = await client.get(path, headers={"Authorization": f"Bearer {TOKEN}"})
                assert answer.status_code == 200, path
                assert SECRET not in answer.text
                assert "AKIDEXAMPLE" not in answer.text
            signed = f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE00000/x, Signature={SECRET}"
            refused = await client.get("/topics", headers={"Authorization": signed})
            assert refused.status_code == 401
            assert SECRET not in refused.text
    assert SECRET not in repr(logs)
