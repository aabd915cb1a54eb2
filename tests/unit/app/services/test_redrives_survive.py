"""Redrive jobs go on, and send no letter twice, whoever leads the letters, and whatever answers get lost."""

from collections import Counter
from collections.abc import Awaitable, Callable

from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.letters import LetterBox

LETTERS = 120


def with_letters(main: Callable[[LetterBox, Cluster], Awaitable[None]]) -> None:
    async def whole(cluster: Cluster) -> None:
        await cluster.until(lambda: len(cluster.gateways[0].metadata.nodes()) == 3)
        async with client_of(cluster.gateways[0]) as client:
            box = LetterBox(client, cluster.clock)
            await box.open()
            await box.put(*range(LETTERS))
            await main(box, cluster)
            assert await box.bodies("orders") == Counter(range(LETTERS))
            assert await box.unhandled() == 0

    ClusterBuilder().nodes(3).gateway().run(whole)


def test_nodes_that_stop_and_come_back() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        job = await box.start(ratePerSecond=20)
        for node_id in (1, 2, 3, 1):
            await cluster.clock.sleep(1_000)
            await cluster.stop(node_id)
            await cluster.clock.sleep(3_000)
            await cluster.start(node_id)
        found = await box.finished(job)
        assert (found["state"], found["moved"], found["failed"]) == ("done", LETTERS, 0)

    with_letters(main)


def test_all_nodes_at_once() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        job = await box.start(ratePerSecond=30)
        await cluster.clock.sleep(1_500)
        await cluster.stop(1, 2, 3)
        await cluster.start(1, 2, 3)
        assert (await box.finished(job))["moved"] == LETTERS

    with_letters(main)


def test_targets_grow_meanwhile() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        job = await box.start(ratePerSecond=20)
        for partitions in (4, 6):
            await cluster.clock.sleep(1_000)
            await box.succeed("PATCH", "/topics/orders", {"partitions": partitions})
            cluster.break_connections()
        assert (await box.finished(job))["moved"] == LETTERS

    with_letters(main)


def test_connections_that_break_again_and_again() -> None:
    async def main(box: LetterBox, cluster: Cluster) -> None:
        job = await box.start(ratePerSecond=30)
        for _ in range(40):
            await cluster.clock.sleep(130)
            cluster.break_connections()
        assert (await box.finished(job))["moved"] == LETTERS

    with_letters(main)
