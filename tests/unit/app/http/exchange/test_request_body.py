import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from acklog.wire.limits import (
    COMMIT_METADATA_BYTES_MAX,
    GZIP_MEMBERS_MAX,
    MEMBER_PATTERNS_MAX,
    MEMBER_TOPICS_MAX,
    MESSAGE_TEXT_BYTES_MAX,
    NAME_LENGTH_MAX,
    PARTITIONS_MAX,
    REQUEST_BODY_BYTES_MAX,
)
from app.calls.commits import COMMITS_MAX
from app.calls.records import EPOCH_MAX, OFFSET_MAX
from app.configuration.server_settings import Settings
from app.http.exchange.request_body import (
    ADMINISTRATION_BYTES_MAX,
    COMMIT_BYTES_MAX,
    JOIN_BYTES_MAX,
    SETTLEMENT_BYTES_MAX,
)
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

JSON = {"content-type": "application/json"}
GZIP = {**JSON, "content-encoding": "gzip"}
MESSAGE = b'{"queue":"orders","body":1}'


async def in_parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_declared_length_beyond_the_limit_is_refused_before_the_body(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    headers = {**JSON, "content-length": str(REQUEST_BODY_BYTES_MAX + 1)}
    response = await client.post("/messages", content=in_parts(b"x"), headers=headers)
    assert (response.status_code, response.json()["code"]) == (413, "REQUEST_TOO_LARGE")


async def test_a_streamed_body_is_counted(client: httpx2.AsyncClient) -> None:
    part = b" " * (1024 * 1024)
    fits = await client.post("/messages", content=in_parts(*[part] * 15, MESSAGE), headers=JSON)
    assert fits.status_code == 201
    response = await client.post("/messages", content=in_parts(*[part] * 16, MESSAGE), headers=JSON)
    assert (response.status_code, response.json()["code"]) == (413, "REQUEST_TOO_LARGE")


async def test_a_small_packed_body_that_unpacks_beyond_the_limit_is_refused(client: httpx2.AsyncClient) -> None:
    bomb = gzip.compress(b" " * (REQUEST_BODY_BYTES_MAX + 1), mtime=0)
    assert len(bomb) < 20_000
    response = await client.post("/messages", content=bomb, headers=GZIP)
    assert (response.status_code, response.json()["code"]) == (413, "REQUEST_TOO_LARGE")


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(MESSAGE, mtime=0)[:-3],
        MESSAGE,
        b"",
        gzip.compress(MESSAGE, mtime=0) + b"trailing garbage",
        zlib.compress(MESSAGE),
    ],
)
async def test_damaged_gzip(client: httpx2.AsyncClient, body: bytes) -> None:
    response = await client.post("/messages", content=body, headers=GZIP)
    assert (response.status_code, response.json()["code"]) == (400, "BODY_INCOMPLETE")


@pytest.mark.parametrize(("extra", "status"), [(0, 201), (1, 413)])
async def test_gzip_members_are_counted(client: httpx2.AsyncClient, extra: int, status: int) -> None:
    packed = gzip.compress(MESSAGE, mtime=0) + gzip.compress(b"", mtime=0) * (GZIP_MEMBERS_MAX - 1 + extra)
    response = await client.post("/messages", content=packed, headers=GZIP)
    assert response.status_code == status, response.text


async def test_a_message_has_a_limit_in_json_text(client: httpx2.AsyncClient) -> None:
    def padded(size_bytes: int) -> bytes:
        return b'{"body":1,"key":"k"' + b" " * (size_bytes - 20) + b"}"

    messages = [padded(MESSAGE_TEXT_BYTES_MAX), padded(MESSAGE_TEXT_BYTES_MAX + 1), b'{"body":2}']
    body = b'{"queue":"orders","messages":[' + b",".join(messages) + b"]}"
    response = await client.post("/messages", content=body, headers=JSON)
    assert [each.get("code") for each in response.json()["results"]] == [None, "MESSAGE_TOO_LARGE", None]


async def test_gzip_in_small_parts(client: httpx2.AsyncClient) -> None:
    packed = gzip.compress(MESSAGE, mtime=0)
    parts = [packed[at : at + 1] for at in range(len(packed))]
    response = await client.post("/messages", content=in_parts(*parts), headers=GZIP)
    assert response.status_code == 201


