"""Dead letters that are sent back, by the SDK against a real server that is killed meanwhile."""

from collections import Counter

import pytest

from acklog import AsyncClient, Client, OutgoingMessage
from acklog.errors import InvalidFilter, MissingField, RedriveNotFound, RedriveUnderWay
from acklog.redrives import RedriveJob
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

LETTERS = 60
HEADERS = {"acklog-dead-letter-topic": "orders", "acklog-dead-letter-group": "billing"}


def prepare(client: Client) -> None:
    client.topics.create("orders", 2)
    client.topics.create("orders.billing.dlq", 2)
    client.groups.create("billing")
    letters = [OutgoingMessage(number, headers=HEADERS, key=str(number % 7)) for number in range(LETTERS)]
    client.send_many("orders.billing.dlq", letters)


def count(client: Client, topic: str) -> Counter[int]:
    found: Counter[int] = Counter()
    for partition in range(2):
        offset = 0
        while page := client.records(topic, partition, offset=offset):
            found.update(message.body for message in page.messages)
            if page.next_offset == offset:
                break
            offset = page.next_offset
    return found


def test_a_job_outlives_kills_of_the_server(server: ServerProcess) -> None:
    with Client(server.base_url) as client:
        prepare(client)
        job = client.redrives.start("billing", rate_per_second=30)
        assert (job.state, job.total, job.rate_per_second) == ("running", LETTERS, 30)
        with pytest.raises(RedriveUnderWay):
            client.redrives.start("billing")
    for _ in range(3):
        with Client(server.base_url) as client:
            wait_for_more(client, job)
        server.kill()
        server.start()
    with Client(server.base_url) as client:
        wait_until(lambda: client.redrives.get("billing", job.job_id).is_finished, seconds=60, what="the job's end")
        found = client.redrives.get("billing", job.job_id)
        assert (found.state, found.moved, found.failed) == ("done", LETTERS, 0)
        assert count(client, "orders") == Counter(range(LETTERS))
        assert client.groups.offsets("billing", "orders.billing.dlq").lag == 0


def wait_for_more(client: Client, job: RedriveJob) -> None:
    before = client.redrives.get("billing", job.job_id).moved
    wait_until(
        lambda: client.redrives.get("billing", job.job_id).moved > before, seconds=30, what="more letters to move"
    )


async def test_what_is_asked_for_is_checked_and_listed(server: ServerProcess) -> None:
    with Client(server.base_url) as client:
        prepare(client)
    async with AsyncClient(server.base_url) as client_async:
        redrives = client_async.redrives
        with pytest.raises(InvalidFilter):
            await redrives.start("billing", filter="tag =")
        await client_async.groups.create("others")
        with pytest.raises(MissingField):
            await redrives.start("others")
        with pytest.raises(RedriveNotFound):
            await redrives.get("billing", "nothing")
        slow: RedriveJob = await redrives.start("billing", filter='key = "3"', rate_per_second=1)
        cancelled = await redrives.cancel("billing", slow.job_id)
        assert (cancelled.state, cancelled.filter) == ("cancelled", 'key = "3"')
        [listed] = await redrives.list("billing")
        assert (listed.job_id, listed.partitions) == (slow.job_id, [])
