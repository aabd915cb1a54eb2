"""Named producers on three nodes: leaders die, gateways and leaders hear late, and of two processes of one name only
the last sends (rules R3, R16, R19, R21)."""

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import ProduceRequest
from storage.rpc.producer_epoch import ProducerEpoch
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.lagging_store import LaggingStore

TRIES_MAX = 200
PARTITIONS = 3
Main = Callable[["Shop"], Coroutine[Any, Any, None]]


class Process:
    """A process that sends under a name, through one gateway."""

    def __init__(self, shop: "Shop", client: httpx2.AsyncClient, instance: str) -> None:
        self._shop = shop
        self._client = client
        self._instance = instance
        self._head: dict[str, str] = {}
        self.epoch = 0
        self.claim = ProducerEpoch("", 0)

    async def open(self) -> None:
        path = "/topics/orders/producers/billing-7"
        view = await self._shop.until_done(lambda: self._client.put(path, json={"instanceId": self._instance}))
        self.epoch = view["epoch"]
        self.claim = ProducerEpoch(view["producerId"], self.epoch)
        self._head = {"Producer-Id": view["producerId"], "Producer-Epoch": str(self.epoch)}

    async def try_send(self, number: int) -> httpx2.Response:
        return await self._client.post(
            "/messages",
            json={"queue": "orders", "body": f"{self._instance}-{number}", "partition": number % PARTITIONS},
            headers={**self._head, "Producer-Sequence": str(number)},
        )

    async def send(self, number: int) -> Any:
        return await self._shop.until_done(lambda: self.try_send(number))


class Shop:
    def __init__(self, cluster: Cluster, topic: Topic) -> None:
        self.cluster = cluster
        self.topic = topic

    async def until_done(self, call: Callable[[], Coroutine[Any, Any, httpx2.Response]]) -> Any:
        """The answer of a call that is made again while it fails for a passing reason."""
        for _ in range(TRIES_MAX):
            answer = await call()
            if answer.status_code < 300:
                return answer.json()
            assert answer.json()["retriable"], answer.text
            await self.cluster.clock.sleep(100)
        raise AssertionError("it was never done")

    async def fail_over(self, partition: int) -> None:
        leader = self.cluster.state(self.topic, partition).leader
        await self.cluster.stop(leader)
        await self.cluster.until(lambda: self.cluster.state(self.topic, partition).leader not in {leader, -1})
        await self.cluster.start(leader)
        await self.cluster.in_sync(self.topic)

    async def leaders_answer(self, partition: int, claim: ProducerEpoch) -> ProblemCode:
        """To a send that its own gateway does not bring to whoever leads by now."""
        request = ProduceRequest(self.topic.id, partition, encode_batch([Record(b"0")]), producer=claim)
        with pytest.raises(ServerError) as caught:
            await self.cluster.leader(self.topic, partition).produce(request)
        return caught.value.code

    async def stored(self) -> Counter[str]:
        found: Counter[str] = Counter()
        async with client_of(self.cluster.gateways[0]) as client:
            for partition in range(PARTITIONS):
                url = f"/topics/orders/partitions/{partition}/records?offset=0"
                page = await self.until_done(lambda: client.get(url))  # noqa: B023
                found.update(record["body"] for record in page["records"])
        return found


def run(main: Main) -> None:
    async def whole(cluster: Cluster) -> None:
        await main(Shop(cluster, await cluster.topic(partitions=PARTITIONS, min_insync_replicas=2)))

    ClusterBuilder().nodes(3).gateway(request_timeout_ms=5_000).run(whole)


def once(instance: str, numbers: range) -> Counter[str]:
    return Counter(f"{instance}-{number}" for number in numbers)


def test_every_send_is_stored_once_and_answered_alike_over_failovers() -> None:
    async def main(shop: Shop) -> None:
        async with client_of(shop.cluster.gateways[0]) as client:
            process = Process(shop, client, "a")
            await process.open()
            first = []
            for number in range(30):
                first.append(await process.send(number))
                if number % 10 == 9:
                    await shop.fail_over(number % PARTITIONS)
            assert [await process.send(number) for number in range(30)] == first
        assert await shop.stored() == once("a", range(30))

    run(main)


def test_who_was_replaced_sends_nothing_even_through_a_gateway_that_has_not_heard() -> None:
    async def main(shop: Shop) -> None:
        store = LaggingStore(shop.cluster.store)
        late = await shop.cluster.gateway(connection=store, request_timeout_ms=5_000)
        async with client_of(shop.cluster.gateways[0]) as client, client_of(late) as late_client:
            zombie, successor = Process(shop, late_client, "a"), Process(shop, client, "b")
            await zombie.open()
            for number in range(9):
                await zombie.send(number)
            store.news.shut()  # the gateway of the first goes on by what it knew
            await successor.open()
            assert (zombie.epoch, successor.epoch) == (1, 2)
            # In partitions where the successor has sent nothing yet, for what is stored and for what is not.
            for number in (0, 8, 9, 10, 11):
                answer = await zombie.try_send(number)
                assert (answer.status_code, answer.json()["code"]) == (409, "PRODUCER_FENCED"), answer.text
            for number in range(9):
                await successor.send(number)
            for partition in range(PARTITIONS):
                await shop.fail_over(partition)
                assert await shop.leaders_answer(partition, zombie.claim) is ProblemCode.PRODUCER_FENCED
            await successor.send(9)
        assert await shop.stored() == once("a", range(9)) + once("b", range(10))

    run(main)


def test_an_opening_waits_for_a_leader_that_has_not_heard() -> None:
    """It would take what is fenced. (Its partitions have another leader soon if it is gone.)"""

    async def main(shop: Shop) -> None:
        cluster = shop.cluster
        slow_node = cluster.state(shop.topic, 0).leader
        await cluster.stop(slow_node)
        await cluster.until(lambda: cluster.state(shop.topic, 0).leader not in {slow_node, -1})
        store = LaggingStore(cluster.store)
        await cluster.node(slow_node, connection=store)
        await cluster.in_sync(shop.topic)
        await cluster.until(lambda: any(cluster.state(shop.topic, n).leader == slow_node for n in range(PARTITIONS)))
        [partition, *_] = [n for n in range(PARTITIONS) if cluster.state(shop.topic, n).leader == slow_node]
        async with client_of(cluster.gateways[0]) as client:
            zombie, successor = Process(shop, client, "a"), Process(shop, client, "b")
            await zombie.open()
            await zombie.send(partition)
            store.news.shut()
            path = "/topics/orders/producers/billing-7"
            answer = await client.put(path, json={"instanceId": "b"})
            assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE"), answer.text
            store.news.open()
            await successor.open()
            assert successor.epoch == 2, "the same process took no other epoch"
            answer = await zombie.try_send(partition + PARTITIONS)
            assert answer.json()["code"] == "PRODUCER_FENCED"
            await successor.send(partition)
        assert await shop.stored() == Counter([f"a-{partition}", f"b-{partition}"])

    run(main)
