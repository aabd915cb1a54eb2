"""A right covers all that an act touches (rule R39): what calls need beside what their paths name."""

import json
from typing import Any

import httpx2
import pytest

from acklog.wire.limits import PATTERNS_MAX
from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.services.groups import DEAD_LETTER_SOURCES_MAX
from tests.support.memory_gateway import MemoryWorld

ADMIN = "an-admin-token-0123456789"
TOKEN = "a-token-under-test-0123456789"


def world_of(*rights: dict[str, Any], settings: Settings | None = None) -> MemoryWorld:
    entries = [
        {"name": "admin", "token": ADMIN, "roles": ["admin"]},
        {"name": "tested", "token": TOKEN, "rights": list(rights)},
    ]
    return MemoryWorld(settings, tokens=parse_token_table(json.dumps({"tokens": entries}).encode()))


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def status(client: httpx2.AsyncClient, method: str, path: str, body: object = None) -> int:
    answer = await client.request(method, path, json=body, headers=bearer())
    return answer.status_code


async def prepare(client: httpx2.AsyncClient) -> None:
    for topic in ("mine", "mine-too", "theirs"):
        await client.put(f"/topics/{topic}", json={"partitions": 1}, headers=bearer(ADMIN))
        await client.post("/messages", json={"queue": topic, "body": 1}, headers=bearer(ADMIN))


async def test_a_receive_that_acknowledges_needs_to_settle(serve: Any) -> None:
    receive = {"allow": ["receive"], "topics": ["mine"], "groups": ["g"]}
    async with serve(world_of(receive)) as client:
        await prepare(client)
        assert await status(client, "GET", "/messages?queue=mine&group=g&autoAck=true") == 403
        assert await status(client, "GET", "/messages?queue=mine&group=g") == 200
    async with serve(world_of({**receive, "allow": ["receive", "settle"]})) as client:
        await prepare(client)
        assert await status(client, "GET", "/messages?queue=mine&group=g&autoAck=true") == 200


async def test_of_several_topics_each_is_judged_before_any_is_looked_for(serve: Any) -> None:
    """Whether `near` is there is nobody's business who may not receive from all that is asked for."""
    rights = {"allow": ["receive"], "topics": ["m*"], "groups": ["g"]}
    async with serve(world_of(rights)) as client:
        await prepare(client)
        answers = [
            await client.get(f"/messages?queue={first}&queue=theirs&group=g", headers=bearer())
            for first in ("mine", "missing")
        ]
        assert [answer.status_code for answer in answers] == [403, 403]
        assert answers[0].text == answers[1].text


async def test_who_says_where_dead_letters_go_manages_both_ends(serve: Any) -> None:
    group = {"allow": ["manage"], "groups": ["g*"]}
    body = {"settings": {"deadLetterTopic": "mine-dead"}}
    for topics, expected in ((["mine*"], 201), (["mine"], 403)):
        async with serve(world_of(group, {"allow": ["manage", "receive"], "topics": topics})) as client:
            assert await status(client, "PUT", "/groups/g", body) == expected
    async with serve(world_of(group, {"allow": ["send", "receive", "look"], "topics": ["*"]})) as client:
        assert await status(client, "PUT", "/groups/g", body) == 403


MANY = [f"mine-{number}" for number in range(1, DEAD_LETTER_SOURCES_MAX)]
SOURCES = [
    (["*"], ["*"], None),
    (["*"], ["mine", "mine-too"], ["mine", "mine-too"]),
    (["mine*", "theirs"], ["*"], ["mine*", "theirs"]),
    (["mine*", "mine-too"], ["mine-too", "theirs"], ["mine-too"]),
    (["mine*", "**"], ["mine", "a/*"], ["mine"]),
    (["mine*"], ["mine"], 403),
    (["mine-too", *MANY], ["mine-too"], ["mine-too"]),
    (["mine-too", *MANY], ["mine-too", "one-more"], 403),
    (["*"], [], 403),
]
"""Of a token that manages these topics and receives from those: whose letters may go where it says, or the refusal."""


def _parts(patterns: list[str]) -> list[list[str]]:
    """For a right each."""
    return [patterns[start : start + PATTERNS_MAX] for start in range(0, len(patterns), PATTERNS_MAX)]


@pytest.mark.parametrize(("managed", "received", "expected"), SOURCES)
async def test_dead_letters_go_no_further_than_who_chose_where_may_read(
    serve: Any, managed: list[str], received: list[str], expected: list[str] | int | None
) -> None:
    """Else an operator, who reads no messages, would have those that fail put where it reads."""
    rights: list[dict[str, Any]] = [{"allow": ["manage", "look"], "groups": ["g"]}]
    rights += [{"allow": ["manage"], "topics": each} for each in _parts(managed)]
    rights += [{"allow": ["receive"], "topics": each} for each in _parts(received)]
    async with serve(world_of(*rights)) as client:
        body = {"settings": {"deadLetterTopic": "mine-too"}}
        assert await status(client, "PUT", "/groups/g", {}) == 201
        answer = await client.patch("/groups/g", json=body, headers=bearer())
        assert answer.status_code == (expected if isinstance(expected, int) else 200), answer.text
        group = (await client.get("/groups/g", headers=bearer())).json()
        is_refused = isinstance(expected, int)
        assert group["settings"]["deadLetterTopic"] == (None if is_refused else "mine-too")
        assert group["deadLetterSources"] == (None if is_refused else expected)
        if is_refused:
            assert answer.json()["field"] == "settings.deadLetterTopic"
        assert await status(client, "PATCH", "/groups/g", {"settings": {"deadLetterTopic": None}}) == 200


