"""A flood of one message group, and messages that nobody can work on: neither is in the way of others."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.sqs.queue_load import sqs_client
from tests.support.lasting_ports import lasting_ports
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.xdist_group("sqs_long_queues")]

FLOOD = 20_000
FLOOD_BATCH = 1_000
OTHERS = [f"group-{number}" for number in range(30)]
RECEIVES_MAX = 3
SECONDS = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("sqs")
    options = ("--port", str(lasting_ports(1)[0]))  # clients keep to the address
    with ServerProcess(directory / "data", directory / "server.log", options=options) as server:
        yield server


@pytest.fixture(scope="module")
def sqs(server: ServerProcess) -> Any:
    return sqs_client(server.base_url)


def receive(sqs: Any, url: str, *, count: int = 10, wait_s: int = 1) -> list[dict[str, Any]]:
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=count, WaitTimeSeconds=wait_s, AttributeNames=["All"]
    )
    return list(answer.get("Messages", []))


def flood(server: ServerProcess, queue: str) -> None:
    """By Acklog's own call, whose batches are not of ten."""
    for first in range(0, FLOOD, FLOOD_BATCH):
        messages = [{"key": "flood", "body": number} for number in range(first, first + FLOOD_BATCH)]
        answer = server.request("POST", "/messages", {"queue": queue, "messages": messages})
        assert answer.status == 201, answer.content


def test_a_flood_of_one_group_hides_no_other(server: ServerProcess, sqs: Any) -> None:
    """Neither while its first messages are with somebody, nor to a server that has just been killed."""
    url = sqs.create_queue(QueueName="flooded.fifo", Attributes={"FifoQueue": "true", "VisibilityTimeout": "600"})[
        "QueueUrl"
    ]
    flood(server, "flooded.fifo")
    for group in OTHERS:
        sqs.send_message(QueueUrl=url, MessageBody=group, MessageGroupId=group, MessageDeduplicationId=group)
    _others_come_behind_the_flood(sqs, url)
    server.kill()
    server.start()
    _others_come_behind_the_flood(sqs, url)


def _others_come_behind_the_flood(sqs: Any, url: str) -> None:
    """And the flood in its order, ten at a time, then nothing of it until those are deleted."""
    flooded = [message["Body"] for message in receive(sqs, url)]
    assert flooded == [str(number) for number in range(10)]
    others: list[str] = []
    for _ in range(len(OTHERS) // 10 + RECEIVES_MAX):
        others += [message["Body"] for message in receive(sqs, url, wait_s=5 if len(others) < len(OTHERS) else 0)]
    assert Counter(others) == Counter(OTHERS)


@pytest.mark.parametrize("suffix", ["", ".fifo"])
def test_dead_letters_exactly_after_as_many_receives_as_the_policy_says(
    server: ServerProcess, sqs: Any, suffix: str
) -> None:
    """By visibility timeouts and by messages that are given back; their group goes on, in its order."""
    fifo = {"FifoQueue": "true"} if suffix else {}
    dead = sqs.create_queue(QueueName=f"dead{suffix}", Attributes=fifo)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
    url = sqs.create_queue(
        QueueName=f"poisoned{suffix}", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "2", **fifo}
    )["QueueUrl"]
    bodies = ["poison-1", "fine-1", "poison-2", "fine-2"]
    sent = {}
    for body in bodies:
        order = {"MessageGroupId": "one", "MessageDeduplicationId": body} if suffix else {}
        sent[body] = sqs.send_message(QueueUrl=url, MessageBody=body, **order)["MessageId"]
    counts: dict[str, list[str]] = {body: [] for body in bodies}
    letters: list[str] = []

    def all_are_settled() -> bool:
        for message in receive(sqs, url, count=1):
            body = message["Body"]
            counts[body].append(message["Attributes"]["ApproximateReceiveCount"])
            if body.startswith("fine"):
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            elif body == "poison-2":
                sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
        for letter in receive(sqs, dead, wait_s=0):
            assert letter["MessageId"] == sent[letter["Body"]]
            letters.append(letter["Body"])
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=letter["ReceiptHandle"])
        return len(letters) == 2

    wait_until(all_are_settled, seconds=SECONDS, what="both dead letters")
    assert sorted(letters) == ["poison-1", "poison-2"]
    assert counts["poison-1"] == counts["poison-2"] == ["1", "2", "3"]
