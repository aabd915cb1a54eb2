"""Creating, changing and settling through the client: what is refused is raised."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

import acklog
from acklog import AsyncClient, Sent, Settled
from acklog.client import catalog_calls
from acklog.client.call import Request, Response
from acklog.errors import InvalidArgument, Overloaded, ReceiptStale, SomeFailed, TopicExists
from tests.unit.sdk.fake_log import answer, problem

TOPIC = {
    "name": "t",
    "id": "x",
    "partitions": 3,
    "replicationFactor": 1,
    "createdAt": 1,
    "config": {
        "retention": "time",
        "retentionMs": 1,
        "retentionBytes": -1,
        "segmentBytes": 1,
        "dedupWindowMs": 1,
        "minInsyncReplicas": 1,
        "maxReplicaLagMs": 1,
    },
}
STALE = {"code": "RECEIPT_STALE", "detail": "stale", "retriable": False}
EXISTS = problem(409, "TOPIC_EXISTS", False, differing=["config.retentionMs"])


class Answers:
    """A transport that answers one after the other and keeps what was asked."""

    def __init__(self, *answers: Response) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.requests.append(request)
        return self.answers.pop(0)

    async def close(self) -> None:
        pass


def run(transport: Answers, program: Callable[[AsyncClient], Awaitable[object]]) -> list[tuple[str, str]]:
    async def main() -> None:
        async with AsyncClient("http://x", transport=transport) as client:
            await program(client)

    asyncio.run(main())
    assert transport.answers == []
    return [(request.method, request.target) for request in transport.requests]


def test_create_refuses_what_is_there_with_other_settings() -> None:
    async def program(client: AsyncClient) -> None:
        with pytest.raises(TopicExists) as caught:
            await client.topics.create("t", retention_ms=5)
        assert caught.value.differing == ["config.retentionMs"]

    assert run(Answers(EXISTS), program) == [("PUT", "/topics/t")]


def test_ensure_takes_what_is_there_as_it_is() -> None:
    async def program(client: AsyncClient) -> None:
        assert (await client.topics.ensure("t", retention_ms=5)).config.retention_ms == 1

    described = answer(200, {**TOPIC, "partitionStates": []})
    assert run(Answers(EXISTS, described), program) == [("PUT", "/topics/t"), ("GET", "/topics/t")]


def test_update_changes_and_says_what_may_be_lost() -> None:
    async def program(client: AsyncClient) -> None:
        await client.topics.update("t", retention_ms=5)
        await client.topics.update("t", retention_ms=5, allow_data_loss=True)

    transport = Answers(answer(200, TOPIC), answer(200, TOPIC))
    assert run(transport, program) == [("PATCH", "/topics/t"), ("PATCH", "/topics/t?allowDataLoss=true")]
    assert json.loads(transport.requests[0].body) == {"config": {"retentionMs": 5}}


@pytest.mark.parametrize(
    "settle",
    [
        lambda client, receipt: client.ack(receipt),
        lambda client, receipt: client.nack(receipt),
        lambda client, receipt: client.extend(receipt, visibility_s=5),
        lambda client, receipt: client.ack_message_id(receipt),
    ],
)
def test_of_one_the_error_is_raised_and_of_many_it_is_returned(
    settle: Callable[[AsyncClient, str | list[str]], Awaitable[list[Settled]]],
) -> None:
    async def program(client: AsyncClient) -> None:
        with pytest.raises(ReceiptStale):
            await settle(client, "r-1")
        [settled] = await settle(client, ["r-1"])
        assert isinstance(settled.error, ReceiptStale)
        with pytest.raises(ReceiptStale):
            acklog.raise_for_failures([settled])

    stale = problem(409, "RECEIPT_STALE", False, results=[STALE], failed=1)
    run(Answers(stale, stale), program)


def test_several_failures_are_raised_together() -> None:
    stale, busy = ReceiptStale("stale"), Overloaded("busy")
    acklog.raise_for_failures([Settled("r", "acknowledged"), Sent("m", 0, 0)])
    with pytest.raises(SomeFailed, match="2 failed; the first: RECEIPT_STALE: stale") as caught:
        acklog.raise_for_failures([Settled("r", None, stale), busy, Sent("m", 0, 0)])
    assert caught.value.failures == [stale, busy]


def test_deleting_messages_asks_for_what_it_says() -> None:
    item = {"partition": 0, "logStart": 3, "previous": 1, "deleted": 2, "groups": [{"group": "mail", "lost": 1}]}
    result = {"topic": "t", "dryRun": False, "deleted": 2, "partitions": [item], "failed": 0}
    transport = Answers(*[answer(200, result) for _ in range(3)])

    async def program(client: AsyncClient) -> None:
        purged = await client.topics.purge("t", [0])
        assert (purged.deleted, purged.partitions[0].groups[0].lost) == (2, 1)
        await client.topics.delete_before("t", offsets={0: 3}, dry_run=True)
        await client.topics.delete_before("t", time_ms=7)
        with pytest.raises(InvalidArgument):
            await client.topics.delete_before("t")

    calls = run(transport, program)
    assert calls == [("POST", "/topics/t/purge"), *[("POST", "/topics/t/delete-before")] * 2]
    assert [json.loads(request.body or b"") for request in transport.requests] == [
        {"partitions": [0], "dryRun": False},
        {"offsets": [{"partition": 0, "offset": 3}], "dryRun": True},
        {"time": 7, "dryRun": False},
    ]


def test_a_purge_whose_answer_is_lost_is_not_made_again_by_itself() -> None:
    """It would take what was sent since; to look again takes nothing."""
    assert not catalog_calls.purge("t", None, dry_run=False).is_repeatable
    assert catalog_calls.purge("t", None, dry_run=True).is_repeatable
