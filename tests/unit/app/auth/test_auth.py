import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from app.auth.principal import Principal
from app.auth.tokens import TokensFileError, TokenTable, parse_token_table
from tests.support.memory_gateway import MemoryWorld

READER = "reader-token-0123456789"
WRITER = "writer-token-0123456789"
ADMIN = "admin-token-01234567890"
KEEPER = "keeper-token-0123456789"
FILE = {
    "tokens": [
        {"name": "reader", "token": READER, "scopes": ["read"], "topics": ["orders.*"]},
        {"name": "writer", "sha256": hashlib.sha256(WRITER.encode()).hexdigest(), "scopes": ["write"]},
        {"name": "admin", "token": ADMIN, "scopes": ["admin", "read"]},
        {"name": "keeper", "token": KEEPER, "scopes": ["admin", "read"], "topics": ["orders.*"], "groups": ["of-*"]},
    ]
}


@pytest.fixture
def guarded() -> MemoryWorld:
    return MemoryWorld(tokens=parse_token_table(json.dumps(FILE).encode()))


def _name_of(principal: Principal | None) -> str:
    assert principal is not None
    return principal.name


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("header", [None, "", "Basic abc", "Bearer", "Bearer ", "Bearer nonsense", "Bearer é"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/messages"), ("GET", "/topics"), ("GET", "/metrics")])
async def test_without_a_known_token_nothing_is_told(
    guarded: MemoryWorld, serve: Any, header: str | None, method: str, path: str
) -> None:
    async with serve(guarded) as client:
        headers = {} if header is None else {"Authorization": header.encode("latin-1")}
        response = await client.request(method, path, headers=headers)
        assert (response.status_code, response.json()["code"]) == (401, "UNAUTHENTICATED")
        assert response.headers["www-authenticate"].startswith("Bearer")


async def test_health_needs_no_token(guarded: MemoryWorld, serve: Any) -> None:
    async with serve(guarded) as client:
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/readyz")).status_code == 200


async def test_scopes(guarded: MemoryWorld, serve: Any) -> None:
    await guarded.topic("orders.eu")
    calls = [
        ("POST", "/messages", {"queue": "orders.eu", "body": 1}, WRITER),
        ("GET", "/messages?queue=orders.eu", None, READER),
        ("POST", "/ack", {"receipts": ["x"]}, READER),
        ("PUT", "/topics/orders.us", None, ADMIN),
        ("PUT", "/groups/g", None, ADMIN),
        ("PUT", "/groups/g/offsets", {"topic": "orders.eu", "to": "latest"}, ADMIN),
        ("DELETE", "/groups/g", None, ADMIN),
    ]
    async with serve(guarded) as client:
        for method, path, body, allowed in calls:
            for token in (READER, WRITER, ADMIN):
                if allowed is READER and token is ADMIN:
                    continue  # may do both
                response = await client.request(method, path, json=body, headers=bearer(token))
                assert (response.status_code == 403) == (token is not allowed), (method, path, token)


async def test_topic_patterns_hide_other_topics(guarded: MemoryWorld, serve: Any) -> None:
    await guarded.topic("orders.eu")
    await guarded.topic("salaries")
    async with serve(guarded) as client:
        for path in ("/messages?queue=salaries", "/topics/salaries", "/topics/salaries/partitions/0/records"):
            response = await client.get(path, headers=bearer(READER))
            assert (response.status_code, response.json()["code"]) == (403, "FORBIDDEN")
            assert (await client.get(path.replace("salaries", "missing"), headers=bearer(READER))).status_code == 403
        listed = (await client.get("/topics", headers=bearer(READER))).json()["topics"]
        assert [topic["name"] for topic in listed] == ["orders.eu"]
        topic = guarded.metadata.topics_by_name["salaries"]
        look = await client.get(f"/messages/m-{topic.id}-0-3-0", headers=bearer(READER))
        assert look.status_code == 403
        receipt = f"r-{topic.id}-0-0-0000000000000-0-3-1"
        settled = await client.post("/ack", json={"receipt": receipt}, headers=bearer(READER))
        assert settled.status_code == 403
        near = await client.get("/messages?queue=orders.ex", headers=bearer(READER))
        assert near.json()["near"] == ["orders.eu"]


async def test_dead_letters_go_only_where_the_token_may(guarded: MemoryWorld, serve: Any) -> None:
    async with serve(guarded) as client:
        for topic, status in (("orders.dead", 201), ("payments", 403)):
            body = {"settings": {"deadLetterTopic": topic}}
            answer = await client.put(f"/groups/of-{topic}", json=body, headers=bearer(KEEPER))
            assert answer.status_code == status


def test_toml_and_files(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(f'[[tokens]]\nname = "a"\ntoken = "{READER}"\nscopes = ["read"]\n')
    table = TokenTable.load(str(file))
    assert len(table) == 1
    assert _name_of(table.find(READER)) == "a"
    with pytest.raises(TokensFileError, match="cannot be read"):
        TokenTable.load(str(tmp_path / "missing.json"))


@pytest.mark.parametrize("toml", [False, True])
def test_a_byte_order_mark_is_passed_over(toml: bool) -> None:
    entry = {"name": "a", "scopes": ["read"], "token": READER}
    text = (
        f'[[tokens]]\nname = "a"\ntoken = "{READER}"\nscopes = ["read"]\n' if toml else json.dumps({"tokens": [entry]})
    )
    table = parse_token_table(text.encode("utf-8-sig"), toml=toml)
    assert table.names() == {"a"}


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "a", "scopes": ["read"]},
        {"name": "a", "scopes": ["read"], "token": READER, "sha256": "0" * 64},
        {"name": "a", "scopes": ["read"], "token": "short"},
        {"name": "a", "scopes": ["read"], "sha256": "0"},
        {"name": "a", "scopes": [], "token": READER},
        {"name": "a", "scopes": ["all"], "token": READER},
        {"name": "a", "scopes": ["read"], "token": READER, "topcis": []},
    ],
)
def test_a_wrong_file_is_refused_without_showing_tokens(entry: dict[str, object]) -> None:
    with pytest.raises(TokensFileError) as caught:
        parse_token_table(json.dumps({"tokens": [entry]}).encode())
    assert READER not in str(caught.value)


def test_a_token_stands_once() -> None:
    entry = {"name": "a", "scopes": ["read"], "token": READER}
    with pytest.raises(TokensFileError, match="already"):
        parse_token_table(json.dumps({"tokens": [entry, entry]}).encode())
