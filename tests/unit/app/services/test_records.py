import asyncio
import json

import httpx2
import pyarrow as pa
import pytest

from acklog.wire.batch import decode_records, encode_opaque_batch, stamp, verify
from acklog.wire.problems import ProblemCode
from app.http.answers import records as records_answer
from cluster.errors import ServerError
from cluster.model import keys
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.memory_node import APPEND_TIME_MS, LEADER_EPOCH

ARROW = "application/vnd.apache.arrow.stream"
PATH = "/topics/orders/partitions/0/records"


@pytest.fixture
async def filled(client: httpx2.AsyncClient, world: MemoryWorld) -> httpx2.AsyncClient:
    """A topic of one partition with two batches: offsets 0 to 2, and 3."""
    await world.topic(partitions=1)
    messages = [{"body": number, "key": "k", "headers": {"h": "v"}, "tags": ["t"]} for number in range(3)]
    await client.post("/messages", json={"queue": "orders", "messages": messages})
    await client.post("/messages?queue=orders", content=b"\x00", headers={"content-type": "image/png"})
    return client


async def test_json(filled: httpx2.AsyncClient) -> None:
    answer = (await filled.get(PATH)).json()
    assert [record["offset"] for record in answer["records"]] == [0, 1, 2, 3]
    assert (answer["offset"], answer["nextOffset"], answer["logStart"], answer["highWatermark"]) == (0, 4, 0, 4)
    assert answer["records"][3]["bodyBase64"] == "AA=="
    assert answer["records"][0]["messageId"].endswith("-0-3-0")
    assert "receipt" not in answer["records"][0]


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("offset=1", [1, 2, 3]),
        ("offset=earliest", [0, 1, 2, 3]),
        ("offset=latest", []),
        ("offset=4", []),
        ("time=0", [0, 1, 2, 3]),
        (f"time={APPEND_TIME_MS + 1}", []),
        ("offset=0&maxBytes=1", [0, 1, 2]),
    ],
)
async def test_where_reading_begins(filled: httpx2.AsyncClient, query: str, offsets: list[int]) -> None:
    answer = (await filled.get(f"{PATH}?{query}")).json()
    assert [record["offset"] for record in answer["records"]] == offsets


async def test_ndjson(filled: httpx2.AsyncClient) -> None:
    response = await filled.get(f"{PATH}?offset=2", headers={"accept": "application/x-ndjson"})
    assert [json.loads(line)["offset"] for line in response.text.splitlines()] == [2, 3]
    assert response.headers["x-acklog-next-offset"] == "4"
    assert response.headers["x-acklog-high-watermark"] == "4"


async def test_raw_batches_are_the_stored_bytes(filled: httpx2.AsyncClient, world: MemoryWorld) -> None:
    response = await filled.get(f"{PATH}?offset=2", headers={"accept": "application/vnd.acklog.batches"})
    topic = world.metadata.topics()[0]
    assert response.content == b"".join(world.node.log(topic.id, 0).batches)
    assert response.headers["x-acklog-offset"] == "2"
    header = verify(response.content)
    assert [record.body for record in decode_records(response.content, header)] == [b"0", b"1", b"2"]


async def test_arrow(filled: httpx2.AsyncClient) -> None:
    response = await filled.get(f"{PATH}?offset=2", headers={"accept": "application/vnd.apache.arrow.stream"})
    table = pa.ipc.open_stream(response.content).read_all()
    assert table.column_names == [
        "partition",
        "offset",
        "key",
        "value",
        "headers",
        "tags",
        "timestamp",
        "appendTime",
        "contentType",
        "expiresAt",
    ]
    assert table.column("offset").to_pylist() == [2, 3]
    assert table.column("value").to_pylist() == [b"2", b"\x00"]
    assert table.column("headers").to_pylist() == [[("h", "v")], None]
    assert table.column("tags").to_pylist() == [["t"], None]
    assert table.column("contentType").to_pylist() == [None, "image/png"]
    empty = await filled.get(f"{PATH}?offset=4", headers={"accept": "application/vnd.apache.arrow.stream"})
    assert pa.ipc.open_stream(empty.content).read_all().num_rows == 0


