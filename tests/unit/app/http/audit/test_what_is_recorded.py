"""What a record says, and what no record ever says."""

import json
from typing import Any

from msgspec.structs import replace

from cluster.model.values import DataKey
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.http.audit.audited_world import ADMIN, AUDITOR, PRODUCER, audited_world, bearer, records_of

HEADERS = bearer(ADMIN)
WHISPER = "a-message-that-nobody-else-may-read"


async def last_of(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await records_of(client))[-1]
    return found


async def test_settings_are_there_before_and_after(serve: Any) -> None:
    async with serve(audited_world()) as client:
        await client.put(
            "/topics/orders", json={"partitions": 2, "config": {"retentionMs": 86_400_000}}, headers=HEADERS
        )
        made = await last_of(client)
        assert (made["names"], made["changed"]["partitions"]) == ({"topic": "orders"}, [None, 2])
        await client.patch("/topics/orders", json={"partitions": 4, "config": {"ttlMs": 5}}, headers=HEADERS)
        refused = await last_of(client)
        assert (refused["code"], refused["field"], refused["asked"]) == (
            "DATA_LOSS_NOT_ALLOWED",
            "config.ttlMs",
            {"partitions": 4, "config": {"ttlMs": 5}},
        )
        assert "changed" not in refused
        body = {"partitions": 4, "config": {"ttlMs": 5}}
        await client.patch("/topics/orders?allowDataLoss=true", json=body, headers=HEADERS)
        changed = await last_of(client)
        assert changed["changed"] == {"partitions": [2, 4], "config.ttlMs": [None, 5]}
        assert changed["asked"] == {"allowDataLoss": "true", **body}
        await client.delete("/topics/orders", headers=HEADERS)
        assert (await last_of(client))["changed"]["partitions"] == [4, None]


async def test_namespaces_likewise(serve: Any) -> None:
    async with serve(audited_world()) as client:
        await client.put("/namespaces/shop", json={"settings": {"topicsMax": 3}}, headers=HEADERS)
        assert (await last_of(client))["changed"]["settings.topicsMax"] == [None, 3]
        await client.patch("/namespaces/shop", json={"settings": {"topicsMax": 5}}, headers=HEADERS)
        assert (await last_of(client))["changed"] == {"settings.topicsMax": [3, 5]}


async def test_no_record_holds_a_data_key(serve: Any) -> None:
    """Not a wrapped one either: it goes with its topic, and a record stays."""
    world = audited_world()
    async with serve(world) as client:
        await client.put("/topics/orders", json={"partitions": 1}, headers=HEADERS)
        topic = world.metadata.topics_by_name["orders"]
        world.metadata.topics_by_name["orders"] = replace(topic, data_keys=(DataKey(1, b"wrapped", "m", 0),))
        await client.delete("/topics/orders", headers=HEADERS)
        assert "dataKeys" not in (await last_of(client))["changed"]


async def test_groups_tokens_and_the_cluster_likewise(serve: Any) -> None:
    async with serve(audited_world()) as client:
        await client.put("/groups/mail", json={"mode": "keyOrdered"}, headers=HEADERS)
        assert (await last_of(client))["changed"]["mode"] == [None, "keyOrdered"]
        await client.patch("/groups/mail", json={"settings": {"maxAttempts": 3}}, headers=HEADERS)
        assert (await last_of(client))["changed"] == {"settings.maxAttempts": [16, 3]}
        await client.post("/groups/mail/pause", headers=HEADERS)
        assert list((await last_of(client))["changed"]) == ["pauses"]
        made = await client.post("/tokens", json={"name": "shop", "roles": ["producer"]}, headers=HEADERS)
        record = await last_of(client)
        assert (record["names"], record["changed"]["roles"]) == ({"token": "shop"}, [None, ["producer"]])
        await client.put("/topics/new", headers=bearer(made.json()["token"]))
        refused = (await records_of(client, "&who=shop"))[-1]
        assert refused["principal"] == {"name": "shop", "kind": "stored", "tokenId": made.json()["made"]["id"]}
        await client.delete("/tokens/shop", headers=HEADERS)
        assert (await last_of(client))["changed"]["roles"] == [["producer"], None]
        await client.put("/cluster/pause", headers=HEADERS)
        assert (await last_of(client))["operation"] == "pauseMoves"


async def test_a_seek_says_where_to_and_a_commit_is_no_act(serve: Any) -> None:
    async with serve(audited_world()) as client:
        await client.put("/topics/orders", json={"partitions": 1}, headers=HEADERS)
        await client.put("/groups/mail", headers=HEADERS)
        seek = {"topic": "orders", "to": "latest"}
        assert (await client.put("/groups/mail/offsets", json=seek, headers=HEADERS)).status_code == 200
        record = await last_of(client)
        assert (record["operation"], record["asked"]) == ("seekGroup", seek)
        assert record["names"] == {"group": "mail", "topic": "orders"}
        commit = {"offsets": [{"topic": "orders", "partition": 0, "offset": 0}]}
        for body in (commit, {"offsets": 1}, {"to": 1}):
            await client.put("/groups/mail/offsets", json=body, headers=HEADERS)
        assert await last_of(client) == record, "consumers commit all the time, and what is neither does nothing"


