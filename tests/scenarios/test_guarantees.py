"""What docs/guarantees.md promises, counted: on three nodes whose leaders are killed on the way."""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import httpx2

from cluster.model.values import Topic
from tests.support.cluster import Cluster, ClusterBuilder, client_of

SENT = 60
TRIES_MAX = 200
Main = Callable[["Shop"], Coroutine[Any, Any, None]]


class Shop:
    """A topic on three nodes, and who sends to it and reads from it through one gateway."""

    def __init__(self, cluster: Cluster, client: httpx2.AsyncClient, topic: Topic) -> None:
        self.cluster = cluster
        self.client = client
        self.topic = topic

    async def until_done(self, method: str, url: str, json: Any = None) -> Any:
        """The answer of a call that is made again while it fails for a passing reason."""
        for _ in range(TRIES_MAX):
            answer = await self.client.request(method, url, json=json)
            if answer.status_code < 300:
                return answer.json()
            assert answer.json()["retriable"], answer.text
            await self.cluster.clock.sleep(100)
        raise AssertionError(f"{method} {url} was never done")

    async def send(self, number: int, **fields: Any) -> None:
        await self.until_done("POST", "/messages", {"queue": "orders", "body": number, **fields})

    async def fail_over(self, partition: int = 0) -> None:
        """The leader dies without a word, another one leads, and the first comes back."""
        leader = self.cluster.state(self.topic, partition).leader
        await self.cluster.stop(leader)
        await self.cluster.until(lambda: self.cluster.state(self.topic, partition).leader not in {leader, -1})
        await self.cluster.start(leader)
        await self.cluster.in_sync(self.topic)

    async def receive(self, query: str = "") -> list[dict[str, Any]]:
        answer = await self.client.get(f"/messages?queue=orders&group=workers&max=5{query}")
        return list(answer.json()["messages"]) if answer.status_code == 200 else []

    async def stored(self, partitions: int) -> Counter[int]:
        """The log, counted."""
        found: Counter[int] = Counter()
        for partition in range(partitions):
            offset = 0
            while True:
                url = f"/topics/orders/partitions/{partition}/records?offset={offset}"
                page = await self.until_done("GET", url)
                found.update(record["body"] for record in page["records"])
                if page["nextOffset"] == offset:
                    break
                offset = page["nextOffset"]
        return found

    async def lag(self) -> int:
        seen = await self.until_done("GET", "/groups/workers/offsets?topic=orders")
        assert all(each["problem"] is None for each in seen["offsets"])
        return int(seen["lag"])


