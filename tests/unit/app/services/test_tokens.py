"""Stored tokens by HTTP: they let in, they end, and nobody gives by them what they do not have."""

import json
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from app.auth.tokens import TokenTable, parse_token_table
from app.configuration.server_settings import Settings
from app.services.tokens import NAMESAKES_TOLD_MAX
from tests.support.memory_gateway import MemoryWorld

ADMIN = "an-admin-token-0123456789"
OPERATOR = "an-operator-token-0123456789"
FILE = {
    "tokens": [
        {"name": "admin", "token": ADMIN, "roles": ["admin"]},
        {"name": "operator", "token": OPERATOR, "roles": ["operator"]},
    ]
}


def bearer(token: str = ADMIN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def world_of(settings: Settings | None = None) -> MemoryWorld:
    return MemoryWorld(settings, tokens=parse_token_table(json.dumps(FILE).encode()))


async def make(client: httpx2.AsyncClient, **fields: object) -> str:
    answer = await client.post("/tokens", json={"name": "shop", **fields}, headers=bearer())
    assert answer.status_code == 201, answer.text
    token: str = answer.json()["token"]
    return token


async def send(client: httpx2.AsyncClient, token: str, queue: str = "orders") -> int:
    answer = await client.post("/messages", json={"queue": queue, "body": 1}, headers=bearer(token))
    return answer.status_code


async def test_a_token_is_good_from_when_it_is_made_until_it_is_revoked(serve: Any) -> None:
    async with serve(world_of()) as client:
        token = await make(client, roles=["producer"], topics=["orders*"])
        assert await send(client, token) == 201
        assert await send(client, token, "salaries") == 403
        shown = await client.get("/tokens/shop", headers=bearer())
        assert (shown.json()["roles"], shown.json()["topics"]) == (["producer"], ["orders*"])
        assert token not in shown.text
        listed = await client.get("/tokens?limit=1", headers=bearer())
        assert [each["name"] for each in listed.json()["tokens"]] == ["shop"]
        assert token not in listed.text
        assert (await client.delete("/tokens/shop", headers=bearer())).status_code == 204
        assert await send(client, token) == 401
        assert (await client.delete("/tokens/shop", headers=bearer())).status_code == 404


@pytest.mark.parametrize(
    "change", [lambda text: text[:-1], lambda text: text[:-1] + "!", str.upper, lambda text: text + "0"]
)
async def test_what_is_no_token_of_ours(serve: Any, change: Any) -> None:
    async with serve(world_of()) as client:
        token = await make(client, roles=["producer"])
        assert await send(client, change(token)) == 401
        assert await send(client, token.replace(token[3:16], "0" * 13)) == 401
        assert await send(client, token) == 201


async def test_expiry_and_rotation(serve: Any) -> None:
    world = world_of()
    async with serve(world) as client:
        now_ms = world.clock.now_ms()
        first = await make(client, roles=["producer"], expiresAt=now_ms + 100_000)
        rotated = await client.post("/tokens/shop/rotate", json={"graceSeconds": 60}, headers=bearer())
        second = rotated.json()["token"]
        assert rotated.json()["made"]["earlierUntil"] == now_ms + 60_000
        again = await client.post("/tokens/shop/rotate", headers=bearer())
        assert (again.status_code, again.json()["code"]) == (409, "TOKEN_ROTATING")
        assert [await send(client, each) for each in (first, second)] == [201, 201]
        await world.clock.advance_ms(60_000)
        assert [await send(client, each) for each in (first, second)] == [401, 201]
        await world.clock.advance_ms(40_000)
        assert await send(client, second) == 401
        missing = await client.post("/tokens/none/rotate", headers=bearer())
        assert (missing.status_code, missing.json()["code"]) == (404, "TOKEN_NOT_FOUND")


async def test_nobody_gives_for_longer_than_they_have(serve: Any) -> None:
    world = world_of()
    async with serve(world) as client:
        ends_ms = world.clock.now_ms() + 100_000
        await make(client, name="lasting", roles=["producer"])
        passing = bearer(await make(client, name="passing", roles=["admin"], expiresAt=ends_ms))
        for asked in ({}, {"expiresAt": ends_ms + 1}):
            refused = await client.post("/tokens", json={"name": "x", "roles": ["producer"], **asked}, headers=passing)
            assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
            assert refused.json()["field"] == "expiresAt"
        rotated = await client.post("/tokens/lasting/rotate", headers=passing)
        assert (rotated.status_code, rotated.json()["code"]) == (403, "FORBIDDEN")
        made = {"name": "x", "roles": ["producer"], "expiresAt": ends_ms}
        assert (await client.post("/tokens", json=made, headers=passing)).status_code == 201


async def test_whoever_revokes_the_last_token_closes_the_server(serve: Any) -> None:
    """A table without tokens is not the same as none: nobody gets in, and not everybody."""
    world = MemoryWorld(tokens=TokenTable())
    async with serve(world) as client:
        assert await send(client, "x") == 401
        assert (await client.get("/topics")).status_code == 401


async def test_an_open_server_makes_the_first_token(serve: Any) -> None:
    async with serve(MemoryWorld()) as client:
        answer = await client.post("/tokens", json={"name": "root", "roles": ["admin"]})
        assert answer.status_code == 201
        own = await client.get("/token", headers=bearer(answer.json()["token"]))
        assert own.json()["name"] == "anyone", "it asks nobody for a token"


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"roles": ["viewer"]}, True),
        ({"roles": ["operator"], "topics": ["orders"]}, True),
        ({"roles": ["producer"]}, False),
        ({"roles": ["admin"]}, False),
        ({"rights": [{"allow": ["look", "purge"], "topics": ["orders"]}]}, False),
        ({"rights": [{"allow": ["look"], "topics": ["o*"]}, {"deny": ["purge"], "topics": ["*"]}]}, True),
        ({"rights": [{"allow": ["receive"], "groups": ["g"]}]}, False),
        ({"rights": [{"allow": ["send"], "cluster": True}]}, False),
    ],
)
@pytest.mark.parametrize("is_tried", [False, True])
async def test_nobody_gives_what_they_do_not_have(
    serve: Any, fields: dict[str, object], allowed: bool, is_tried: bool
) -> None:
    """Neither by making a token nor by a new secret of one; also while rights are on trial."""
    async with serve(world_of(Settings(rights_dry_run=is_tried))) as client:
        body = {"name": "shop", **fields}
        made = await client.post("/tokens", json=body, headers=bearer(OPERATOR))
        assert made.status_code == (201 if allowed else 403), made.text
        await client.post("/tokens", json=body, headers=bearer())
        rotated = await client.post("/tokens/shop/rotate", headers=bearer(OPERATOR))
        assert rotated.status_code == (200 if allowed else 403)
        assert (await client.delete("/tokens/shop", headers=bearer(OPERATOR))).status_code == 204, "but it may end it"


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"roles": ["chief"]}, "INVALID_FIELD", "roles"),
        ({}, "INVALID_FIELD", "rights"),
        ({"rights": [{"topics": ["a"]}]}, "INVALID_FIELD", "rights[0]"),
        ({"rights": [{"allow": ["fly"], "topics": ["a"]}]}, "INVALID_FIELD", "rights[0].allow[0]"),
        ({"rights": [{"allow": ["look"], "topics": ["a"] * 101}]}, "INVALID_FIELD", "rights[0].topics"),
        ({"rights": [{"allow": ["look"], "topics": ["a"]}] * 101}, "INVALID_FIELD", "rights"),
        ({"roles": ["viewer"], "name": "a b"}, "INVALID_NAME", "name"),
        ({"roles": ["viewer"], "name": "x" * 129}, "INVALID_FIELD", "name"),
        ({"roles": ["viewer"], "name": "admin"}, "TOKEN_EXISTS", "name"),
        ({"roles": ["viewer"], "expiresAt": 1}, "INVALID_FIELD", "expiresAt"),
        ({"roles": ["viewer"], "secret": "mine"}, "UNKNOWN_FIELD", "secret"),
    ],
)
async def test_what_is_wrong_is_named(serve: Any, fields: dict[str, object], code: str, field: str) -> None:
    async with serve(world_of()) as client:
        answer = await client.post("/tokens", json={"name": "shop", **fields}, headers=bearer())
        assert (answer.json()["code"], answer.json()["field"]) == (code, field), answer.text


