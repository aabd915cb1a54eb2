"""Receives by a `ReceiveRequestAttemptId` that are made again, on whole nodes and in virtual time."""

import asyncio
from collections.abc import Sequence

from app.sqs.messages.outgoing_message import OutgoingMessage
from app.sqs.messages.received_message import ReceivedMessage, ReceivedMessages, ReceiveOptions
from app.sqs.queue import Queue
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.sqs_queues import Patient, QueueUser, bodies

FIFO = "orders.fifo"


class GoneClient(Patient):
    is_gone = True


async def answer(user: QueueUser, queue: Queue, attempt_id: str, patience: Patient | None = None) -> ReceivedMessages:
    options = ReceiveOptions(count_max=10, attempt_id=attempt_id)
    return await user.messages.receive(queue, options, user.principal, patience or Patient())


def handles(messages: Sequence[ReceivedMessage]) -> list[str]:
    return [message.receipt_handle for message in messages]


async def sent(user: QueueUser, *groups: str, partitions: int = 1) -> Queue:
    queue = await user.queue(FIFO, partitions=partitions, ContentBasedDeduplication="true")
    texts = [OutgoingMessage(body=f"{group}{number}", group_id=group) for number, group in enumerate(groups)]
    await user.send_all(queue, *texts)
    return queue


def test_the_same_handles_by_any_partition_also_where_nobody_took_the_answer() -> None:
    """A request that is made again may come to another partition first."""

    async def main(cluster: Cluster) -> None:
        user = QueueUser(cluster)
        queue = await sent(user, *"abcdefghij", partitions=8)
        given: dict[str, list[str]] = {}
        for attempt_id in ("one", "two", "three"):
            received = await answer(user, queue, attempt_id)
            given[attempt_id] = handles(received.messages)
            await received.release()  # it could not be written
        assert len({handle for each in given.values() for handle in each}) == sum(map(len, given.values()))
        await cluster.clock.sleep(5_000)
        for attempt_id, before in given.items():
            assert before
            assert handles((await answer(user, queue, attempt_id)).messages) == before
        for before in given.values():
            assert await user.delete(queue, *before) == [None] * len(before)

    ClusterBuilder().nodes(3).gateway().run(main)


def test_a_client_that_is_gone_gets_the_same_again() -> None:
    async def main(cluster: Cluster) -> None:
        user = QueueUser(cluster)
        queue = await sent(user, "a")
        first = handles((await answer(user, queue, "one")).messages)
        assert (await answer(user, queue, "one", GoneClient())).messages == []
        assert await user.receive(queue) == []
        assert handles((await answer(user, queue, "one")).messages) == first

    ClusterBuilder().nodes(1).gateway().run(main)


def test_without_an_id_what_nobody_took_comes_back() -> None:
    async def main(cluster: Cluster) -> None:
        user = QueueUser(cluster)
        queue = await sent(user, "a")
        received = await user.messages.receive(queue, ReceiveOptions(), user.principal, Patient())
        await received.release()
        assert len(await user.receive(queue)) == 1

    ClusterBuilder().nodes(1).gateway().run(main)


def test_who_waits_by_an_id_gets_what_comes_and_the_same_again() -> None:
    async def main(cluster: Cluster) -> None:
        user = QueueUser(cluster)
        queue = await sent(user, partitions=8)
        waiting = asyncio.ensure_future(user.receive(queue, attempt_id="one", wait_seconds=20))
        await cluster.clock.sleep(3_000)
        await user.send(queue, "late", group_id="a")
        first = await waiting
        assert bodies(first) == ["late"]
        assert handles(await user.receive(queue, attempt_id="one", wait_seconds=20)) == handles(first)

    ClusterBuilder().nodes(3).gateway().run(main)


def test_a_failover_ends_a_repetition_and_loses_nothing() -> None:
    async def main(cluster: Cluster) -> None:
        user = QueueUser(cluster)
        queue = await sent(user, "a", "a")
        first = await user.receive(queue, attempt_id="one")
        assert len(first) == 2
        await cluster.in_sync(queue.topic)
        await cluster.stop(cluster.state(queue.topic).leader)
        again = await user.receive(queue, attempt_id="one", wait_seconds=20)
        assert bodies(again) == bodies(first)
        assert await user.delete(queue, *handles(again)) == [None, None]

    ClusterBuilder().nodes(3).gateway().run(main)
