"""What each kind of token may do, call by call: a right covers all that the call touches (rule R39)."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.services.groups import DEAD_LETTER_SOURCES_MAX
from tests.support.memory_gateway import MemoryWorld

EVERYTHING = "everything-token-0123456789"
TOPICS_ONLY = "topics-only-token-0123456789"
BOTH = "both-token-0123456789"
OTHER_GROUPS = "other-groups-token-0123456789"
SCOPES = ["read", "write", "admin", "purge"]
FILE = {
    "tokens": [
        {"name": "everything", "token": EVERYTHING, "scopes": SCOPES},
        {"name": "topics only", "token": TOPICS_ONLY, "scopes": SCOPES, "topics": ["mine*"]},
        {"name": "both", "token": BOTH, "scopes": SCOPES, "topics": ["mine*"], "groups": ["mine*", "shared"]},
        {"name": "other groups", "token": OTHER_GROUPS, "scopes": SCOPES, "groups": ["others*"]},
    ]
}
TOKENS = (EVERYTHING, TOPICS_ONLY, BOTH, OTHER_GROUPS)


@dataclass(frozen=True)
class Call:
    """`allowed`: for which of TOKENS, in their order (y, n)."""

    method: str
    path: str
    allowed: str
    body: object = None

    def __str__(self) -> str:
        return f"{self.method} {self.path} {json.dumps(self.body) if self.body else ''}"


DEAD_LETTERS = {"settings": {"deadLetterTopic": "mine-dead"}}
THEIR_DEAD_LETTERS = {"settings": {"deadLetterTopic": "theirs"}}
SEEK = {"topic": "mine", "to": "latest"}
THEIR_SEEK = {"topic": "theirs", "to": "latest"}
COMMIT = {"offsets": [{"topic": "mine", "partition": 0, "offset": 0}]}
THEIR_COMMIT = {"offsets": [{"topic": "theirs", "partition": 0, "offset": 0}]}
BLOCKED = {"topic": "mine", "partition": 0, "offset": 0}
BLOCKED_KEY = {"topic": "mine", "key": "k"}
THEIR_BLOCKED = {"topic": "theirs", "partition": 0, "offset": 0}
CALLS = [
    Call("POST", "/messages", "yyyy", {"queue": "mine", "body": 1}),
    Call("POST", "/messages", "ynny", {"queue": "theirs", "body": 1}),
    Call("POST", "/messages", "ynny", {"queue": "new-one", "body": 1}),
    Call("GET", "/messages?queue=mine&group=mine", "yyyn"),
    Call("GET", "/messages?queue=mine&group=theirs", "yynn"),
    Call("GET", "/messages?queue=mine&group=new-group", "yynn"),
    Call("GET", "/messages?queue=theirs&group=mine", "ynnn"),
    Call("GET", "/messages?queue=mine&queue=theirs&group=mine", "ynnn"),
    Call("GET", "/messages/{mine}", "yyyy"),
    Call("GET", "/messages/{theirs}", "ynny"),
    Call("POST", "/ack", "yyyn", {"messageId": "{mine}", "group": "mine"}),
    Call("POST", "/ack", "yynn", {"messageId": "{mine}", "group": "theirs"}),
    Call("POST", "/ack", "yyyn", {"receipt": "{receipt-mine}"}),
    Call("POST", "/ack", "yynn", {"receipt": "{receipt-theirs}"}),
    Call("POST", "/nack", "yynn", {"receipt": "{receipt-theirs}"}),
    Call("POST", "/extend", "yynn", {"receipt": "{receipt-theirs}", "visibilitySeconds": 1}),
    Call("GET", "/topics/mine", "yyyy"),
    Call("GET", "/topics/theirs", "ynny"),
    Call("GET", "/topics/mine/partitions/0", "yyyy"),
    Call("GET", "/topics/theirs/partitions/0", "ynny"),
    Call("GET", "/topics/mine/partitions/0/records", "yyyy"),
    Call("GET", "/topics/theirs/partitions/0/records", "ynny"),
    Call("PUT", "/topics/mine-too", "yyyy"),
    Call("PUT", "/topics/theirs-too", "ynny"),
    Call("PUT", "/topics/theirs/decommissioned", "ynny", {"partitions": [0]}),
    Call("DELETE", "/topics/theirs-too", "ynny"),
    Call("POST", "/topics/mine/purge", "yyyy", {"dryRun": True}),
    Call("POST", "/topics/theirs/purge", "ynny"),
    Call("POST", "/topics/mine/delete-before", "yyyy", {"time": 0}),
    Call("POST", "/topics/theirs/delete-before", "ynny", {"offsets": [{"partition": 0, "offset": 1}]}),
    Call("GET", "/groups/mine", "ynyn"),
    Call("GET", "/groups/theirs", "ynnn"),
    Call("PUT", "/groups/mine-too", "ynyn"),
    Call("PUT", "/groups/theirs-too", "ynnn"),
    Call("PUT", "/groups/mine-dlq", "ynyn", DEAD_LETTERS),
    Call("PUT", "/groups/mine-bad", "ynnn", THEIR_DEAD_LETTERS),
    Call("PATCH", "/groups/mine", "ynyn", DEAD_LETTERS),
    Call("PATCH", "/groups/shared", "ynnn", DEAD_LETTERS),
    Call("PATCH", "/groups/theirs", "ynnn", DEAD_LETTERS),
    Call("GET", "/groups/mine/offsets", "yyyn"),
    Call("GET", "/groups/theirs/offsets", "yynn"),
    Call("GET", "/groups/mine/offsets?topic=theirs", "ynnn"),
    Call("GET", "/groups/mine/demand", "yyyn"),
    Call("GET", "/groups/theirs/demand", "yynn"),
    Call("GET", "/groups/mine/demand?topic=theirs", "ynnn"),
    Call("PUT", "/groups/mine/offsets", "yyyn", SEEK),
    Call("PUT", "/groups/theirs/offsets", "yynn", SEEK),
    Call("PUT", "/groups/mine/offsets", "ynnn", THEIR_SEEK),
    Call("PUT", "/groups/mine/offsets", "yyyn", COMMIT),
    Call("PUT", "/groups/theirs/offsets", "yynn", COMMIT),
    Call("PUT", "/groups/mine/offsets", "ynnn", THEIR_COMMIT),
    Call("POST", "/groups/mine/offsets/copy", "yyyn", {"from": "shared"}),
    Call("POST", "/groups/mine/offsets/copy", "yynn", {"from": "theirs"}),
    Call("POST", "/groups/theirs/offsets/copy", "yynn", {"from": "shared"}),
    Call("GET", "/groups/mine/keys", "yyyn"),
    Call("GET", "/groups/theirs/keys", "yynn"),
    Call("GET", "/groups/mine/keys?topic=theirs", "ynnn"),
    *(
        call
        for decision in ("release", "skip")
        for call in (
            Call("POST", f"/groups/mine/keys/{decision}", "yyyn", BLOCKED),
            Call("POST", f"/groups/theirs/keys/{decision}", "yynn", BLOCKED),
            Call("POST", f"/groups/mine/keys/{decision}", "ynnn", THEIR_BLOCKED),
            Call("POST", f"/groups/mine/keys/{decision}", "yyyn", BLOCKED_KEY),
            Call("POST", f"/groups/mine/keys/{decision}", "yyyn", {"messageId": "{mine}"}),
            Call("POST", f"/groups/mine/keys/{decision}", "ynnn", {"messageId": "{theirs}"}),
        )
    ),
    Call("GET", "/groups/mine-own/members", "yyyn"),
    Call("GET", "/groups/theirs-own/members", "yynn"),
    Call("PUT", "/groups/mine-own/members/m", "yyyn", {"topics": ["mine"]}),
    Call("PUT", "/groups/mine-own/members/m", "ynnn", {"topics": ["mine", "theirs"]}),
    Call("PUT", "/groups/mine-own/members/m", "yyyn", {"patterns": ["mine*"]}),
    Call("PUT", "/groups/mine-own/members/m", "ynnn", {"patterns": ["mine*", "*"]}),
    Call("PUT", "/groups/theirs-own/members/m", "yynn", {"topics": ["mine"]}),
    Call("POST", "/groups/mine-own/members/m/heartbeat", "yyyn", {"memberEpoch": 1}),
    Call("POST", "/groups/theirs-own/members/m/heartbeat", "yynn", {"memberEpoch": 1}),
    Call("DELETE", "/groups/mine-own/members/m", "yyyn"),
    Call("DELETE", "/groups/theirs-own/members/m", "yynn"),
    Call("GET", "/topics/__groups", "ynnn"),
    Call("DELETE", "/topics/__groups", "ynnn"),
    Call("GET", "/topics?internal=true", "ynnn"),
    Call("DELETE", "/groups/mine-too", "ynyn"),
    Call("DELETE", "/groups/theirs-too", "ynnn"),
    Call("GET", "/metrics", "ynnn"),
    Call("PUT", "/cluster/pause", "ynny"),
]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def guarded() -> MemoryWorld:
    return MemoryWorld(tokens=parse_token_table(json.dumps(FILE).encode()))


async def prepare(client: Any) -> dict[str, str]:
    """Topics and groups of both, and what calls refer to."""
    everything = bearer(EVERYTHING)
    names = {}
    for topic in ("mine", "theirs"):
        await client.put(f"/topics/{topic}", json={"partitions": 1}, headers=everything)
        sent = await client.post("/messages", json={"queue": topic, "body": 1}, headers=everything)
        names[topic] = sent.json()["messageId"]
    for group, topic in (("mine", "mine"), ("theirs", "mine"), ("shared", "mine"), ("shared", "theirs")):
        answer = await client.get(f"/messages?queue={topic}&group={group}", headers=everything)
        names[f"receipt-{group}"] = answer.json()["messages"][0]["receipt"]
    return names


@pytest.mark.parametrize("call", CALLS, ids=str)
async def test_each_call(guarded: MemoryWorld, serve: Any, call: Call) -> None:
    async with serve(guarded) as client:
        names = await prepare(client)
        for group in ("mine-own", "theirs-own"):
            await client.put(f"/groups/{group}", json={"mode": "exclusive"}, headers=bearer(EVERYTHING))
        text = json.dumps(call.body)
        path = call.path
        for name, value in names.items():
            text = text.replace("{" + name + "}", value)
            path = path.replace("{" + name + "}", value)
        for token, allowed in reversed(list(zip(TOKENS, call.allowed, strict=True))):
            body = {} if call.body is None else {"json": json.loads(text)}
            answer = await client.request(call.method, path, headers=bearer(token), **body)
            assert (answer.status_code == 403) == (allowed == "n"), (token, answer.text)
            assert answer.status_code not in (401, 500, 503), (token, answer.text)


async def test_a_dead_letter_topic_is_for_the_topics_of_who_chose_it(guarded: MemoryWorld, serve: Any) -> None:
    """Whatever the group reads later: its letters of other topics would be there for whoever may read `mine-dead`."""

    async def sources(client: Any, call: Any, token: str, body: object = DEAD_LETTERS, group: str = "mine-1") -> Any:
        answer = await call(f"/groups/{group}", json=body, headers=bearer(token))
        assert answer.status_code in {200, 201}, answer.text
        looked = await client.get(f"/groups/{group}", headers=bearer(EVERYTHING))
        assert looked.json() == answer.json()
        return answer.json()["deadLetterSources"]

    async with serve(guarded) as client:
        assert await sources(client, client.put, BOTH) == ["mine*"]
        assert await sources(client, client.put, BOTH) == ["mine*"]
        assert await sources(client, client.patch, EVERYTHING, {"settings": {"maxAttempts": 3}}) == ["mine*"]
        refused = await client.put("/groups/mine-1", json=DEAD_LETTERS, headers=bearer(EVERYTHING))
        assert (refused.status_code, refused.json()["differing"]) == (409, ["deadLetterSources"])
        assert await sources(client, client.put, EVERYTHING, {"settings": {"maxAttempts": 3}}) == ["mine*"]
        assert await sources(client, client.patch, EVERYTHING) is None
        assert await sources(client, client.put, BOTH) is None
        assert await sources(client, client.patch, BOTH) == ["mine*"]
        assert await sources(client, client.patch, BOTH, {"settings": {"deadLetterTopic": None}}) is None
        assert await sources(client, client.put, EVERYTHING, group="mine-2") is None
        assert await sources(client, client.patch, BOTH, group="mine-2") == ["mine*"]
        reset = {"settings": {"deadLetterTopic": None}}
        answer = await client.patch("/groups/shared", json=reset, headers=bearer(BOTH))
        assert answer.status_code in {403, 404}, "it reads what the token is not for"


async def test_who_has_very_many_patterns_chooses_no_dead_letter_topic(serve: Any) -> None:
    topics = [f"mine-{number}" for number in range(DEAD_LETTER_SOURCES_MAX)]
    entry = {"name": "both", "token": BOTH, "scopes": SCOPES, "groups": ["mine*"]}
    for more, status in (([], 201), (["mine-dead"], 403)):
        file = {"tokens": [{**entry, "topics": [*topics, *more]}]}
        async with serve(MemoryWorld(tokens=parse_token_table(json.dumps(file).encode()))) as client:
            body = {"settings": {"deadLetterTopic": "mine-0"}}
            answer = await client.put("/groups/mine", json=body, headers=bearer(BOTH))
            assert answer.status_code == status


async def test_listings_show_what_the_token_may_see(guarded: MemoryWorld, serve: Any) -> None:
    async with serve(guarded) as client:
        names = await prepare(client)

        async def listed(path: str, field: str, token: str, name: str = "name") -> list[str]:
            answer = await client.get(path, headers=bearer(token))
            return sorted(each[name] for each in answer.json()[field])

        assert await listed("/groups", "groups", EVERYTHING) == ["mine", "shared", "theirs"]
        assert await listed("/groups", "groups", TOPICS_ONLY) == []
        assert await listed("/groups", "groups", BOTH) == ["mine", "shared"]
        assert await listed("/groups", "groups", OTHER_GROUPS) == []
        assert await listed("/topics", "topics", BOTH) == ["mine"]
        assert await listed(f"/messages/{names['mine']}", "groups", BOTH, "group") == ["mine", "shared"]
        assert await listed(f"/messages/{names['mine']}", "groups", OTHER_GROUPS, "group") == []
        assert await listed("/topics/mine/partitions/0", "groups", BOTH, "group") == ["mine", "shared"]
        assert await listed("/groups/shared/offsets", "offsets", BOTH, "topic") == ["mine"]


async def test_errors_name_nothing_of_others(guarded: MemoryWorld, serve: Any) -> None:
    async with serve(guarded) as client:
        names = await prepare(client)
        for path in (
            f"/messages/{names['theirs']}",
            "/messages?queue=their&group=mine",
            "/messages?queue=mime&group=mine",
        ):
            answer = await client.get(path, headers=bearer(BOTH))
            assert "theirs" not in answer.text
        refused = await client.post("/ack", json={"receipt": names["receipt-theirs"]}, headers=bearer(BOTH))
        assert "theirs" not in refused.text


async def test_looking_at_what_is_blocked_needs_read_and_deciding_admin(serve: Any) -> None:
    tokens = [{"name": scope, "token": f"{scope}-token-0123456789", "scopes": [scope]} for scope in SCOPES]
    file = {"tokens": [*FILE["tokens"], *tokens]}
    async with serve(MemoryWorld(tokens=parse_token_table(json.dumps(file).encode()))) as client:
        await prepare(client)
        for scope in SCOPES:
            headers = bearer(f"{scope}-token-0123456789")
            listed = await client.get("/groups/mine/keys", headers=headers)
            assert (listed.status_code == 403) == (scope != "read"), (scope, listed.text)
            for decision in ("release", "skip"):
                decided = await client.post(f"/groups/mine/keys/{decision}", json=BLOCKED, headers=headers)
                assert (decided.status_code == 403) == (scope != "admin"), (scope, decided.text)


async def test_deleting_messages_has_a_right_of_its_own(serve: Any) -> None:
    """R43: who may change topics may not empty them by that, and a job that cleans up needs no more."""
    tokens = [{"name": scope, "token": f"{scope}-token-0123456789", "scopes": [scope]} for scope in SCOPES]
    file = {"tokens": [*FILE["tokens"], *tokens]}
    async with serve(MemoryWorld(tokens=parse_token_table(json.dumps(file).encode()))) as client:
        await prepare(client)
        for scope in SCOPES:
            headers = bearer(f"{scope}-token-0123456789")
            for path, body in (("purge", {"dryRun": True}), ("purge", {}), ("delete-before", {"time": 0})):
                answer = await client.post(f"/topics/mine/{path}", json=body, headers=headers)
                assert (answer.status_code == 403) == (scope != "purge"), (scope, answer.text)


async def test_acklogs_own_topics_are_shown_to_whoever_may_read_everything(serve: Any) -> None:
    scopes = {"a-reader-token-0123456789": ["read"], "an-admin-token-0123456789": ["admin"]}
    entries = [{"name": token, "token": token, "scopes": given} for token, given in scopes.items()]
    async with serve(MemoryWorld(tokens=parse_token_table(json.dumps({"tokens": entries}).encode()))) as client:
        answers = [await client.get("/topics?internal=true", headers=bearer(token)) for token in scopes]
        assert [answer.status_code for answer in answers] == [200, 403]