async def test_a_token_learns_why(serve: Any) -> None:
    rights = [{"allow": ["send", "look"], "topics": ["orders*"]}, {"deny": ["send"], "topics": ["orders-old"]}]
    async with serve(world_of()) as client:
        token = await make(client, rights=rights, roles=["consumer"], topics=["mine"], groups=["g"])

        async def can(query: str, path: str = "/token", who: str = token) -> Any:
            answer = await client.get(f"{path}/can?{query}", headers=bearer(who))
            assert answer.status_code == 200, answer.text
            return answer.json()

        allowed = await can("action=send&topic=orders")
        assert allowed == {
            "allowed": True,
            "token": "shop",
            "action": "send",
            "resource": "topic 'orders'",
            "by": {"from": "rights[0]", "allow": ["send", "look"], "topics": ["orders*"]},
        }
        denied = await can("action=send&topic=orders-old")
        assert (denied["allowed"], denied["by"]["from"], denied["by"]["deny"]) == (False, "rights[1]", ["send"])
        assert "by" not in await can("action=send&topic=theirs")
        assert (await can("action=settle&group=g"))["by"]["from"] == "role 'consumer'"
        assert not (await can("action=manage"))["allowed"]
        for query in ("action=send&topic=orders", "action=purge&topic=orders", "action=look"):
            assert await can(query) == await can(query, "/tokens/shop", ADMIN)
        assert (await can("action=manage", "/tokens/operator", ADMIN))["allowed"], "one of the file"
        own = await client.get("/token", headers=bearer(token))
        assert [each["from"] for each in own.json()["rights"]] == ["rights[0]", "rights[1]", "role 'consumer'"]
        refused = await client.get("/tokens/shop/can?action=look", headers=bearer(token))
        assert refused.status_code == 403
        both = await client.get("/token/can?action=look&topic=a&group=b", headers=bearer(token))
        assert both.json()["field"] == "group"