async def test_other_encodings_are_not_supported(client: httpx2.AsyncClient) -> None:
    response = await client.post("/messages", content=MESSAGE, headers={**JSON, "content-encoding": "br"})
    assert (response.status_code, response.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_body_that_does_not_arrive_in_time(serve: Any) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield MESSAGE[:5]
        await asyncio.Event().wait()

    async with serve(MemoryWorld(Settings(body_timeout_ms=10))) as client:
        response = await client.post("/messages", content=never(), headers=JSON)
        assert (response.status_code, response.json()["code"]) == (408, "REQUEST_TIMEOUT")


async def test_bodies_in_flight_are_bounded_and_given_back(serve: Any) -> None:
    world = MemoryWorld(Settings(request_bytes_in_flight_max=REQUEST_BODY_BYTES_MAX))
    blocked = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b" " * (9 * 1024 * 1024)
        await blocked.wait()
        yield MESSAGE

    async with serve(world) as client:
        first = asyncio.create_task(client.post("/messages", content=slow(), headers=JSON))
        await settle()
        large = in_parts(b" " * (8 * 1024 * 1024), MESSAGE)
        refused = await client.post("/messages", content=large, headers=JSON)
        assert (refused.status_code, refused.json()["code"]) == (429, "OVERLOADED")
        assert refused.headers["retry-after"] == "1"
        small = await client.post("/messages", content=MESSAGE, headers=JSON)
        assert small.status_code == 201
        blocked.set()
        assert (await first).status_code == 201
        assert "acklog_request_body_bytes 0.0" in (await client.get("/metrics")).text


async def test_a_client_that_goes_within_its_body(app: Any, world: MemoryWorld) -> None:
    sent: list[Any] = []
    parts = [
        {"type": "http.request", "body": MESSAGE[:5], "more_body": True},
        {"type": "http.disconnect"},
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/messages",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "http_version": "1.1",
        "root_path": "",
        "scheme": "http",
        "client": None,
        "server": None,
    }

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert json.loads(sent[1]["body"])["code"] == "BODY_INCOMPLETE"
    assert not world.node.calls("produce")


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/ack", SETTLEMENT_BYTES_MAX),
        ("/nack", SETTLEMENT_BYTES_MAX),
        ("/topics/a", ADMINISTRATION_BYTES_MAX),
        ("/groups/a", ADMINISTRATION_BYTES_MAX),
        ("/groups/a/offsets", COMMIT_BYTES_MAX),
        ("/groups/a/members/b", JOIN_BYTES_MAX),
    ],
)
async def test_other_calls_take_smaller_bodies(client: httpx2.AsyncClient, path: str, limit: int) -> None:
    method = "POST" if path in {"/ack", "/nack"} else "PUT"
    fits = await client.request(method, path, content=b" " * (limit - 2) + b"{}", headers=JSON)
    assert fits.status_code != 413
    response = await client.request(method, path, content=b" " * (limit - 1) + b"{}", headers=JSON)
    assert (response.status_code, response.json()["code"]) == (413, "REQUEST_TOO_LARGE")


async def test_the_largest_commit_and_the_largest_subscription_fit(client: httpx2.AsyncClient) -> None:
    topic = "t" * NAME_LENGTH_MAX
    position = {
        "topic": topic,
        "partition": PARTITIONS_MAX - 1,
        "offset": OFFSET_MAX,
        "leaderEpoch": EPOCH_MAX,
        "metadata": "m" * COMMIT_METADATA_BYTES_MAX,
        "expected": OFFSET_MAX,
    }
    escaped = {**position, "metadata": "ü" * (COMMIT_METADATA_BYTES_MAX // 2)}
    subscription = {"topics": [topic] * MEMBER_TOPICS_MAX, "patterns": [topic] * MEMBER_PATTERNS_MAX}
    bodies = [("/groups/a/members/b", subscription)]
    for each in (position, escaped):
        commit = {"offsets": [each] * COMMITS_MAX, "member": "m" * 128, "memberEpoch": 1}
        bodies.append(("/groups/a/offsets", commit))
    for path, body in bodies:
        answer = await client.put(path, content=json.dumps(body, ensure_ascii=True).encode(), headers=JSON)
        assert (answer.status_code, answer.json()["code"]) in {(404, "TOPIC_NOT_FOUND"), (404, "GROUP_NOT_FOUND")}


@pytest.mark.parametrize("element", [b"{}", b"0", b'{"body":[1,2,3],"x":","}', b"[[],[]]"])
async def test_too_many_messages_are_refused_before_they_are_made(client: httpx2.AsyncClient, element: bytes) -> None:
    body = b'{"queue":"q","messages":[' + b",".join([element] * 200_000) + b"]}"
    response = await client.post("/messages", content=body, headers=JSON)
    assert (response.status_code, response.json()["code"]) == (413, "TOO_MANY_MESSAGES")


async def test_many_commas_in_few_messages_are_fine(client: httpx2.AsyncClient) -> None:
    numbers = b"[" + b",".join([b"1"] * 200_000) + b"]"
    body = b'{"queue":"q","messages":[{"body":' + numbers + b'},{"body":"' + b"," * 200_000 + b'"}]}'
    response = await client.post("/messages", content=body, headers=JSON)
    assert response.status_code == 201


async def test_too_many_lines_are_refused_before_they_are_split(client: httpx2.AsyncClient) -> None:
    headers = {"content-type": "application/x-ndjson"}
    response = await client.post("/messages?queue=q", content=b"\n" * 20_001, headers=headers)
    assert response.json()["code"] == "TOO_MANY_MESSAGES"
