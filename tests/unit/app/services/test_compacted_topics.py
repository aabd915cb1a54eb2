"""Topics that keep the last message of each key: what they refuse, and what they take."""

from typing import Any

import httpx2
import pytest


async def make(client: httpx2.AsyncClient, **config: Any) -> httpx2.Response:
    return await client.put("/topics/table", json={"config": {"cleanupPolicy": "compact", **config}})


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"cleanupPolicy": "both"}, "config.cleanupPolicy"),
        ({"minCompactionLagMs": -1}, "config.minCompactionLagMs"),
        ({"maxCompactionLagMs": -2}, "config.maxCompactionLagMs"),
        ({"minCompactionLagMs": 2_000, "maxCompactionLagMs": 1_999}, "config.maxCompactionLagMs"),
        ({"tombstoneRetentionMs": -1}, "config.tombstoneRetentionMs"),
        ({"tombstoneRetentionMs": "1h"}, "config.tombstoneRetentionMs"),
        ({"retention": "untilAcked"}, "config.cleanupPolicy"),
    ],
)
async def test_a_wrong_setting_makes_nothing(client: httpx2.AsyncClient, config: dict[str, Any], field: str) -> None:
    answer = await make(client, **config)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "INVALID_FIELD", field)
    assert (await client.get("/topics/table")).status_code == 404


async def test_a_message_may_have_to_go_as_soon_as_it_may(client: httpx2.AsyncClient) -> None:
    assert (await make(client, minCompactionLagMs=2_000, maxCompactionLagMs=2_000)).status_code == 201
    too_long = await client.patch("/topics/table", json={"config": {"minCompactionLagMs": 2_001}})
    assert (too_long.status_code, too_long.json()["field"]) == (400, "config.maxCompactionLagMs")
    without_limit = {"minCompactionLagMs": 2_001, "maxCompactionLagMs": -1}
    assert (await client.patch("/topics/table", json={"config": without_limit})).status_code == 200


async def test_a_message_without_a_key_is_refused_on_its_own(client: httpx2.AsyncClient) -> None:
    assert (await make(client)).status_code == 201
    for message in ({"body": 1}, {"body": 1, "partition": 0}, {"body": 1, "dedupId": "x"}):
        alone = await client.post("/messages", json={"queue": "table", **message})
        assert (alone.status_code, alone.json()["code"], alone.json()["field"]) == (400, "MISSING_FIELD", "key")
    batch = {"queue": "table", "messages": [{"body": 1, "key": "a"}, {"body": 2}, {"body": 3, "key": "b"}]}
    for _ in range(2):
        answer = await client.post("/messages", json=batch)
        assert answer.status_code == 207
        [first, second, third] = answer.json()["results"]
        assert (second["code"], second["field"]) == ("MISSING_FIELD", "messages[1].key")
        assert "code" not in first
        assert "code" not in third
        batch["messages"][0]["tags"] = ["red"]  # type: ignore[index]
    one = await client.post("/messages", json={"queue": "table", "body": 1, "key": "a", "partition": 0})
    assert one.status_code == 201


async def test_a_key_without_a_value_is_a_tombstone(client: httpx2.AsyncClient) -> None:
    assert (await make(client)).status_code == 201
    sent = await client.post("/messages", json={"queue": "table", "key": "a", "bodyBase64": ""})
    assert sent.status_code == 201
    shown = (await client.get(f"/messages/{sent.json()['messageId']}")).json()
    assert (shown["key"], shown["bodyBase64"]) == ("a", "")


async def test_another_policy_is_another_setting(client: httpx2.AsyncClient) -> None:
    assert (await make(client)).status_code == 201
    refused = await make(client, cleanupPolicy="compact,delete")
    assert (refused.status_code, refused.json()["code"]) == (409, "TOPIC_EXISTS")
    back = await client.patch("/topics/table", json={"config": {"cleanupPolicy": "delete"}})
    assert (back.status_code, back.json()["field"]) == (409, "config.cleanupPolicy")