async def test_requests_are_known_by_their_ids_and_traces(serve: Any) -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    trace = f"00-{trace_id}-00f067aa0ba902b7-01"
    headers = {**HEADERS, "X-Request-Id": b"r\x85-1" + b"x" * 200, "traceparent": trace}
    async with serve(audited_world()) as client:
        await client.put("/topics/orders", headers=headers)
        record = await last_of(client)
        assert (record["requestId"], record["traceId"]) == (("r?-1" + "x" * 200)[:128], trace_id)


async def test_no_secret_and_nothing_of_messages_is_there(serve: Any) -> None:
    """Whatever is done: not where a token was made and used, nor where somebody puts one in a wrong place."""
    async with serve(audited_world()) as client:
        made = await client.post("/tokens", json={"name": "shop", "roles": ["producer"]}, headers=HEADERS)
        rotated = await client.post("/tokens/shop/rotate", json={}, headers=HEADERS)
        secrets = [each.json()["token"] for each in (made, rotated)]
        await client.put("/topics/orders", json={"partitions": 1}, headers=HEADERS)
        for secret in (*secrets, PRODUCER):
            body = {"queue": "orders", "body": WHISPER, "key": WHISPER}
            assert (await client.post("/messages", json=body, headers=bearer(secret))).status_code == 201
            await client.put(f"/topics/{secret}", headers=bearer(secret))
            await client.delete(f"/tokens/{secret}", headers=HEADERS)
            await client.post("/tokens", json={"name": secret, "roles": ["x"]}, headers=HEADERS)
            await client.put("/topics/orders", headers={"Authorization": secret, "X-Request-Id": secret})
        signed = f"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqaW0ifQ.{WHISPER}"
        await client.put(f"/topics/{signed}", headers=HEADERS)
        await client.put(f"/topics/{signed}", headers=bearer(secrets[1]))
        await client.post("/groups/g/keys/skip", json={"topic": "orders", "key": WHISPER}, headers=HEADERS)
        await client.post(f"/messages?queue=orders&key={WHISPER}", content=WHISPER.encode())
        await client.patch("/topics/orders", json={"secret": WHISPER, "config": {}}, headers=HEADERS)
        texts = [json.dumps(await records_of(client))]
        for accept in ("application/json", "application/x-ndjson", "application/vnd.acklog.batches"):
            headers = {**bearer(AUDITOR), "Accept": accept}
            answer = await client.get("/topics/__audit/partitions/0/records", headers=headers)
            assert answer.status_code == 200
            texts.append(answer.content.decode("latin-1"))
        for text in texts:
            assert text.count("shop") >= 2
            for secret in (WHISPER, ADMIN, PRODUCER, *(each.rpartition("_")[2] for each in secrets)):
                assert secret not in text


async def test_what_a_call_does_not_take_is_not_there(serve: Any) -> None:
    """However deep, and by whatever name: somebody may put a password anywhere."""
    async with serve(audited_world()) as client:
        await client.put("/groups/g", headers=HEADERS)
        calls: list[tuple[str, str, object]] = [
            ("PATCH", "/groups/g", {"settings": {"password": WHISPER, "maxAttempts": {"body": WHISPER}}}),
            ("PUT", "/topics/orders", {"config": {WHISPER: 1}}),
            ("PUT", f"/topics/orders?{WHISPER}=1&name={WHISPER}&to={WHISPER}", {WHISPER: 1}),
            ("POST", "/tokens", {"name": "x", "rights": [{"allow": ["send"], "token": WHISPER}]}),
            ("POST", "/topics/orders/delete-before", {"partitions": {"body": WHISPER}, "time": WHISPER}),
        ]
        for method, path, body in calls:
            answer = await client.request(method, path, json=body, headers=HEADERS)
            assert answer.status_code == 400, answer.text
        query = f"?name={WHISPER}&to={WHISPER}&from={WHISPER}&offset={WHISPER}"
        await client.post(f"/messages{query}&queue=orders", content=b"1", headers=bearer(AUDITOR))
        found = await records_of(client)
        assert [each["operation"] for each in found[1:]] == [
            "updateGroup",
            "putTopic",
            "putTopic",
            "createToken",
            "deleteBefore",
            "sendMessages",
        ]
        assert WHISPER not in json.dumps(found)
        assert found[1]["asked"] == {"settings": {}}


async def test_long_texts_are_cut(serve: Any) -> None:
    async with serve(audited_world()) as client:
        rights = [{"allow": ["send"], "topics": [f"{number}-" + "x" * 200 for number in range(100)]}]
        made = await client.post("/tokens", json={"name": "wide", "rights": rights}, headers=HEADERS)
        assert made.status_code == 201
        record = await last_of(client)
        assert len(record["asked"]["rights"]) == 1_001
        assert len(record["changed"]["rights"][1]) == 1_001
        await client.put(f"/topics/{'x' * 5_000}", headers=HEADERS)
        assert len((await last_of(client))["names"]["topic"]) == 249


async def test_where_nobody_is_asked_for_a_token_nothing_is_recorded(serve: Any, world: MemoryWorld) -> None:
    async with serve(world) as client:
        await client.put("/topics/orders")
        assert world.metadata.topic("__audit") is None
        assert (await client.get("/audit")).json() == {"records": [], "next": 0, "atEnd": True}
        world.gateway.settings.adopt({"audit": "on"})
        await client.put("/topics/more")
        [record] = (await client.get("/audit")).json()["records"]
        assert record["principal"] == {"name": "anyone", "kind": "anyone"}
        world.gateway.settings.adopt({"audit": "off"})
        await client.put("/topics/evenmore")
        assert len((await client.get("/audit")).json()["records"]) == 1