@pytest.mark.parametrize(("offset", "until"), [(0, 1), (0, 3), (1, 2), (2, 3), (2, 4), (0, 9), (3, 3), (3, 1)])
async def test_until_leaves_out_what_lies_behind(filled: httpx2.AsyncClient, offset: int, until: int) -> None:
    expected = [*range(offset, min(until, 4))]
    response = await filled.get(f"{PATH}?offset={offset}&until={until}")
    assert [record["offset"] for record in response.json()["records"]] == expected
    assert response.json()["nextOffset"] == max(offset, min(until, 4))
    arrow = await filled.get(f"{PATH}?offset={offset}&until={until}", headers={"accept": ARROW})
    assert pa.ipc.open_stream(arrow.content).read_all().column("offset").to_pylist() == expected
    assert arrow.headers["x-acklog-next-offset"] == str(max(offset, min(until, 4)))


async def test_the_topic_id_tells_a_topic_made_anew(filled: httpx2.AsyncClient, world: MemoryWorld) -> None:
    response = await filled.get(PATH, headers={"accept": ARROW})
    assert response.headers["x-acklog-topic-id"] == world.metadata.topics()[0].id


@pytest.mark.parametrize(
    ("path", "status", "code", "field"),
    [
        ("/topics/other/partitions/0/records", 404, "TOPIC_NOT_FOUND", "topic"),
        ("/topics/a%20b/partitions/0/records", 400, "INVALID_NAME", "topic"),
        ("/topics/orders/partitions/1/records", 404, "PARTITION_NOT_FOUND", "partition"),
        ("/topics/orders/partitions/x/records", 400, "INVALID_FIELD", "partition"),
        ("/topics/orders/partitions/-1/records", 400, "INVALID_FIELD", "partition"),
        (f"{PATH}?offset=-1", 400, "INVALID_FIELD", "offset"),
        (f"{PATH}?offset=first", 400, "INVALID_FIELD", "offset"),
        (f"{PATH}?offset=1&time=1", 400, "INVALID_FIELD", "time"),
        (f"{PATH}?offset=5", 416, "OFFSET_OUT_OF_RANGE", "offset"),
        (f"{PATH}?maxBytes=0", 400, "INVALID_FIELD", "maxBytes"),
        (f"{PATH}?until=x", 400, "INVALID_FIELD", "until"),
        (f"{PATH}?group=a", 400, "UNKNOWN_FIELD", "group"),
    ],
)
async def test_what_is_refused(filled: httpx2.AsyncClient, path: str, status: int, code: str, field: str) -> None:
    response = await filled.get(path)
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (status, code, field)


async def test_damaged_batches_are_not_served_as_records(filled: httpx2.AsyncClient, world: MemoryWorld) -> None:
    log = world.node.log(world.metadata.topics()[0].id, 0)
    damaged = bytearray(log.batches[0])
    damaged[-1] ^= 1
    log.batches[0] = bytes(damaged)
    response = await filled.get(PATH)
    assert (response.status_code, response.json()["code"]) == (503, "RECORDS_CORRUPT")


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson", ARROW])
async def test_a_batch_that_cannot_be_decoded_harms_itself_only(
    filled: httpx2.AsyncClient, world: MemoryWorld, accept: str
) -> None:
    await filled.post("/messages?queue=orders", content=b"2", headers={"content-type": "text/plain"})
    log = world.node.log(world.metadata.topics()[0].id, 0)
    undecodable = encode_opaque_batch(b"\xc1", count=1)
    stamp(undecodable, base_offset=3, leader_epoch=3, append_time_ms=APPEND_TIME_MS)
    log.batches[1] = bytes(undecodable)

    async def read(offset: int) -> httpx2.Response:
        return await filled.get(f"{PATH}?offset={offset}", headers={"accept": accept})

    def next_offset(response: httpx2.Response) -> int:
        if accept == "application/json":
            return int(response.json()["nextOffset"])
        return int(response.headers["x-acklog-next-offset"])

    assert next_offset(await read(0)) == 3
    refused = await read(3)
    assert (refused.status_code, refused.json()["code"]) == (503, "RECORDS_CORRUPT")
    assert refused.json()["next_offset"] == 4
    assert next_offset(await read(4)) == 5