def run(main: Main) -> None:
    async def whole(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            topic = await cluster.topic(min_insync_replicas=2)
            await cluster.group(visibility_ms=2_000, retry_backoff_min_ms=10, retry_backoff_max_ms=10, max_attempts=100)
            shop = Shop(cluster, client, topic)
            await shop.until_done("PUT", "/groups/workers/offsets", {"topic": "orders", "to": "earliest"})
            await main(shop)

    ClusterBuilder().nodes(3).gateway(request_timeout_ms=5_000).run(whole)


def test_at_most_once_none_is_handled_twice() -> None:
    async def main(shop: Shop) -> None:
        for number in range(SENT):
            await shop.send(number)
        handled: Counter[int] = Counter()
        rounds = 0
        while await shop.lag():
            rounds += 1
            if rounds % 4 == 0:
                await shop.fail_over()
            handled.update(message["body"] for message in await shop.receive("&autoAck=true"))
        assert rounds >= 8
        assert set(handled.values()) == {1}

    run(main)


def test_at_least_once_none_is_left_out() -> None:
    async def main(shop: Shop) -> None:
        chance = random.Random(4)
        for number in range(SENT):
            await shop.send(number)
        handled: Counter[int] = Counter()
        acknowledged: set[int] = set()
        rounds = 0
        while await shop.lag():
            rounds += 1
            if rounds % 5 == 0:
                await shop.fail_over()
            for message in await shop.receive("&waitSeconds=5"):
                assert message["body"] not in acknowledged, "what is acknowledged does not come again"
                handled[message["body"]] += 1
                if chance.random() < 0.6:  # else the worker dies with it
                    await shop.until_done("POST", "/ack", {"receipt": message["receipt"]})
                    acknowledged.add(message["body"])
        assert handled.keys() == set(range(SENT))
        assert handled.total() > SENT, "the deaths were for nothing"

    run(main)


def test_what_is_sent_again_under_its_name_is_stored_once() -> None:
    """Over failovers, a restart of every node, and a topic that grows between two tries."""

    async def main(shop: Shop) -> None:
        for number in range(SENT):
            await shop.send(number, dedupId=f"order-{number}", key=f"customer-{number % 7}")
            if number == SENT // 2:
                await shop.fail_over()
        await shop.until_done("PATCH", "/topics/orders", {"partitions": 3})
        await shop.cluster.until(lambda: len(shop.cluster.gateways[0].metadata.partitions(shop.topic.id)) == 3)
        for node in (1, 2, 3):
            await shop.cluster.stop(node)
            await shop.cluster.start(node)
            await shop.cluster.in_sync(shop.topic)
        for number in range(SENT):
            await shop.send(number, dedupId=f"order-{number}", key=f"customer-{number % 7}")
        assert await shop.stored(3) == Counter(range(SENT))

    run(main)


SCHEMA = """
CREATE TABLE totals (what TEXT PRIMARY KEY, sum INTEGER NOT NULL, count INTEGER NOT NULL);
CREATE TABLE positions (place INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL, epoch INTEGER);
INSERT INTO totals VALUES ('orders', 0, 0);
INSERT INTO positions VALUES (0, 0, NULL);
"""
ADVANCE = "UPDATE positions SET next_offset = ?, epoch = ? WHERE place = 0 AND next_offset = ?"


def apply(database: sqlite3.Connection, page: dict[str, Any]) -> bool:
    """The page's effect and the position behind it, together; False where another reader has been there."""
    with database:
        if database.execute(ADVANCE, [page["nextOffset"], page.get("epoch"), page["offset"]]).rowcount != 1:
            return False
        bodies = [record["body"] for record in page["records"]]
        database.execute("UPDATE totals SET sum = sum + ?, count = count + ?", [sum(bodies), len(bodies)])
        return True


def test_an_effect_with_its_position_in_one_transaction_happens_once() -> None:
    """The reader dies before its transaction, and between that and its commit to the group; a twin of it, which has
    slept, comes late with a page that is done; leaders die. The group shows how far it is, and decides nothing."""

    async def main(shop: Shop) -> None:
        for number in range(SENT):
            await shop.send(number)
        chance = random.Random(7)
        with closing(sqlite3.connect(":memory:")) as database:
            database.executescript(SCHEMA)
            late: list[dict[str, Any]] = []
            refused = 0
            for step in range(TRIES_MAX):
                [(offset, epoch)] = database.execute("SELECT next_offset, epoch FROM positions").fetchall()
                if offset == SENT and await shop.lag() == 0:
                    break
                if step % 6 == 5:
                    await shop.fail_over()
                since = "" if epoch is None else f"&epoch={epoch}"
                url = f"/topics/orders/partitions/0/records?offset={offset}{since}&maxBytes=1"
                page = await shop.until_done("GET", url)
                late.append(page)
                if chance.random() < 0.2:
                    continue  # it dies with what it has read
                assert apply(database, page) or page["nextOffset"] == offset
                if chance.random() < 0.5:
                    refused += not apply(database, chance.choice(late))
                if chance.random() < 0.7 or page["nextOffset"] == SENT:
                    position = {"topic": "orders", "partition": 0, "offset": page["nextOffset"]}
                    await shop.until_done("PUT", "/groups/workers/offsets", {"offsets": [position]})
            [(total, count)] = database.execute("SELECT sum, count FROM totals").fetchall()
            assert (total, count) == (sum(range(SENT)), SENT)
            assert refused > 5

    run(main)
