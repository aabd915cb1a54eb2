"""The topic `__audit`: who may read it, who may change it (nobody), and how long it is kept."""

import json
from typing import Any

import pytest

from acklog.wire.limits import CALLER_NAME_LENGTH_MAX, TOKEN_NAME_LENGTH_MAX
from acklog.wire.problems import ProblemCode
from app.auth.client_certificate import CERTIFICATE_NAME_LENGTH_MAX
from app.auth.identities import CERTIFICATE_PREFIX, JWT_PREFIX
from app.jwt.expected_claims import SUBJECT_LENGTH_MAX
from app.services.audit_topic import LOOK_INTERVAL_MS
from cluster.errors import ServerError
from cluster.model.internal_topics import AUDIT_TOPIC
from tests.unit.app.http.audit.audited_world import (
    ADMIN,
    AUDITOR,
    PRODUCER,
    READER,
    audited_world,
    bearer,
    records_of,
)

HEADERS = bearer(ADMIN)
RECORDS = f"/topics/{AUDIT_TOPIC}/partitions/0/records"
READS = ["/audit", RECORDS, f"/topics/{AUDIT_TOPIC}", f"/topics/{AUDIT_TOPIC}/partitions/0"]
HOUR_MS = 3_600_000


@pytest.mark.parametrize("path", READS)
async def test_who_may_read_it(serve: Any, path: str) -> None:
    """Not who may read every topic: `*` is of topics that people make."""
    async with serve(audited_world()) as client:
        await client.put("/topics/first", headers=HEADERS)
        statuses = [(await client.get(path, headers=bearer(each))).status_code for each in (ADMIN, AUDITOR)]
        assert statuses == [200, 200]
        for token in (READER, PRODUCER):
            answer = await client.get(path, headers=bearer(token))
            assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
            assert "audit on the cluster" in answer.json()["detail"]
        everything = [{"allow": ["receive", "look", "settle"], "topics": ["*"], "groups": ["*"], "cluster": True}]
        made = await client.post("/tokens", json={"name": "all", "rights": everything}, headers=HEADERS)
        assert (await client.get(path, headers=bearer(made.json()["token"]))).status_code == 403


@pytest.mark.parametrize("is_tried", [False, True])
async def test_who_may_not_read_it_does_not_see_it_listed(serve: Any, is_tried: bool) -> None:
    async with serve(audited_world(rights_dry_run=is_tried)) as client:
        await client.put("/topics/first", headers=HEADERS)
        for token, names in ((ADMIN, [AUDIT_TOPIC, "first"]), (READER, ["first"])):
            answer = await client.get("/topics?internal=true", headers=bearer(token))
            assert [each["name"] for each in answer.json()["topics"]] == names


async def test_an_auditor_may_do_nothing_else(serve: Any) -> None:
    async with serve(audited_world()) as client:
        await client.put("/topics/first", headers=HEADERS)
        own = (await client.get("/token", headers=bearer(AUDITOR))).json()
        assert own["rights"] == [{"from": "role 'auditor'", "allow": ["audit"], "cluster": True}]
        for method, path in (("GET", "/topics"), ("GET", "/topics/first"), ("PUT", "/topics/x"), ("GET", "/cluster")):
            assert (await client.request(method, path, headers=bearer(AUDITOR))).status_code == 403
        other = await client.get("/topics/first/partitions/0/records", headers=bearer(AUDITOR))
        assert other.status_code == 403


async def test_nobody_writes_changes_or_deletes_it(serve: Any) -> None:
    topic = f"/topics/{AUDIT_TOPIC}"
    async with serve(audited_world()) as client:
        await client.put("/topics/first", headers=HEADERS)
        await client.put("/groups/g", headers=HEADERS)
        for method, path, body in (
            ("POST", "/messages", {"queue": AUDIT_TOPIC, "body": 1}),
            ("POST", "/messages", {"queue": AUDIT_TOPIC, "messages": [{"body": 1}]}),
            ("GET", f"/messages?queue={AUDIT_TOPIC}&group=g", None),
            ("PUT", topic, {}),
            ("PATCH", topic, {"config": {"retentionMs": 1}}),
            ("DELETE", topic, None),
            ("POST", f"{topic}/purge", {}),
            ("POST", f"{topic}/delete-before", {"time": 0}),
            ("POST", f"{topic}/compact", {}),
            ("PUT", f"{topic}/decommissioned", {"partitions": [0]}),
            ("PUT", f"{topic}/producers/p", None),
            ("PUT", f"{topic}/schedules/s", {"message": {"body": 1}, "everySeconds": 60}),
            ("PUT", "/groups/g/offsets", {"topic": AUDIT_TOPIC, "to": "latest"}),
        ):
            answer = await client.request(method, path, headers=HEADERS, **({} if body is None else {"json": body}))
            assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_NAME"), (method, path, answer.text)
        assert (await client.get("/topics", headers=HEADERS)).json()["topics"][0]["name"] == "first"
        names = [each["name"] for each in (await client.get("/topics?internal=true", headers=HEADERS)).json()["topics"]]
        assert AUDIT_TOPIC in names
        failed = [each["operation"] for each in await records_of(client) if each["result"] == "failed"]
        assert failed[:3] == ["putTopic", "updateTopic", "deleteTopic"], "and whoever tries is recorded"


