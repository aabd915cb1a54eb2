"""Redrive jobs over HTTP, on three nodes: what they send, what they leave, and what is refused."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.letters import LETTERS_TOPIC, LetterBox


def with_letters(main: Callable[[LetterBox, Cluster], Awaitable[None]], **options: Any) -> None:
    async def whole(cluster: Cluster) -> None:
        await cluster.until(lambda: len(cluster.gateways[0].metadata.nodes()) == 3)
        async with client_of(cluster.gateways[0]) as client:
            box = LetterBox(client, cluster.clock)
            await box.open(**options)
            await main(box, cluster)

    ClusterBuilder().nodes(3).gateway().run(whole)


def test_all_letters_go_back_to_where_they_came_from() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(*range(20), tags=["red"], key="k")
        await box.put(*range(20, 25), source="refunds")
        job = await box.start()
        assert (job["state"], job["topic"], job["total"]) == ("running", LETTERS_TOPIC, 25)
        found = await box.finished(job)
        assert (found["state"], found["moved"], found["failed"]) == ("done", 25, 0)
        assert await box.bodies("orders") == Counter(range(20))
        assert await box.bodies("refunds") == Counter(range(20, 25))
        [first, *_] = [each for each in await box.messages("orders") if each["body"] == 0]
        assert (first["tags"], first["key"]) == (["red"], "k")
        assert set(first["headers"]) == {"kept", "acklog-redrive"}
        assert await box.unhandled() == 0
        assert (await box.start())["state"] == "done"  # nothing is left
        assert len((await box.succeed("GET", "/groups/workers/redrive"))["jobs"]) == 2
        assert len(cluster.gateways[0].metadata.producers) == 0

    with_letters(main)


def test_where_letters_go_is_told_also_when_that_topic_is_gone() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(1)
        job = await box.finished(await box.start(to="refunds"))
        assert job["to"] == "refunds"
        assert (await box.client.delete("/topics/refunds")).status_code in {200, 204}
        await cluster.clock.sleep(1_000)
        [told] = (await box.client.get("/groups/workers/redrive")).json()["jobs"]
        assert (told["jobId"], told["to"]) == (job["jobId"], None)

    with_letters(main)


def test_some_letters_by_filter_and_by_id() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        ids = await box.put(*range(10))
        await box.put(*range(10, 20), tags=["red"])
        found = await box.finished(await box.start(filter='tag = "red" and header.kept = "yes"'))
        assert (found["moved"], found["total"]) == (10, 20)
        assert await box.bodies("orders") == Counter(range(10, 20))
        found = await box.finished(await box.start(messageIds=[ids[3], ids[7], ids[3]], to="refunds"))
        assert (found["moved"], found["total"], found["to"]) == (2, 2, "refunds")
        assert await box.bodies("refunds") == Counter([3, 7])
        assert await box.unhandled() == 8
        assert (await box.finished(await box.start(messageIds=[ids[3]])))["moved"] == 0  # it is handled

    with_letters(main)


def test_letters_before_the_first_that_is_chosen_stay() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        ids = await box.put(*range(6), partition=0)
        found = await box.finished(await box.start(messageIds=[ids[4]]))  # of a group that has read none so far
        assert (found["moved"], await box.bodies("orders")) == (1, Counter([4]))
        assert await box.unhandled() == 5
        assert (await box.finished(await box.start()))["moved"] == 5

    with_letters(main)


def test_what_nobody_knows_the_source_of_stays() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(1, source="nowhere")
        await box.put(2, source=LETTERS_TOPIC)
        await box.put(3, source="__groups")
        await box.put(4)
        found = await box.finished(await box.start())
        assert (found["moved"], found["failed"]) == (1, 3)
        assert await box.unhandled() == 3
        found = await box.finished(await box.start(to="refunds"))
        assert (found["moved"], found["failed"]) == (3, 0)
        assert await box.bodies("refunds") == Counter([1, 2, 3])

    with_letters(main)


def test_a_table_gets_no_letters_without_a_key() -> None:
    """It refuses messages without one: they would stay in it for good. The others of the same step go."""

    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(*range(3))
        await box.put(*range(3, 6), key="k")
        table = {"cleanupPolicy": "compact"}
        assert (await box.client.put("/topics/table", json={"config": table})).status_code == 201
        found = await box.finished(await box.start(to="table"))
        assert (found["moved"], found["failed"]) == (3, 3)
        assert await box.bodies("table") == Counter(range(3, 6))
        path = "/topics/orders?allowDataLoss=true"
        assert (await box.client.patch(path, json={"config": table})).status_code == 200
        found = await box.finished(await box.start())
        assert (found["moved"], found["failed"]) == (0, 3)
        assert await box.bodies("orders") == Counter()
        assert await box.unhandled() == 3

    with_letters(main)


def test_a_rate_holds_and_cancelling_ends_it() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(*range(200))
        began_ms = box.clock.monotonic_ms()
        job = await box.start(ratePerSecond=20)
        await box.clock.sleep(3_000)
        moved = (await box.job(job["jobId"]))["moved"]
        rate = moved * 1000 / (box.clock.monotonic_ms() - began_ms)
        assert 12 <= rate <= 20
        cancelled = await box.succeed("DELETE", f"/groups/workers/redrive/{job['jobId']}")
        assert cancelled["state"] == "cancelled"
        found = await box.finished(job)
        assert found["state"] == "cancelled"
        await box.clock.sleep(5_000)
        moved = (await box.job(job["jobId"]))["moved"]
        assert sum((await box.bodies("orders")).values()) == moved < 200
        assert await box.unhandled() == 200 - moved
        again = await box.succeed("DELETE", f"/groups/workers/redrive/{job['jobId']}")
        assert again["cancelledAt"] == cancelled["cancelledAt"]
        assert (await box.finished(await box.start()))["moved"] == 200 - moved
        assert await box.bodies("orders") == Counter(range(200))

    with_letters(main)


@pytest.mark.parametrize("mode", ["keyOrdered", "exclusive"])
def test_letters_of_groups_that_keep_an_order(mode: str) -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.succeed("PUT", "/groups/ordered", {"mode": mode})
        await box.put(*range(30), key="k")
        found = await box.finished(await box.start("ordered", topic=LETTERS_TOPIC))
        assert (found["moved"], await box.unhandled("ordered")) == (30, 0)
        assert [each["body"] for each in await box.messages("orders")] == list(range(30))

    with_letters(main)


def test_wrong_use_is_refused_and_begins_nothing() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        [letter] = await box.put(1)
        sent = await box.succeed("POST", "/messages", {"queue": "orders", "body": 0})

        async def refuse(document: dict[str, Any], code: str, field: str | None, group: str = "workers") -> None:
            problem = await box.refuse("POST", f"/groups/{group}/redrive", document)
            assert (problem["code"], problem.get("field")) == (code, field), problem

        await refuse({"ratePerSecond": 0}, "INVALID_FIELD", "ratePerSecond")
        await refuse({"ratePerSecond": 1_000_001}, "INVALID_FIELD", "ratePerSecond")
        await refuse({"messageIds": []}, "INVALID_FIELD", "messageIds")
        await refuse({"messageIds": [letter] * 1_001}, "INVALID_FIELD", "messageIds")
        await refuse({"messageIds": ["m-1"]}, "INVALID_MESSAGE_ID", "messageIds[0]")
        await refuse({"messageIds": [letter, sent["messageId"]]}, "MESSAGE_NOT_FOUND", "messageIds[1]")
        await refuse({"messageIds": [letter[: letter.rindex("-")] + "-77"]}, "MESSAGE_NOT_FOUND", "messageIds")
        await refuse({"messageIds": [letter], "filter": "exists(key)"}, "INVALID_FIELD", "messageIds")
        await refuse({"filter": "tag = "}, "INVALID_FILTER", "filter")
        await refuse({"to": LETTERS_TOPIC}, "INVALID_FIELD", "to")
        await refuse({"to": "nowhere"}, "TOPIC_NOT_FOUND", "to")
        await refuse({"topic": "nowhere"}, "TOPIC_NOT_FOUND", "topic")
        await refuse({"from": "nowhere"}, "UNKNOWN_FIELD", "from")
        await refuse({}, "GROUP_NOT_FOUND", "group", group="nobody")
        await box.succeed("PUT", "/groups/others", {})
        await refuse({}, "MISSING_FIELD", "topic", group="others")
        problem = await box.refuse("GET", "/groups/workers/redrive/nothing")
        assert (problem["code"], problem["status"]) == ("REDRIVE_NOT_FOUND", 404)
        assert (await box.refuse("DELETE", "/groups/workers/redrive/nothing"))["code"] == "REDRIVE_NOT_FOUND"
        assert (await box.succeed("GET", "/groups/workers/redrive"))["jobs"] == []
        assert await box.bodies("orders") == Counter([0])

    with_letters(main)


def test_one_job_of_a_group_and_a_topic_at_a_time() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        await box.put(*range(50))
        job = await box.start(ratePerSecond=5)
        problem = await box.refuse("POST", "/groups/workers/redrive", {})
        assert (problem["code"], problem["status"], problem["jobId"]) == ("REDRIVE_UNDER_WAY", 409, job["jobId"])
        await box.succeed("PUT", "/groups/others", {})
        other = await box.start("others", topic=LETTERS_TOPIC, to="refunds")
        assert (await box.finished(other))["moved"] == 50

    with_letters(main)
