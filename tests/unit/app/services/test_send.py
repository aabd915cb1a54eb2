import asyncio
import base64
import gzip
import json

import httpx2
import pytest

from acklog.wire.identifiers import parse_message_id
from acklog.wire.limits import DEDUP_KEY_BYTES_MAX, KEY_BYTES_MAX, MESSAGE_BODY_BYTES_MAX, REQUEST_MESSAGES_MAX
from acklog.wire.partitioner import partition_for_key
from acklog.wire.problems import ProblemCode
from app.http.parsing.send import IDEMPOTENCY_KEY_BYTES_MAX
from cluster.errors import ServerError
from tests.support.memory_gateway import MemoryWorld

NDJSON = {"content-type": "application/x-ndjson"}
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def send(client: httpx2.AsyncClient, **envelope: object) -> httpx2.Response:
    return await client.post("/messages", json=envelope)


async def test_one_message_gets_its_place(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    response = await send(client, queue="orders", body={"a": 1}, key="customer-7")
    assert response.status_code == 201
    assert response.text.endswith("\n")
    answer = response.json()
    place = parse_message_id(answer["messageId"])
    assert place is not None
    assert place.topic_id == topic.id
    assert (place.partition, place.offset) == (answer["partition"], answer["offset"])
    assert answer["partition"] == partition_for_key(b"customer-7", topic.partitions)
    [record] = world.node.stored(topic.id)
    assert (record.body, record.key, record.content_type) == (b'{"a":1}', "customer-7", None)


async def test_topic_is_another_word_for_queue(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    assert (await send(client, topic="orders", body=1)).status_code == 201
    both = await send(client, topic="orders", queue="orders", body=1)
    assert (both.json()["code"], both.json()["field"]) == ("INVALID_FIELD", "topic")


async def test_an_unknown_topic_is_created_and_the_answer_says_so(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    first = await send(client, queue="new", body=1)
    assert first.json()["topicCreated"] is True
    assert "topicCreated" not in (await send(client, queue="new", body=1)).json()
    batch = await send(client, queue="new2", messages=[{"body": 1}])
    assert batch.json()["topicCreated"] is True
    topic = world.metadata.topic("new")
    assert topic is not None
    assert topic.partitions == world.gateway.settings.partitions_default


async def test_a_batch_has_a_result_per_message_in_order(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    messages = [{"body": number, "key": f"k{number}"} for number in range(100)]
    response = await send(client, queue="orders", messages=messages)
    assert response.status_code == 201
    answer = response.json()
    assert answer["failed"] == 0
    for number, result in enumerate(answer["results"]):
        assert result["partition"] == partition_for_key(f"k{number}".encode(), topic.partitions)
        stored = world.node.log(topic.id, result["partition"]).records[result["offset"]]
        assert stored.body == str(number).encode()


async def test_one_bad_message_never_fails_its_neighbours(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    messages = [
        {"body": "first"},
        {"body": 1, "kay": 2},
        {"body": 1, "key": 7},
        {},
        "not an object",
        {"body": 1, "delaySeconds": -5},
        {"body": 1, "deliverAt": "soon"},
        {"body": 1, "partition": 8},
        {"body": 1, "partition": 2000},
        {"body": 1, "tags": ["ok", ""]},
        {"body": 1, "headers": {"a": 1}},
        {"body": 1, "timestamp": -1},
        {"body": 1, "timestamp": 1.5},
        {"body": 1, "bodyBase64": "AA=="},
        {"bodyBase64": "not base64!"},
        {"body": 1, "contentType": "text/plain"},
        {"body": 1, "dedupId": ""},
        {"body": 1, "key": "é" * KEY_BYTES_MAX},
        {"body": "last"},
    ]
    response = await send(client, queue="orders", messages=messages)
    assert response.status_code == 207
    answer = response.json()
    found = [(result["code"], result.get("field")) for result in answer["results"][1:-1]]
    assert found == [
        ("UNKNOWN_FIELD", "messages[1].kay"),
        ("INVALID_FIELD", "messages[2].key"),
        ("MISSING_FIELD", "messages[3].body"),
        ("INVALID_FIELD", "messages[4]"),
        ("INVALID_FIELD", "messages[5].delaySeconds"),
        ("INVALID_FIELD", "messages[6].deliverAt"),
        ("PARTITION_NOT_FOUND", "messages[7].partition"),
        ("INVALID_FIELD", "messages[8].partition"),
        ("INVALID_FIELD", "messages[9].tags[1]"),
        ("INVALID_FIELD", "messages[10].headers[...]"),
        ("INVALID_FIELD", "messages[11].timestamp"),
        ("INVALID_FIELD", "messages[12].timestamp"),
        ("INVALID_FIELD", "messages[13].bodyBase64"),
        ("INVALID_FIELD", "messages[14].bodyBase64"),
        ("INVALID_FIELD", "messages[15].contentType"),
        ("INVALID_FIELD", "messages[16].dedupId"),
        ("INVALID_FIELD", "messages[17].key"),
    ]
    assert answer["failed"] == len(messages) - 2
    assert [record.body for record in world.node.stored(topic.id)] == [b'"first"', b'"last"']


async def test_when_none_is_stored_the_status_is_the_first_faults(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await world.topic()
    response = await send(
        client, queue="orders", messages=[{"body": "x" * MESSAGE_BODY_BYTES_MAX}, {"body": 1, "a": 2}]
    )
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    answer = response.json()
    assert answer["code"] == "MESSAGE_TOO_LARGE"
    assert [item["code"] for item in answer["results"]] == ["MESSAGE_TOO_LARGE", "UNKNOWN_FIELD"]
    assert answer["failed"] == 2


async def test_message_fields_beside_messages_are_refused(client: httpx2.AsyncClient) -> None:
    response = await send(client, queue="orders", messages=[{"body": 1}], dedupId="x")
    assert (response.json()["code"], response.json()["field"]) == ("INVALID_FIELD", "dedupId")


@pytest.mark.parametrize(
    ("envelope", "code", "field"),
    [
        ({}, "MISSING_FIELD", "body"),
        ({"body": 1}, "MISSING_FIELD", "queue"),
        ({"queue": "orders"}, "MISSING_FIELD", "body"),
        ({"queue": "a b", "body": 1}, "INVALID_NAME", "queue"),
        ({"queue": "__offsets", "body": 1}, "INVALID_NAME", "queue"),
        ({"queue": 7, "body": 1}, "INVALID_FIELD", "queue"),
        ({"queue": "orders", "messages": []}, "INVALID_FIELD", "messages"),
        ({"queue": "orders", "messages": 1}, "INVALID_FIELD", "messages"),
        ({"queue": "orders", "body": 1, "acks": "some"}, "INVALID_FIELD", "acks"),
        ({"queue": "orders", "body": 1, "acks": "1"}, "INVALID_FIELD", "acks"),
        ({"queue": "orders", "body": 1, "acks": -1}, "INVALID_FIELD", "acks"),
        ({"queue": "orders", "body": 1, "acks": 2}, "INVALID_FIELD", "acks"),
        ({"queue": "orders", "body": 1, "partition": 10**30}, "INVALID_FIELD", "partition"),
        ({"queue": "orders", "body": 1, "partition": True}, "INVALID_FIELD", "partition"),
        ({"queue": "orders", "body": 1, "surprise": 1}, "UNKNOWN_FIELD", "surprise"),
    ],
)
async def test_a_wrong_envelope_is_named(
    client: httpx2.AsyncClient, world: MemoryWorld, envelope: dict[str, object], code: str, field: str
) -> None:
    await world.topic()
    response = await client.post("/messages", json=envelope)
    assert response.status_code == 400
    assert (response.json()["code"], response.json()["field"]) == (code, field)
    assert not world.node.calls("produce")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"queue":"orders","body":NaN}',
        b'{"queue":"orders","body":01}',
        b'{"queue":"orders","body":1}x',
        b'{"queue":"orders","body":"\xff"}',
        b'{"queue":"orders","body":"\xed\xa0\x80"}',
        b'\xef\xbb\xbf{"queue":"orders","body":1}',
    ],
)
async def test_what_is_not_json_is_refused(client: httpx2.AsyncClient, world: MemoryWorld, body: bytes) -> None:
    response = await client.post("/messages", content=body, headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (400, "INVALID_JSON")


@pytest.mark.parametrize("depth", [65, 5_000, 200_000])
async def test_deep_bodies_are_refused_however_deep(client: httpx2.AsyncClient, depth: int) -> None:
    body = b'{"queue":"orders","body":' + b"[" * depth + b"]" * depth + b"}"
    response = await client.post("/messages", content=body, headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (400, "INVALID_FIELD", "body")


async def test_a_body_of_the_deepest_allowed_kind_is_stored(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    deep = b"[" * 64 + b'"[[[["' + b"]" * 64
    body = b'{"queue":"orders","body":' + deep + b"}"
    response = await client.post("/messages", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 201
    assert world.node.stored(topic.id)[0].body == deep


async def test_the_largest_body_fits_and_one_more_byte_does_not(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    assert (await send(client, queue="orders", body="x" * (MESSAGE_BODY_BYTES_MAX - 2))).status_code == 201
    response = await send(client, queue="orders", body="x" * (MESSAGE_BODY_BYTES_MAX - 1))
    assert (response.status_code, response.json()["code"]) == (413, "MESSAGE_TOO_LARGE")


async def test_too_many_messages_append_nothing(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    fits = await send(client, queue="orders", messages=[{"body": 1}] * REQUEST_MESSAGES_MAX)
    assert fits.status_code == 201
    response = await send(client, queue="orders", messages=[{"body": 1}] * (REQUEST_MESSAGES_MAX + 1))
    assert (response.status_code, response.json()["code"]) == (413, "TOO_MANY_MESSAGES")
    assert len(world.node.stored(topic.id)) == REQUEST_MESSAGES_MAX


async def test_curls_form_type_is_read_as_json_without_a_queue_in_the_query(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic()
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert (await client.post("/messages", content=b'{"queue":"orders","body":1}', headers=form)).status_code == 201
    assert (await client.post("/messages?queue=orders&partition=0", content=b"a=1", headers=form)).status_code == 201
    assert {record.body for record in world.node.stored(topic.id)} == {b"1", b"a=1"}


async def test_ndjson_has_a_message_per_line(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    lines = (
        b'{"body": 1, "partition": 0}\r\n\n{"body":1},{"body":2}\n{"body":"\xff"}\n{"body": [\t2 ], "partition": 0}\n'
    )
    response = await client.post("/messages?queue=orders", content=lines, headers=NDJSON)
    assert response.status_code == 207
    results = response.json()["results"]
    assert [result.get("code") for result in results] == [None, "INVALID_JSON", "INVALID_JSON", None]
    assert results[1]["field"] == "messages[1]"
    assert [record.body for record in world.node.stored(topic.id)] == [b"1", b"[\t2 ]"]


async def test_ndjson_needs_a_queue_and_at_least_one_line(client: httpx2.AsyncClient) -> None:
    assert (await client.post("/messages", content=b'{"body":1}', headers=NDJSON)).json()["code"] == "MISSING_FIELD"
    empty = await client.post("/messages?queue=orders", content=b"\n\n", headers=NDJSON)
    assert empty.json()["code"] == "INVALID_FIELD"


async def test_raw_bytes_keep_their_content_type_and_take_their_fields_from_the_query(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic()
    response = await client.post(
        "/messages?queue=orders&key=a%20b&partition=3&tags=x&tags=y&timestamp=5&dedupId=d",
        content=b"\x00\xff\n",
        headers={"content-type": "image/png; q=1"},
    )
    assert response.status_code == 201
    assert response.json()["partition"] == 3
    [record] = world.node.stored(topic.id)
    assert (record.body, record.key, record.tags) == (b"\x00\xff\n", "a b", ["x", "y"])
    assert (record.timestamp_ms, record.content_type) == (5, "image/png; q=1")


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("queue=orders&partition=-1", "INVALID_FIELD", "partition"),
        ("queue=orders&partition=1.0", "INVALID_FIELD", "partition"),
        ("queue=orders&partition=1e2", "INVALID_FIELD", "partition"),
        ("queue=orders&partition=99999999999999999999", "INVALID_FIELD", "partition"),
        ("queue=orders&partition=%D9%A3", "INVALID_FIELD", "partition"),
        ("queue=orders&key=%FF", "INVALID_FIELD", "key"),
        ("queue=orders&queue=orders", "INVALID_FIELD", "queue"),
        ("queue=orders&kee=1", "UNKNOWN_FIELD", "kee"),
        ("queue=orders&delaySeconds=-1", "INVALID_FIELD", "delaySeconds"),
        ("queue=orders&deliverAt=soon", "INVALID_FIELD", "deliverAt"),
        ("queue=orders&acks=none", "INVALID_FIELD", "acks"),
        ("queue=orders&dedupId=" + "x" * (DEDUP_KEY_BYTES_MAX + 1), "INVALID_FIELD", "dedupId"),
        ("queue=orders&dedupId=%00", "INVALID_FIELD", "dedupId"),
        ("queue=orders&tags=" + "é" * 40, "INVALID_FIELD", "tags[0]"),
        ("key=a", "MISSING_FIELD", "queue"),
        ("&".join(["queue=orders"] * 101), "INVALID_FIELD", None),
    ],
)
async def test_a_wrong_query_is_named(client: httpx2.AsyncClient, query: str, code: str, field: str | None) -> None:
    response = await client.post(f"/messages?{query}", content=b"x", headers={"content-type": "text/plain"})
    assert response.status_code == 400
    assert (response.json()["code"], response.json().get("field")) == (code, field)


async def test_raw_parameters_do_not_go_with_json(client: httpx2.AsyncClient) -> None:
    response = await client.post("/messages?key=a", json={"queue": "orders", "body": 1})
    assert (response.json()["code"], response.json()["field"]) == ("INVALID_FIELD", "key")


async def test_the_query_may_name_the_queue_of_a_json_body_but_not_another_one(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await world.topic()
    assert (await client.post("/messages?queue=orders", json={"body": 1})).status_code == 201
    assert (await client.post("/messages?queue=orders", json={"queue": "orders", "body": 1})).status_code == 201
    assert (await client.post("/messages?queue=orders", json={"queue": "bills", "body": 1})).status_code == 400


async def test_a_raw_message_that_is_too_large(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    headers = {"content-type": "text/plain"}
    body = b"x" * (MESSAGE_BODY_BYTES_MAX + 1)
    response = await client.post("/messages?queue=orders", content=body, headers=headers)
    assert (response.status_code, response.json()["code"]) == (413, "MESSAGE_TOO_LARGE")
    assert (await client.post("/messages?queue=orders", content=body[1:], headers=headers)).status_code == 201


async def test_base64_bodies_are_stored_as_bytes(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    encoded = base64.b64encode(b"\x00\x01").decode()
    assert (await send(client, queue="orders", bodyBase64=encoded)).status_code == 201
    assert (await send(client, queue="orders", bodyBase64="", contentType="text/plain")).status_code == 201
    found = {(record.body, record.content_type) for record in world.node.stored(topic.id)}
    assert found == {(b"\x00\x01", "application/octet-stream"), (b"", "text/plain")}


async def test_gzip_bodies_are_unpacked(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    packed = gzip.compress(b'{"queue":"orders",') + gzip.compress(b'"body":1}')
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert (await client.post("/messages", content=packed, headers=headers)).status_code == 201
    assert len(world.node.stored(topic.id)) == 1


async def test_acks_0_is_accepted_only(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    response = await send(client, queue="orders", body=1, acks=0)
    assert response.status_code == 202
    assert response.json()["messageId"] is None
    batch = await send(client, queue="orders", messages=[{"body": 1}, {"body": 2}], acks=0)
    assert batch.status_code == 202
    assert [result["offset"] for result in batch.json()["results"]] == [None, None]
    assert [call.acks for call in world.node.calls("produce")] == [0, 0]


async def test_plain_messages_of_one_turn_share_a_batch(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    responses = await asyncio.gather(*[send(client, queue="orders", body=number, key="k") for number in range(50)])
    bodies = {}
    for number, response in enumerate(responses):
        bodies[response.json()["offset"]] = number
    records = world.node.stored(topic.id)
    assert [json.loads(record.body) for record in records] == [bodies[offset] for offset in range(50)]
    assert len(world.node.calls("produce")) < 50


async def test_a_failure_of_the_shared_batch_is_each_messages_failure(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await world.topic(partitions=1)
    world.node.fail("produce", *[ServerError(ProblemCode.STORAGE_FULL, "the disk is full", retry_after_ms=2500)] * 3)
    responses = await asyncio.gather(*[send(client, queue="orders", body=number) for number in range(3)])
    failed = [response for response in responses if response.status_code == 503]
    assert failed
    assert {response.json()["code"] for response in failed} == {"STORAGE_FULL"}
    assert {response.headers["retry-after"] for response in failed} == {"3"}


async def test_one_partitions_failure_leaves_the_others(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    world.node.fail("produce", ServerError(ProblemCode.OVERLOADED, "its inbox is full"))
    response = await send(
        client,
        queue="orders",
        messages=[{"body": 1, "partition": 0}, {"body": 2, "partition": 1}, {"body": 3, "partition": 0}],
    )
    assert response.status_code == 207
    assert [result.get("code") for result in response.json()["results"]] == ["OVERLOADED", None, "OVERLOADED"]


async def test_trace_headers_travel_with_messages_and_a_messages_own_win(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic()
    messages = [{"body": 1, "partition": 0}, {"body": 2, "partition": 0, "headers": {"traceparent": "own", "a": "b"}}]
    headers = {"traceparent": TRACEPARENT, "tracestate": "x=y"}
    await client.post("/messages", json={"queue": "orders", "messages": messages}, headers=headers)
    first, second = world.node.stored(topic.id)
    assert first.headers == headers
    assert second.headers == {"traceparent": "own", "a": "b"}, "a tracestate is that of its traceparent"


@pytest.mark.parametrize(
    ("headers", "stored"),
    [
        ([("traceparent", "garbage"), ("tracestate", "x=y")], None),
        ([("tracestate", "x=y")], None),
        ([("traceparent", TRACEPARENT), ("traceparent", TRACEPARENT.replace("1", "2"))], None),
        ([("traceparent", f" {TRACEPARENT}\t"), ("tracestate", "x=\u00e9")], {"traceparent": TRACEPARENT}),
        (
            [("traceparent", TRACEPARENT), ("tracestate", "x=y "), ("tracestate", "z=1")],
            {"traceparent": TRACEPARENT, "tracestate": "x=y,z=1"},
        ),
        ([("traceparent", f"cc-{TRACEPARENT[3:]}-{'m' * 456}")], {"traceparent": f"cc-{TRACEPARENT[3:]}-{'m' * 456}"}),
        ([("traceparent", f"cc-{TRACEPARENT[3:]}-{'m' * 457}")], None),
    ],
)
async def test_what_w3c_does_not_take_for_a_trace_is_none(
    client: httpx2.AsyncClient, world: MemoryWorld, headers: list[tuple[str, str]], stored: dict[str, str] | None
) -> None:
    topic = await world.topic()
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    await client.post("/messages", json={"queue": "orders", "body": 1}, headers=raw)
    [record] = world.node.stored(topic.id)
    assert record.headers == stored


async def test_a_retry_with_an_idempotency_key_gets_the_first_ids(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic()
    body = {"queue": "orders", "messages": [{"body": 1}, {"body": 2, "key": "k"}]}
    first = await client.post("/messages", json=body, headers={"Idempotency-Key": "k1", "traceparent": "a"})
    again = await client.post("/messages", json=body, headers={"Idempotency-Key": "k1", "traceparent": "b"})
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert len(world.node.stored(topic.id)) == 2


async def test_an_idempotency_key_with_another_body_is_422(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    headers = {"Idempotency-Key": "k1"}
    await client.post("/messages", json={"queue": "orders", "body": 1}, headers=headers)
    response = await client.post("/messages", json={"queue": "orders", "body": 2}, headers=headers)
    assert (response.status_code, response.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_batch_with_known_new_and_conflicting_keys(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=1)
    first = await send(client, queue="orders", messages=[{"body": 1, "dedupId": "a"}, {"body": 2, "dedupId": "b"}])
    response = await send(
        client,
        queue="orders",
        messages=[
            {"body": 9, "dedupId": "b"},
            {"body": 3, "dedupId": "c"},
            {"body": 1, "dedupId": "a"},
            {"body": 3, "dedupId": "c"},
            {"body": 4, "dedupId": "c"},
            {"body": 5},
        ],
    )
    assert response.status_code == 207
    conflict, new, known, twin, other, plain = response.json()["results"]
    assert conflict["code"] == other["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert known == first.json()["results"][0]
    assert twin == new
    assert (new["offset"], plain["offset"]) == (2, 3)
    assert [record.body for record in world.node.stored(topic.id)] == [b"1", b"2", b"3", b"5"]


async def test_others_that_keep_sending_the_same_keys_end_in_a_conflict(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=1)
    keys = [f"d{number}" for number in range(10)]
    rounds = iter(keys)

    def somebody_else_is_faster(_request: object) -> None:
        world.node.log(topic.id, 0).keys[next(rounds)] = (0, b"another!", 1)

    world.node.before_produce = somebody_else_is_faster
    response = await send(client, queue="orders", messages=[{"body": 1, "dedupId": key} for key in keys])
    codes = [result["code"] for result in response.json()["results"]]
    rounds_max = world.gateway.settings.send_rounds_max
    assert codes == ["IDEMPOTENCY_KEY_REUSED"] * rounds_max + ["CONFLICT"] * (10 - rounds_max)
    assert len(world.node.calls("produce")) == rounds_max


async def test_idempotency_keys_have_a_limit(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=1)
    for key, status in (
        ("x" * IDEMPOTENCY_KEY_BYTES_MAX, 201),
        ("x" * (IDEMPOTENCY_KEY_BYTES_MAX + 1), 400),
        ("", 400),
    ):
        response = await client.post(
            "/messages", json={"queue": "orders", "messages": [{"body": 1}] * 3}, headers={"Idempotency-Key": key}
        )
        assert response.status_code == status, response.text
    assert max(len(key.encode()) for key in world.node.log(topic.id, 0).keys) <= DEDUP_KEY_BYTES_MAX


async def test_an_unavailable_leader_is_asked_again(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic(partitions=1)
    world.node.fail("produce", ServerError(ProblemCode.UNAVAILABLE, "moved"), ServerError(ProblemCode.UNAVAILABLE, "x"))
    sending = asyncio.create_task(send(client, queue="orders", body=1))
    for _ in range(3):
        await world.clock.advance_ms(100)
    assert (await sending).status_code == 201


async def test_without_a_leader_a_send_ends_at_its_deadline(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=1)
    world.metadata.leaderless.add((topic.id, 0))
    sending = asyncio.create_task(send(client, queue="orders", body=1))
    await world.clock.advance_ms(world.gateway.settings.request_timeout_ms + 1)
    response = await sending
    assert (response.status_code, response.json()["code"]) == (503, "UNAVAILABLE")
    assert response.headers["retry-after"] == "1"


async def test_keyless_messages_pass_over_partitions_without_a_leader(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=4)
    world.metadata.leaderless.update((topic.id, number) for number in (0, 1, 3))
    for _ in range(5):
        assert (await send(client, queue="orders", body=1)).json()["partition"] == 2


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"body": 1, "partition": 8}, "PARTITION_NOT_FOUND"),
        ({"body": 1, "acks": 9}, "INVALID_FIELD"),
        ({"key": "a"}, "MISSING_FIELD"),
        ({"messages": [{"key": "a"}, {"body": 1, "partition": 8}]}, "MISSING_FIELD"),
        ({"messages": [{"body": 1}], "acks": 9}, "INVALID_FIELD"),
    ],
)
async def test_a_send_of_which_nothing_can_be_stored_makes_no_topic(
    client: httpx2.AsyncClient, world: MemoryWorld, body: dict[str, object], code: str
) -> None:
    refused = await client.post("/messages", json={"queue": "new", **body})
    assert (refused.status_code >= 400, refused.json()["code"]) == (True, code)
    assert world.metadata.topics() == []
    assert 'topic="new"' not in (await client.get("/metrics")).text


async def test_one_good_message_makes_the_topic(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    sent = await client.post(
        "/messages", json={"queue": "new", "messages": [{"key": "a"}, {"body": 1, "partition": 7}]}
    )
    assert (sent.status_code, sent.json()["failed"], sent.json()["topicCreated"]) == (207, 1, True)
