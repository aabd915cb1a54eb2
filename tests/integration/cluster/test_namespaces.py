"""Namespaces of a real cluster, whose catalogue is in etcd: two gateways keep to the limits of one together."""

import asyncio

import pytest

from acklog import AsyncClient
from acklog.errors import AcklogError, NamespaceFull
from tests.support.real_cluster import RealCluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

TOPICS_MAX = 4
TRIES = 6
"""Of each gateway."""


async def test_what_two_gateways_make_at_once_keeps_to_the_limit(shared_cluster: RealCluster) -> None:
    first, second = shared_cluster.gateway_urls
    async with AsyncClient(first) as one, AsyncClient(second) as two:
        await one.namespaces.create("crowd", topics_max=TOPICS_MAX)

        async def create(client: AsyncClient, name: str) -> str:
            """Conflicts with others are no answer yet."""
            while True:
                try:
                    return (await client.topics.create(name, partitions=1)).name
                except NamespaceFull:
                    return ""
                except AcklogError as error:
                    if not error.retriable:
                        raise

        names = [
            (client, f"crowd/{index}-{number}") for number in range(TRIES) for index, client in enumerate((one, two))
        ]
        made = [name for name in await asyncio.gather(*(create(*each) for each in names)) if name]
        assert len(made) == TOPICS_MAX
        assert [topic.name for topic in await two.topics.list() if topic.name.startswith("crowd/")] == sorted(made)
        assert (await two.namespaces.get("crowd")).topics == TOPICS_MAX
        await one.groups.create("crowd/default")
        sent = await one.send(made[0], {"n": 1})
        got = await two.receive(made[0], wait_s=20)
        assert [message.message_id for message in got.messages] == [sent.message_id]
        await two.ack([message.receipt for message in got.messages])
        await one.topics.delete(made[0])
        await two.topics.create("crowd/again", partitions=1)
