import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from tests.support.memory_gateway import MemoryWorld


async def test_put_creates_once_and_never_changes(client: httpx2.AsyncClient) -> None:
    created = await client.put("/groups/mail", json={"settings": {"maxAttempts": 3}})
    assert created.status_code == 201
    assert (created.json()["mode"], created.json()["settings"]["maxAttempts"]) == ("shared", 3)
    again = await client.put("/groups/mail", json={"mode": "shared", "settings": {"maxAttempts": 3}})
    assert (again.status_code, again.json()) == (200, created.json())
    other = {"settings": {"visibilityMs": 5, "maxAttempts": 3, "deadLetterTopic": "dead"}}
    refused = await client.put("/groups/mail", json=other)
    assert (refused.status_code, refused.json()["code"]) == (409, "GROUP_EXISTS")
    assert refused.json()["differing"] == ["settings.visibilityMs", "settings.deadLetterTopic"]
    assert 'settings.deadLetterTopic is null, not "dead"' in refused.json()["detail"]
    assert (await client.get("/groups/mail")).json() == created.json()


async def test_patch_changes_what_it_names(client: httpx2.AsyncClient) -> None:
    assert (await client.patch("/groups/mail", json={})).json()["code"] == "GROUP_NOT_FOUND"
    await client.put("/groups/mail", json={"settings": {"maxAttempts": 3}})
    changed = await client.patch("/groups/mail", json={"settings": {"visibilityMs": 5, "deadLetterTopic": "dead"}})
    assert (changed.status_code, changed.json()["settings"]["maxAttempts"]) == (200, 3)
    assert (changed.json()["settings"]["visibilityMs"], changed.json()["settings"]["deadLetterTopic"]) == (5, "dead")
    assert (await client.get("/groups/mail")).json() == changed.json()


async def test_null_takes_a_setting_back_to_its_default(client: httpx2.AsyncClient) -> None:
    default = (await client.put("/groups/mail")).json()
    settings = {"maxAttempts": 3, "visibilityMs": 5, "startPosition": "latest", "deadLetterTopic": "dead"}
    assert (await client.patch("/groups/mail", json={"settings": settings})).json() != default
    one = await client.patch("/groups/mail", json={"settings": {"deadLetterTopic": None}})
    assert one.json()["settings"] == default["settings"] | settings | {"deadLetterTopic": None}
    back = await client.patch("/groups/mail", json={"settings": dict.fromkeys(default["settings"])})
    assert (back.status_code, back.json()) == (200, default)
    assert (await client.patch("/groups/mail", json={"mode": None, "settings": None})).json() == default


async def test_dead_letters_do_not_go_to_a_topic_that_the_group_reads(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    """As far as it is known: nobody knows yet what a new group will read, nor one whose leaders say nothing."""
    target = {"settings": {"deadLetterTopic": "orders"}}
    assert (await client.put("/groups/new", json=target)).status_code == 201
    await client.post("/messages", json={"queue": "orders", "body": 1, "partition": 0})
    await client.get("/messages?queue=orders&group=mail")
    refused = await client.patch("/groups/mail", json=target)
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_FIELD")
    assert refused.json()["field"] == "settings.deadLetterTopic"
    assert "the group reads 'orders'" in refused.json()["detail"]
    assert (await client.get("/groups/mail")).json()["settings"]["deadLetterTopic"] is None
    world.node.fail("positions", ServerError(ProblemCode.STORAGE_FAILED, "broken"))
    assert (await client.patch("/groups/mail", json=target)).status_code == 200


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"mode": "other"}, "INVALID_FIELD", "mode"),
        ({"settings": {"maxAttempts": 0}}, "INVALID_FIELD", "settings.maxAttempts"),
        ({"settings": {"retryBackoffMinMs": 600_001}}, "INVALID_FIELD", "settings.retryBackoffMaxMs"),
        ({"settings": {"retryDelaysMs": []}}, "INVALID_FIELD", "settings.retryDelaysMs"),
        ({"settings": {"retryDelaysMs": [1] * 33}}, "INVALID_FIELD", "settings.retryDelaysMs"),
        ({"settings": {"retryDelaysMs": [1, -1]}}, "INVALID_FIELD", "settings.retryDelaysMs[1]"),
        ({"settings": {"retryDelaysMs": [43_200_001]}}, "INVALID_FIELD", "settings.retryDelaysMs[0]"),
        ({"settings": {"retryDelaysMs": 5}}, "INVALID_FIELD", "settings.retryDelaysMs"),
        ({"settings": {"retryJitter": 1.1}}, "INVALID_FIELD", "settings.retryJitter"),
        ({"settings": {"retryJitter": -0.1}}, "INVALID_FIELD", "settings.retryJitter"),
        ({"settings": {"deadLetterTopic": "a b"}}, "INVALID_NAME", "settings.deadLetterTopic"),
        ({"settings": {"maxAttempt": 1}}, "UNKNOWN_FIELD", "settings.maxAttempt"),
        ({"setting": {}}, "UNKNOWN_FIELD", "setting"),
    ],
)
async def test_a_wrong_body_is_named(client: httpx2.AsyncClient, body: object, code: str, field: str) -> None:
    response = await client.put("/groups/mail", json=body)
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (400, code, field)