async def test_who_says_where_dead_letters_go_may_read_what_the_group_reads(serve: Any) -> None:
    rights = {"allow": ["manage"], "topics": ["*"], "groups": ["g"]}, {"allow": ["receive"], "topics": ["mine*"]}
    body = {"settings": {"deadLetterTopic": "mine-dead"}}
    for topic, expected in (("mine", 200), ("theirs", 403)):
        async with serve(world_of(*rights)) as client:
            await prepare(client)
            await client.get(f"/messages?queue={topic}&group=g", headers=bearer(ADMIN))
            assert await status(client, "PATCH", "/groups/g", body) == expected


@pytest.mark.parametrize("denied", ["manage", "receive"])
async def test_what_is_kept_of_a_tokens_topics_cannot_say_what_is_denied(serve: Any, denied: str) -> None:
    """A group keeps patterns of topics whose letters may go there: none of them may be too many."""
    allowed = {"allow": ["manage", "receive"], "topics": ["mine*"], "groups": ["g"]}
    async with serve(world_of(allowed, {"deny": [denied], "topics": ["mine-too"]})) as client:
        assert await status(client, "PUT", "/groups/g", {"settings": {"deadLetterTopic": "mine-dead"}}) == 403
        assert await status(client, "PUT", "/groups/g") == 201


async def test_a_redrive_needs_to_send_where_it_sends(serve: Any) -> None:
    settle = {"allow": ["settle", "receive"], "topics": ["mine"]}
    group = {"allow": ["settle", "send", "look"], "groups": ["g"]}
    body = {"topic": "mine", "to": "theirs"}
    for sends, expected in (["theirs"], {200, 201, 202}), (["mine*"], {403}):
        async with serve(world_of(settle, group, {"allow": ["send"], "topics": sends})) as client:
            await prepare(client)
            await client.put("/groups/g", headers=bearer(ADMIN))
            assert await status(client, "POST", "/groups/g/redrive", body) in expected
    denied = {"deny": ["send"], "topics": ["secret"]}
    async with serve(world_of(settle, group, {"allow": ["send"], "topics": ["*"]}, denied)) as client:
        await prepare(client)
        await client.put("/groups/g", headers=bearer(ADMIN))
        assert await status(client, "POST", "/groups/g/redrive", {"topic": "mine"}) == 403


async def test_a_redrive_takes_the_right_to_read_the_letters(serve: Any) -> None:
    """Else they could be read where they are sent."""
    group = {"allow": ["settle", "send"], "topics": ["mine", "a.g.dlq"], "groups": ["g"]}
    for reads, expected in ((["a.g.dlq"], 201), (["mine"], 403), (["*.dlq"], 201)):
        async with serve(world_of(group, {"allow": ["receive"], "topics": reads})) as client:
            await prepare(client)
            await client.put("/topics/a.g.dlq", json={"partitions": 1}, headers=bearer(ADMIN))
            await client.put("/groups/g", headers=bearer(ADMIN))
            body = {"topic": "a.g.dlq", "to": "mine"}
            answers = [
                await client.post("/groups/g/redrive", json=each, headers=bearer())
                for each in (body, {**body, "topic": "missing"})
            ]
            assert [answer.status_code for answer in answers] == [expected, 403], answers[0].text
            unnamed = await client.post("/groups/g/redrive", json={"to": "mine"}, headers=bearer())
            assert unnamed.status_code == (400 if expected == 403 else 201), unnamed.text


@pytest.mark.parametrize("action", ["settle", "receive"])
async def test_names_of_letters_topics_are_of_those_that_the_token_may_settle_and_read(serve: Any, action: str) -> None:
    both = {"allow": ["settle", "receive"], "topics": ["a.g.dlq"]}
    rights = (both, {"allow": [action], "topics": ["b.g.dlq"]}, {"allow": ["settle", "send"], "groups": ["g"]})
    async with serve(world_of(*rights)) as client:
        for topic in ("a.g.dlq", "b.g.dlq"):
            await client.put(f"/topics/{topic}", json={"partitions": 1}, headers=bearer(ADMIN))
        await client.put("/groups/g", headers=bearer(ADMIN))
        answer = await client.post("/groups/g/redrive", json={}, headers=bearer())
        assert answer.status_code == 201
        assert answer.json()["topic"] == "a.g.dlq"
        assert "b.g.dlq" not in answer.text


