"""A message group with a long backlog that nobody gets on with: it hides nobody else's messages."""

from acklog.wire.record import PlainRecord
from app.auth.principal import ANYONE
from app.calls.send import Produce
from app.sqs.queue import Queue
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.sqs_queues import QueueUser, bodies

BACKLOG = 200_000
AT_ONCE = 5_000
RECEIVES_MAX = 10


async def with_backlog(user: QueueUser, name: str) -> Queue:
    queue = await user.queue(name, ContentBasedDeduplication="true")
    for start in range(0, BACKLOG, AT_ONCE):
        messages: list[PlainRecord] = [(b"%d" % number, "busy") for number in range(start, start + AT_ONCE)]
        await user.services.send.send(Produce(name, list(messages), is_batch=True), ANYONE)
    await user.send(queue, "rare", group_id="rare")
    return queue


def test_in_order_others_go_on_while_a_group_is_held_up() -> None:
    async def main(cluster: Cluster) -> None:
        user = QueueUser(cluster)
        queue = await with_backlog(user, "orders.fifo")
        busy = await user.receive(queue)
        assert bodies(busy) == [str(number) for number in range(10)]
        begin_ms = cluster.clock.monotonic_ms()
        assert bodies(await user.receive(queue, wait_seconds=20)) == ["rare"]
        assert cluster.clock.monotonic_ms() - begin_ms < 5_000
        await user.delete(queue, *[each.receipt_handle for each in busy])
        assert bodies(await user.receive(queue, wait_seconds=20)) == [str(number) for number in range(10, 20)]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_without_an_order_others_have_their_share() -> None:
    async def main(cluster: Cluster) -> None:
        user = QueueUser(cluster)
        queue = await with_backlog(user, "orders")
        received: list[str] = []
        for _ in range(RECEIVES_MAX):
            received += bodies(await user.receive(queue))
        assert "rare" in received
        assert len(received) == 10 * RECEIVES_MAX

    ClusterBuilder().nodes(1).gateway().run(main)