async def test_delays_one_by_one_and_back_to_doubling(client: httpx2.AsyncClient) -> None:
    most = [0, 43_200_000] * 16
    made = await client.put("/groups/mail", json={"settings": {"retryDelaysMs": most, "retryJitter": 1}})
    assert made.status_code == 201
    settings = (await client.get("/groups/mail")).json()["settings"]
    assert (settings["retryDelaysMs"], settings["retryJitter"]) == (most, 1.0)
    refused = await client.patch("/groups/mail", json={"settings": {"retryDelaysMs": [1], "retryJitter": 2}})
    assert refused.status_code == 400
    assert (await client.get("/groups/mail")).json()["settings"] == settings
    again = await client.put("/groups/mail", json={"settings": {"retryDelaysMs": [1]}})
    assert (again.status_code, again.json()["code"]) == (409, "GROUP_EXISTS")
    changed = await client.patch("/groups/mail", json={"settings": {"retryDelaysMs": None, "retryJitter": None}})
    assert (changed.json()["settings"]["retryDelaysMs"], changed.json()["settings"]["retryJitter"]) == (None, 0.5)


async def test_an_error_says_what_would_be_right(client: httpx2.AsyncClient) -> None:
    bodies: list[object] = [
        {"maxAttempts": 5},
        {"mode": "sharde"},
        {"settings": {"startPosition": "middle"}},
        {"settings": {"maxAttempts": "5"}},
        {"settings": {"maxAttempts": 0}},
        {"settings": {"maxAttempts": 1.5}},
        [],
    ]
    details = [(await client.put("/groups/mail", json=body)).json()["detail"] for body in bodies]
    assert details == [
        "'maxAttempts' is not a known field here; known: mode, settings",
        "must be one of shared, keyOrdered, exclusive",
        "must be one of earliest, latest",
        "must be a whole number or null, not a string",
        "must be a whole number >= 1",
        "must be a whole number or null, not a fraction",
        "must be an object, not an array",
    ]


async def test_list_and_delete(client: httpx2.AsyncClient) -> None:
    for name in ("b", "a"):
        await client.put(f"/groups/{name}")
    page = (await client.get("/groups?limit=1")).json()
    assert ([group["name"] for group in page["groups"]], page["next"]) == (["a"], "a")
    assert (await client.delete("/groups/a")).status_code == 204
    assert (await client.delete("/groups/a")).json()["code"] == "GROUP_NOT_FOUND"
    assert (await client.get("/groups/a")).status_code == 404
    assert (await client.put("/groups/a%20b")).json()["code"] == "INVALID_NAME"


