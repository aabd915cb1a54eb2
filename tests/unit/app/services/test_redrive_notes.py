"""What a runner makes of the notes of one before it, and of limits, tokens and topics that are gone."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.redrives import LetterRange, RedriveJob, RedrivePart, SendingLetters, TargetEnd
from cluster.ports.coordination import Put
from storage.node.partition.node_settings import NodeSettings
from storage.redrive.redrive_settings import RedriveSettings
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.letters import LETTERS_TOPIC, LetterBox
from tests.support.simulated_node import SMALL

JOB_ID = "0123456789abc"
TIGHT = RedriveSettings(
    letters_at_once=3,
    letter_bytes_at_once=1,
    targets_at_once=1,
    read_bytes_at_once=50,
    messages_looked_at_once=4,
    parts_at_once=1,
)


def with_letters(
    main: Callable[[LetterBox, Cluster], Awaitable[None]], settings: NodeSettings = SMALL, **options: Any
) -> None:
    async def whole(cluster: Cluster) -> None:
        await cluster.until(lambda: len(cluster.gateways[0].metadata.nodes()) == 3)
        async with client_of(cluster.gateways[0]) as client:
            box = LetterBox(client, cluster.clock)
            await box.open(**options)
            await main(box, cluster)

    ClusterBuilder().nodes(3).storing(settings).gateway().run(whole)


async def begun(box: LetterBox, cluster: Cluster, *, note: bool = True, **fields: Any) -> dict[str, Any]:
    """A job of which a runner noted that it is about to send letters 0 to 2, to topics that ended at 0, and died."""
    metadata = cluster.gateways[0].metadata
    letters, group, orders = (
        metadata.topic(LETTERS_TOPIC),
        metadata.group("workers"),
        metadata.topic("orders"),
    )
    assert letters is not None
    assert group is not None
    assert orders is not None
    job = RedriveJob(JOB_ID, group.id, letters.id, 0, (LetterRange(0, 0, 3, 3),), **fields)
    reach = tuple(TargetEnd(orders.id, number, 0) for number in range(orders.partitions))
    part = RedrivePart(0, sending=SendingLetters((0, 1, 2), 3, reach))
    operations = [Put(keys.redrive(group.id, JOB_ID), encode(job))]
    operations += [Put(keys.redrive_part(JOB_ID, 0), encode(part))] if note else []
    await cluster.store.transact([], operations)
    return {"jobId": JOB_ID, "group": "workers"}


def test_what_is_there_was_sent_and_the_rest_was_not() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(*range(5), partition=0)
        there = {"queue": "orders", "body": 1, "headers": {"acklog-redrive": f"{JOB_ID}-0-1"}}
        await box.succeed("POST", "/messages", there)
        others = {"queue": "orders", "body": 9, "headers": {"acklog-redrive": f"{JOB_ID}-1-0"}}
        await box.succeed("POST", "/messages", others)
        found = await box.finished(await begun(box, cluster))
        assert (found["moved"], found["failed"]) == (3, 0)
        assert await box.bodies("orders") == Counter([0, 1, 2, 9])
        assert await box.unhandled() == 2

    with_letters(main, partitions=1)


def test_where_a_part_is_gone_nobody_can_say() -> None:
    """Rule R42: left, rather than sent twice."""

    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(*range(3), partition=0)
        for partition in range(3):
            await box.succeed("POST", "/messages", {"queue": "orders", "body": 7, "partition": partition})
        await box.succeed("POST", "/topics/orders/purge", {"partitions": [1]})
        there = {"queue": "orders", "body": 1, "headers": {"acklog-redrive": f"{JOB_ID}-0-1"}, "partition": 0}
        await box.succeed("POST", "/messages", there)
        found = await box.finished(await begun(box, cluster))
        assert (found["moved"], found["failed"]) == (1, 2)
        assert (await box.bodies("orders"))[1] == 1
        assert await box.unhandled() == 2
        again = await box.finished(await box.start())
        assert (again["moved"], await box.unhandled()) == (2, 0)

    with_letters(main, partitions=1)


def test_letters_go_no_further_than_the_token_of_who_made_the_job() -> None:
    """Rule R39: anybody may have written where a letter came from."""

    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(0, 1, partition=0)
        await box.put(2, source="refunds", partition=0)
        found = await box.finished(await begun(box, cluster, note=False, targets=("ref*",)))
        assert (found["moved"], found["failed"]) == (1, 2)
        assert (await box.bodies("orders"), await box.bodies("refunds")) == (Counter(), Counter([2]))

    with_letters(main, partitions=1)


def test_every_limit_of_a_step_at_its_least() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        for number in range(0, 24, 2):
            await box.put(number)
            await box.put(number + 1, source="refunds", tags=["red"])
        found = await box.finished(await box.start(filter='tag = "red" or not exists(key)'))
        assert (found["moved"], found["failed"]) == (24, 0)
        assert await box.bodies("orders") == Counter(range(0, 24, 2))
        assert await box.bodies("refunds") == Counter(range(1, 24, 2))

    with_letters(main, replace(SMALL, redrive=TIGHT))


def test_a_topic_or_a_group_that_goes_takes_its_jobs_along() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(*range(100))
        job = await box.start(ratePerSecond=5)
        await box.clock.sleep(1_000)
        await box.succeed("DELETE", f"/topics/{LETTERS_TOPIC}")
        await cluster.until(lambda: all(not node.node.redrives.parts_running for node in cluster.nodes.values()))
        assert (await box.job(job["jobId"]))["state"] == "gone"
        await box.succeed("PUT", f"/topics/{LETTERS_TOPIC}", {})
        await box.put(*range(100, 200))
        job = await box.start(ratePerSecond=5)
        await box.succeed("DELETE", "/groups/workers")
        await cluster.until(lambda: all(not node.node.redrives.parts_running for node in cluster.nodes.values()))
        assert (await box.refuse("GET", f"/groups/workers/redrive/{job['jobId']}"))["code"] == "GROUP_NOT_FOUND"
        await box.succeed("PUT", "/groups/workers", {})
        assert (await box.finished(await box.start()))["moved"] == 100

    with_letters(main)


def test_letters_that_died_again_and_came_back_say_the_last_job() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        headers = {"acklog-dead-letter-topic": "orders", "acklog-redrive": "0-0-0", "mine": "1"}
        await box.succeed("POST", "/messages", {"queue": LETTERS_TOPIC, "body": 1, "headers": headers, "partition": 0})
        job = await box.finished(await box.start())
        [message] = await box.messages("orders")
        assert message["headers"] == {"mine": "1", "acklog-redrive": f"{job['jobId']}-0-0"}

    with_letters(main)