async def test_a_wait_ends_with_the_shutdown(filled: httpx2.AsyncClient, world: MemoryWorld) -> None:
    answers = []

    async def never(request: object) -> None:
        answers.append(request)
        await asyncio.Event().wait()

    original = world.node.records
    world.node.records = never  # type: ignore[assignment,method-assign]
    waiting = asyncio.create_task(filled.get(f"{PATH}?offset=4&waitSeconds=20"))
    await settle()
    assert len(answers) == 1
    world.node.records = original  # type: ignore[method-assign]
    world.gateway.shutdown.begin()
    assert (await waiting).json()["records"] == []


async def test_an_answer_names_its_epoch_and_takes_it_back(filled: httpx2.AsyncClient, world: MemoryWorld) -> None:
    answer = (await filled.get(PATH)).json()
    assert answer["epoch"] == LEADER_EPOCH
    raw = await filled.get(f"{PATH}?offset=2&epoch={answer['epoch']}", headers={"accept": "application/x-ndjson"})
    assert raw.headers["x-acklog-epoch"] == str(LEADER_EPOCH)
    assert [request.leader_epoch for request in world.node.calls("records")] == [-1, LEADER_EPOCH]


@pytest.mark.parametrize("query", ["epoch=3", "offset=latest&epoch=3", "time=0&epoch=3", "offset=1&epoch=-1"])
async def test_an_epoch_goes_with_an_offset(filled: httpx2.AsyncClient, query: str) -> None:
    answer = await filled.get(f"{PATH}?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, "epoch")


async def test_a_high_watermark_that_was_shown_does_not_fall(filled: httpx2.AsyncClient, world: MemoryWorld) -> None:
    """As from a replica that is behind: what it has is given, and nothing is said of what it has not."""
    assert (await filled.get(PATH)).json()["highWatermark"] == 4
    log = world.node.log(next(iter(world.gateway.metadata.topics())).id, 0)
    log.batches.pop()
    log.records.pop()
    answer = (await filled.get(PATH)).json()
    assert (answer["nextOffset"], answer["highWatermark"]) == (3, 4)


async def test_a_server_without_the_extra_for_arrow_says_so(
    client: httpx2.AsyncClient, world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.topic(partitions=1)
    monkeypatch.setattr(records_answer, "has_arrow", lambda: False)
    refused = await client.get(PATH, headers={"Accept": ARROW})
    assert (refused.status_code, refused.json()["code"]) == (406, "NOT_ACCEPTABLE")
    assert "acklog-server[arrow]" in refused.json()["detail"]
    other = await client.get(PATH, headers={"Accept": f"{ARROW}, application/x-ndjson;q=0.5"})
    assert (other.status_code, other.headers["content-type"]) == (200, "application/x-ndjson")
    unknown = await client.get(PATH, headers={"Accept": "image/png"})
    assert "this call answers in application/json" in unknown.json()["detail"]


def behind() -> ServerError:
    """What a replica says to a reader of a later leader epoch."""
    return ServerError(ProblemCode.UNAVAILABLE, "this replica is of an earlier one", field="epoch")


@pytest.mark.parametrize("read_from", ["leader", "nearest"])
async def test_an_epoch_that_has_not_been_is_of_another_log(
    filled: httpx2.AsyncClient, world: MemoryWorld, read_from: str
) -> None:
    """Nobody waits for its leader: the coordination store knows every epoch before there is anything to read of it."""
    world.node.fail("records", *[behind() for _ in range(100)])
    async with asyncio.timeout(5):
        answer = await filled.get(f"{PATH}?offset=2&epoch={LEADER_EPOCH + 1}&readFrom={read_from}")
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (409, "LOG_DIVERGED", "epoch")  # R4
    assert (answer.json()["divergedAt"], answer.json()["leaderEpoch"]) == (0, LEADER_EPOCH)


async def test_an_epoch_that_only_the_store_knows_is_waited_for(filled: httpx2.AsyncClient, world: MemoryWorld) -> None:
    [topic] = world.metadata.topics()
    world.metadata.unheard_epochs[keys.partition(topic.id, 0)] = LEADER_EPOCH + 1
    world.node.fail("records", behind(), behind())
    answer = await filled.get(f"{PATH}?offset=2&epoch={LEADER_EPOCH + 1}")
    assert (answer.status_code, len(answer.json()["records"])) == (200, 2)
