"""Topics that keep the last message of each key, as the SDK asks about them."""

import json

import pytest

from acklog import AsyncClient
from acklog.client import table_calls
from acklog.errors import KeyNotFound, TopicNotCompacted
from tests.unit.sdk.fake_log import answer, problem
from tests.unit.sdk.test_catalog import Answers, run

REPLICA = {"node": 1, "state": "running", "cleanBytes": 10, "dirtyBytes": 5}
AWAY = {"node": 2, "problem": {"code": "UNAVAILABLE", "detail": "it is away", "retriable": True}}


def test_compacting_a_topic() -> None:
    state = {"topic": "t", "partitions": [{"partition": 0, "replicas": [REPLICA, AWAY]}], "failed": 1}
    idle = {**state, "partitions": [{"partition": 0, "replicas": [{**REPLICA, "state": "idle"}, AWAY]}]}
    transport = Answers(answer(202, state), answer(202, state), answer(200, idle))

    async def program(client: AsyncClient) -> None:
        asked = await client.tables.compact("t")
        assert (asked.failed, asked.is_over) == (1, False)
        [running, away] = asked.partitions[0].replicas
        assert (running.clean_bytes, running.dirty_bytes) == (10, 5)
        assert away.problem is not None
        assert away.problem.code == "UNAVAILABLE"
        await client.tables.compact("t", [3])
        assert (await client.tables.compaction("t")).is_over

    assert run(transport, program) == [
        ("POST", "/topics/t/compact"),
        ("POST", "/topics/t/compact"),
        ("GET", "/topics/t/compaction"),
    ]
    assert [json.loads(request.body or b"{}") for request in transport.requests] == [{}, {"partitions": [3]}, {}]
    assert table_calls.compact("t", None).is_repeatable, "who asks again asks for the same"


def test_the_latest_value_of_a_key() -> None:
    message = {"messageId": "m-1", "queue": "t", "partition": 0, "offset": 3, "key": "a/b", "body": {"n": 1}}
    stored = {**message, "timestamp": 1, "appendTime": 2}
    odd = ["a/b", "..", ".", "", "ä ?#%", "a.b"]
    transport = Answers(*[answer(200, stored) for _ in odd], problem(404, "KEY_NOT_FOUND", False))

    async def program(client: AsyncClient) -> None:
        for key in odd:
            found = await client.tables.get("t", key)
            assert (found.offset, found.body) == (3, {"n": 1})
        with pytest.raises(KeyNotFound):
            await client.tables.get("t", "none")

    assert [target for _, target in run(transport, program)] == [
        "/topics/t/keys/a%2Fb",
        "/topics/t/keys/%2E%2E",
        "/topics/t/keys/%2E",
        "/topics/t/keys/",
        "/topics/t/keys/%C3%A4%20%3F%23%25",
        "/topics/t/keys/a.b",
        "/topics/t/keys/none",
    ]


def test_a_topic_that_keeps_everything() -> None:
    async def program(client: AsyncClient) -> None:
        with pytest.raises(TopicNotCompacted):
            await client.tables.compact("t")

    run(Answers(problem(409, "TOPIC_NOT_COMPACTED", False)), program)