async def test_progress_and_lag(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic(partitions=2)
    messages = [{"body": number, "partition": 0} for number in range(5)]
    await client.post("/messages", json={"queue": "orders", "messages": messages})
    leased = (await client.get("/messages?queue=orders&max=3")).json()["messages"]
    await client.post("/ack", json={"receipts": [leased[0]["receipt"], leased[2]["receipt"]]})
    answer = (await client.get("/groups/default/offsets?topic=orders")).json()
    [progress] = answer["offsets"]
    assert (progress["topic"], progress["partition"], progress["progress"]) == ("orders", 0, 1)
    assert (progress["doneAbove"], progress["inFlight"], progress["highWatermark"]) == (1, 1, 5)
    assert progress["lag"] == answer["lag"] == 3
    assert (await client.get("/groups/default/offsets")).json() == answer
    assert (await client.get("/groups/other/offsets")).status_code == 404
    assert (await client.get("/groups/default/offsets?queue=none")).json()["code"] == "TOPIC_NOT_FOUND"


@pytest.mark.parametrize("method", ["PUT", "POST"])
async def test_seek(client: httpx2.AsyncClient, world: MemoryWorld, method: str) -> None:
    topic = await world.topic(partitions=2)
    messages = [{"body": number, "partition": number % 2} for number in range(6)]
    await client.post("/messages", json={"queue": "orders", "messages": messages})
    await client.put("/groups/mail")

    async def seek(**body: object) -> httpx2.Response:
        return await client.request(method, "/groups/mail/offsets", json={"topic": "orders", **body})

    dry = await seek(to="latest", dryRun=True)
    assert dry.json()["partitions"] == [{"partition": number, "offset": 3, "previous": 0} for number in range(2)]
    assert dry.json()["dryRun"] is True
    one = await seek(to={"offset": 2}, partition=1)
    assert one.json()["partitions"] == [{"partition": 1, "offset": 2, "previous": 0}]
    await seek(to={"time": 5})
    assert [(call.to, call.value, call.dry_run) for call in world.node.calls("seek")] == [
        ("latest", -1, True),
        ("latest", -1, True),
        ("offset", 2, False),
        ("time", 5, False),
        ("time", 5, False),
    ]
    beyond = await seek(to={"offset": 4}, partition=1)
    assert (beyond.status_code, beyond.json()["code"]) == (416, "OFFSET_OUT_OF_RANGE")
    world.node.fail("seek", ServerError(ProblemCode.STORAGE_FULL, "the disk is full"))
    part = await seek(to="earliest")
    assert (part.status_code, part.json()["failed"]) == (207, 1)
    assert part.json()["partitions"][0]["problem"]["code"] == "STORAGE_FULL"
    assert topic.partitions == 2


async def test_a_seek_that_may_have_been_done_somewhere_says_so(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic(partitions=2)
    await client.put("/groups/mail")
    world.node.fail("seek", ServerError(ProblemCode.STORAGE_FULL, "the disk is full"))
    world.node.fail("seek", ServerError(ProblemCode.OUTCOME_UNKNOWN, "no answer came"))
    answer = await client.put("/groups/mail/offsets", json={"topic": "orders", "to": "earliest"})
    assert (answer.status_code, answer.json()["failed"]) == (207, 2)
    codes = [item["problem"]["code"] for item in answer.json()["partitions"]]
    assert codes == ["STORAGE_FULL", "OUTCOME_UNKNOWN"]


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"to": "latest"}, "MISSING_FIELD", "topic"),
        ({"topic": "orders"}, "MISSING_FIELD", "to"),
        ({"topic": "orders", "to": "newest"}, "INVALID_FIELD", "to"),
        ({"topic": "orders", "to": 5}, "INVALID_FIELD", "to"),
        ({"topic": "orders", "to": {}}, "INVALID_FIELD", "to"),
        ({"topic": "orders", "to": {"offset": 1, "time": 1}}, "INVALID_FIELD", "to"),
        ({"topic": "orders", "to": {"offset": -1}}, "INVALID_FIELD", "to.offset"),
        ({"topic": "orders", "to": {"offset": 1}}, "MISSING_FIELD", "partition"),
        ({"topic": "orders", "to": "latest", "partition": 9}, "PARTITION_NOT_FOUND", "partition"),
        ({"topic": "bills", "to": "latest"}, "TOPIC_NOT_FOUND", "topic"),
    ],
)
async def test_a_wrong_seek_is_named(
    client: httpx2.AsyncClient, world: MemoryWorld, body: object, code: str, field: str
) -> None:
    await world.topic()
    await client.put("/groups/mail")
    response = await client.put("/groups/mail/offsets", json=body)
    assert (response.json()["code"], response.json()["field"]) == (code, field)
    assert not world.node.calls("seek")