@pytest.mark.parametrize("action", ["send", "look"])
async def test_near_names_are_of_what_the_token_may_do_anything_with(serve: Any, action: str) -> None:
    rights = ({"allow": [action], "topics": ["mine*"]}, {"deny": ["send", "look"], "topics": ["mine-too"]})
    async with serve(world_of(*rights, settings=Settings(auto_create_topics=False))) as client:
        await prepare(client)
        call = ("POST", "/messages") if action == "send" else ("GET", "/topics/mine-")
        answer = await client.request(*call, json={"queue": "mine-", "body": 1}, headers=bearer())
        assert (answer.status_code, answer.json()["near"]) == (404, ["mine"])


async def test_listings_show_what_the_token_may_look_at(serve: Any) -> None:
    rights = ({"allow": ["look"], "topics": ["*"], "groups": ["*"]}, {"deny": ["look"], "topics": ["theirs"]})
    async with serve(world_of(*rights)) as client:
        await prepare(client)
        listed = await client.get("/topics", headers=bearer())
        assert [each["name"] for each in listed.json()["topics"]] == ["mine", "mine-too"]


async def test_on_trial_rights_refuse_nothing_and_are_counted(serve: Any) -> None:
    async with serve(
        world_of({"allow": ["send"], "topics": ["mine"]}, settings=Settings(rights_dry_run=True))
    ) as client:
        await prepare(client)
        assert await status(client, "POST", "/messages", {"queue": "theirs", "body": 1}) == 201
        assert await status(client, "GET", "/messages?queue=theirs&group=g") == 200
        assert await status(client, "PUT", "/topics/new") == 201
        listed = await client.get("/topics", headers=bearer())
        assert len(listed.json()["topics"]) == 4
        text = (await client.get("/metrics", headers=bearer(ADMIN))).text
        assert 'acklog_rights_let_through_total{action="send"} 1.0' in text
        assert 'acklog_rights_let_through_total{action="manage"}' in text
        assert (await client.get("/topics")).status_code == 401


async def test_a_copy_judges_all_that_it_names_before_any_is_looked_for(serve: Any) -> None:
    rights = {"allow": ["seek", "look"], "topics": ["mine"], "groups": ["mine"]}, {"allow": ["look"], "topics": ["*"]}
    async with serve(world_of(*rights, {"allow": ["look"], "groups": ["seen"]})) as client:
        await prepare(client)
        for group in ("mine", "seen", "theirs"):
            await client.put(f"/groups/{group}", headers=bearer(ADMIN))
        path = "/groups/mine/offsets/copy"
        answers = [await client.post(path, json={"from": each}, headers=bearer()) for each in ("theirs", "missing")]
        assert [answer.status_code for answer in answers] == [403, 403], answers[1].text
        assert answers[0].text.replace("theirs", "missing") == answers[1].text
        for topics in (["mine-too"], ["mine", "missing"]):  # it has read neither
            assert await status(client, "POST", path, {"from": "seen", "topics": topics}) == 403
        assert await status(client, "POST", path, {"from": "seen", "topics": ["mine"]}) == 200


async def test_a_copy_names_what_it_leaves_out(serve: Any) -> None:
    rights = {"allow": ["seek", "look"], "topics": ["mine"], "groups": ["*"]}, {"allow": ["look"], "topics": ["mine*"]}
    async with serve(world_of(*rights)) as client:
        await prepare(client)
        for topic in ("mine", "mine-too", "theirs"):
            await client.get(f"/messages?queue={topic}&group=seen", headers=bearer(ADMIN))
        await client.put("/groups/mine", headers=bearer(ADMIN))
        body = {"from": "seen", "dryRun": True}
        copied = (await client.post("/groups/mine/offsets/copy", json=body, headers=bearer())).json()
        assert {each["topic"] for each in copied["offsets"]} == {"mine"}
        assert copied["leftOut"] == ["mine-too"]
        whole = (await client.post("/groups/mine/offsets/copy", json=body, headers=bearer(ADMIN))).json()
        assert "leftOut" not in whole


@pytest.mark.parametrize("path", ["/ack", "/nack"])
@pytest.mark.parametrize(
    "rights",
    [
        {"allow": ["send"], "topics": ["mine"]},
        {"allow": ["settle"], "topics": ["theirs"], "groups": ["g"]},
        {"allow": ["settle"], "topics": ["mine"], "groups": ["other"]},
    ],
)
async def test_on_trial_a_settlement_is_counted_once(serve: Any, rights: dict[str, Any], path: str) -> None:
    async with serve(world_of(rights, settings=Settings(rights_dry_run=True))) as client:
        await prepare(client)
        received = await client.get("/messages?queue=mine&group=g", headers=bearer(ADMIN))
        [message] = received.json()["messages"]
        assert await status(client, "POST", path, {"receipt": message["receipt"]}) == 200
        text = (await client.get("/metrics", headers=bearer(ADMIN))).text
        assert 'acklog_rights_let_through_total{action="settle"} 1.0' in text