async def test_how_long_it_is_kept_is_a_setting(serve: Any) -> None:
    """Also while the server runs; and what another gateway was told is not undone by each record."""
    world = audited_world(audit_retention_ms=HOUR_MS, audit_retention_bytes=1_000_000)
    async with serve(world) as client:

        async def kept(path: str) -> tuple[int, int]:
            await client.put(path, headers=HEADERS)
            topic = world.metadata.topic(AUDIT_TOPIC)
            assert topic is not None
            return topic.config.retention_ms, topic.config.retention_bytes

        assert await kept("/topics/a") == (HOUR_MS, 1_000_000)
        world.gateway.settings.adopt({"audit_retention_ms": 2 * HOUR_MS, "audit_retention_bytes": -1})
        assert await kept("/topics/b") == (2 * HOUR_MS, -1)
        topic = world.metadata.topic(AUDIT_TOPIC)
        assert topic is not None
        await world.topics.update(AUDIT_TOPIC, config=lambda config: topic.config.__class__(retention_ms=5))
        assert await kept("/topics/c") == (5, -1)
        assert topic.partitions == 1


async def test_a_setting_that_cannot_be_applied_is_tried_now_and_then(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not with each record; another one is tried at once."""
    world = audited_world(audit_retention_ms=HOUR_MS)
    tries: list[str] = []

    async def refuse(name: str, **_: object) -> None:
        tries.append(name)
        raise ServerError(ProblemCode.UNAVAILABLE, "not now")

    async with serve(world) as client:
        await client.put("/topics/a", headers=HEADERS)
        monkeypatch.setattr(world.gateway.topics, "update", refuse)
        for hours in (2, 3):
            world.gateway.settings.adopt({"audit_retention_ms": hours * HOUR_MS})
            for number in range(5):
                await client.put(f"/topics/b{hours}{number}", headers=HEADERS)
            assert tries == [AUDIT_TOPIC]
            await world.clock.advance_ms(LOOK_INTERVAL_MS)
            await client.put(f"/topics/c{hours}", headers=HEADERS)
            assert tries == [AUDIT_TOPIC] * 2
            tries.clear()


async def test_a_page_goes_on_where_the_one_before_ended(serve: Any) -> None:
    async with serve(audited_world()) as client:
        for number in range(7):
            await client.put(f"/topics/t{number}", headers=HEADERS)
        found, after = [], 0
        while True:
            page = (await client.get(f"/audit?max=3&after={after}", headers=bearer(AUDITOR))).json()
            found += page["records"]
            after = page["next"]
            if page["atEnd"]:
                break
        assert [each["names"]["topic"] for each in found] == [f"t{number}" for number in range(7)]
        last = (await client.get(f"/audit?after={after}", headers=bearer(AUDITOR))).json()
        assert last == {"records": [], "next": 7, "atEnd": True}
        headers = {**bearer(AUDITOR), "Accept": "application/x-ndjson"}
        lines = await client.get("/audit?max=2", headers=headers)
        assert [json.loads(line)["offset"] for line in lines.text.splitlines()] == [0, 1]
        assert lines.headers["x-acklog-next-offset"] == "2"
        assert lines.headers["x-acklog-at-end"] == "false"


async def test_what_is_asked_for(serve: Any) -> None:
    world = audited_world()
    async with serve(world) as client:
        begin_ms = world.clock.now_ms()
        await client.put("/topics/a", headers=HEADERS)
        await world.clock.advance_ms(1_000)
        await client.delete("/topics/none", headers=HEADERS)
        await client.put("/topics/b", headers=bearer(PRODUCER))
        for query, operations in (
            ("", ["putTopic", "deleteTopic", "putTopic"]),
            ("&who=admin", ["putTopic", "deleteTopic"]),
            ("&operation=putTopic", ["putTopic", "putTopic"]),
            ("&result=refused", ["putTopic"]),
            ("&result=failed&who=admin", ["deleteTopic"]),
            ("&result=intended", []),
            (f"&until={begin_ms + 1_000}", ["putTopic"]),
            (f"&since={begin_ms + 1_000}", ["deleteTopic", "putTopic"]),
            (f"&since={begin_ms + 1_000}&until={begin_ms + 1_000}", []),
        ):
            assert [each["operation"] for each in await records_of(client, query)] == operations, query


async def test_who_may_have_any_name_that_there_is(serve: Any) -> None:
    longest = {
        TOKEN_NAME_LENGTH_MAX,
        len(JWT_PREFIX) + SUBJECT_LENGTH_MAX,
        len(CERTIFICATE_PREFIX) + CERTIFICATE_NAME_LENGTH_MAX,
    }
    assert max(longest) == CALLER_NAME_LENGTH_MAX
    async with serve(audited_world()) as client:
        for length in longest:
            assert await records_of(client, "&who=" + "x" * length) == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("max=0", "max"),
        ("max=1001", "max"),
        ("since=-1", "since"),
        ("since=2&until=1", "until"),
        ("result=done", "result"),
        ("after=x", "after"),
        ("who=", "who"),
        ("who=" + "x" * 262, "who"),
        ("other=1", "other"),
    ],
)
async def test_what_cannot_be_asked(serve: Any, query: str, field: str) -> None:
    async with serve(audited_world()) as client:
        answer = await client.get(f"/audit?{query}", headers=bearer(AUDITOR))
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert (await client.get("/audit", headers={**bearer(AUDITOR), "Accept": "text/html"})).status_code == 406