async def test_a_namesake_of_the_file_is_told_and_has_its_own_say(serve: Any) -> None:
    """A reload is not refused for a name: it may take away a token that has leaked."""
    world = world_of()
    namesakes = [
        {"name": "shop", "token": "a-namesake-of-shop-0123456789", "roles": ["producer"]},
        {"name": "shop", "token": "one-more-of-shop-0123456789", "roles": ["viewer"]},
        {"name": "twins", "token": "a-token-of-twins-0123456789", "roles": ["viewer"]},
        {"name": "twins", "token": "more-tokens-of-twins-0123456789", "roles": ["producer"]},
    ]
    async with serve(world) as client:
        await make(client, roles=["viewer"])

        async def can(action: str, name: str = "shop") -> Any:
            answer = await client.get(f"/tokens/{name}/can?action={action}&topic=orders", headers=bearer())
            assert answer.status_code == 200, answer.text
            return answer.json()

        async def shared() -> bool:
            return "acklog_token_names_shared 1.0\n" in (await client.get("/metrics", headers=bearer())).text

        assert "namesakes" not in await can("send")
        assert not await shared()
        tokens = world.gateway.tokens
        assert tokens is not None
        with capture_logs() as lines:
            tokens.adopt(parse_token_table(json.dumps({"tokens": [*FILE["tokens"], *namesakes]}).encode()))
            tokens.adopt(parse_token_table(json.dumps({"tokens": [*FILE["tokens"], *namesakes]}).encode()))
        [line] = [each for each in lines if each["event"] == "token_names_shared"]
        assert (line["names"], line["count"], line["log_level"]) == (["shop"], 1, "warning")
        assert await shared()
        found = await can("send")
        assert not found["allowed"], "the stored one"
        assert [each["allowed"] for each in found["namesakes"]] == [True, False]
        assert found["namesakes"][0]["by"]["from"] == "role 'producer'"
        twins = await can("send", "twins")
        assert [twins["allowed"], *(each["allowed"] for each in twins["namesakes"])] == [True, False], (
            "who may is first"
        )
        assert (await client.delete("/tokens/shop", headers=bearer())).status_code == 204
        assert await send(client, "a-namesake-of-shop-0123456789") == 201, "it is another token"
        assert not await shared()


async def test_of_many_namesakes_those_are_told_that_may(serve: Any) -> None:
    file = [*FILE["tokens"], *({"name": "many", "token": f"{n:020}", "roles": ["viewer"]} for n in range(150))]
    file.append({"name": "many", "token": "the-last-of-them-0123456789", "roles": ["producer"]})
    world = MemoryWorld(tokens=parse_token_table(json.dumps({"tokens": file}).encode()))
    async with serve(world) as client:
        answer = (await client.get("/tokens/many/can?action=send&topic=orders", headers=bearer())).json()
        assert answer["allowed"]
        assert len(answer["namesakes"]) == NAMESAKES_TOLD_MAX == 100


async def test_quotas_of_a_stored_token_are_its_own(serve: Any) -> None:
    async with serve(world_of()) as client:
        await make(client, roles=["producer"], requestsPerSecond=7)
        shown = await client.get("/tokens/shop", headers=bearer())
        assert shown.json()["requestsPerSecond"] == 7


async def test_the_log_names_tokens_and_shows_none(serve: Any) -> None:
    with capture_logs() as logs:
        async with serve(world_of()) as client:
            token = await make(client, roles=["producer"])
            await client.post("/tokens/shop/rotate", headers=bearer())
            await client.delete("/tokens/shop", headers=bearer())
    told = [(each["event"], each["token"], each["by"]) for each in logs if str(each["event"]).startswith("token_")]
    assert told == [(event, "shop", "admin") for event in ("token_created", "token_rotated", "token_revoked")]
    assert token[17:] not in json.dumps(logs, default=str)
