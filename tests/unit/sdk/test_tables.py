"""Topics that keep the last message of each key, as the SDK asks about them."""

import json

import pytest

from acklog import AsyncClient
from acklog.client import table_calls
from acklog.errors import TopicNotCompacted
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


def test_a_topic_that_keeps_everything() -> None:
    async def program(client: AsyncClient) -> None:
        with pytest.raises(TopicNotCompacted):
            await client.tables.compact("t")

    run(Answers(problem(409, "TOPIC_NOT_COMPACTED", False)), program)
