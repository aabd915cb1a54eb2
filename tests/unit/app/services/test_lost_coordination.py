"""What was known of exclusive groups is lost: their members take part again by themselves. Virtual time."""

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder
from tests.unit.app.services.test_exclusive_groups import PARTITIONS, made, owned, partitions_of, receive, send

NODES = [1, 3]
PASSER_BY = "/groups/workers/members/passer-by"


async def come_and_go(client: httpx2.AsyncClient) -> None:
    """So that the numbers of owners rise, and every partition's leader sees that."""
    for _ in range(4):
        assert (await client.put(PASSER_BY, json={"topics": ["orders"]})).status_code == 200
        assert (await client.delete(PASSER_BY)).status_code == 204
    await owned(client, ["ada"])


@pytest.mark.parametrize("nodes", NODES)
def test_members_join_again_and_are_served_though_the_leaders_have_seen_higher_numbers(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        await come_and_go(client)
        before = (await client.get("/groups/workers/members")).json()["groupEpoch"]

        assert (await client.delete("/topics/__groups")).status_code == 204
        await cluster.clock.sleep(3_000)
        await send(client, 2 * PARTITIONS)
        found = await owned(client, ["bob"])
        assert found["bob"] == set(range(PARTITIONS))
        after = (await client.get("/groups/workers/members")).json()
        assert [each["member"] for each in after["members"]] == ["bob"]
        assert after["groupEpoch"] > before

    ClusterBuilder().nodes(nodes).gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_what_the_owner_had_in_hand_is_not_given_to_another_one_meanwhile(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client, _ = await made(cluster)
        await come_and_go(client)
        await send(client, PARTITIONS)
        held = await receive(client, "ada", waitSeconds=5)
        had = partitions_of(held)
        assert had

        assert (await client.delete("/topics/__groups")).status_code == 204
        await cluster.clock.sleep(3_000)
        assert not partitions_of(await receive(client, "bob", waitSeconds=1)) & had
        acks = await client.post("/ack", json={"receipts": [each["receipt"] for each in held["messages"]]})
        assert all(each == {"status": "acknowledged"} for each in acks.json()["results"])

    ClusterBuilder().nodes(nodes).gateway().run(main)
