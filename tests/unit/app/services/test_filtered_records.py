"""Reads of the log through a filter: what is given, and where to go on. Whole nodes on virtual time."""

from typing import Any

import httpx2
import pytest

from acklog.wire.log_page import MEDIA_TYPE, headers
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
RECORDS = "/topics/orders/partitions/0/records"


async def made(cluster: Cluster) -> httpx2.AsyncClient:
    """Five batches; the middle one has no red message."""
    await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes)))
    client = client_of(cluster.gateways[0])
    for tags in (["red", "blue"], ["red"], ["blue", "blue"], ["blue", "red", "red"], ["blue"]):
        messages = [{"body": tag, "tags": [tag]} for tag in tags]
        assert (await client.post("/messages", json={"queue": "orders", "messages": messages})).status_code == 201
    return client


async def read(client: httpx2.AsyncClient, **query: Any) -> tuple[list[int], int]:
    answer = await client.get(RECORDS, params=query)
    assert answer.status_code == 200, answer.text
    page = answer.json()
    return [record["offset"] for record in page["records"]], page["nextOffset"]


@pytest.mark.parametrize("nodes", NODES)
def test_what_matches_is_given_and_next_offset_is_behind_the_rest(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        assert await read(client, filter='tag = "red"') == ([0, 2, 6, 7], 9)
        assert await read(client, tags="red,x", offset=3) == ([6, 7], 9)
        assert await read(client, filter='tag = "red"', offset=8) == ([], 9)
        assert await read(client, filter='tag = "red"', until=7) == ([0, 2, 6], 7)
        assert await read(client, filter='tag = "red"', offset=9) == ([], 9)
        assert await read(client, filter='tag = "red"', maxBytes=1) == ([0], 2)

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_lines_and_raw_batches() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        query = "?tags=red"
        lines = await client.get(RECORDS + query, headers={"Accept": "application/x-ndjson"})
        assert len(lines.text.splitlines()) == 4
        raw = await client.get(RECORDS + query, headers={"Accept": MEDIA_TYPE})
        assert [header.base_offset for header in headers(raw.content)] == [0, 2, 5]

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_wrong_filter_is_refused() -> None:
    async def main(cluster: Cluster) -> None:
        client = await made(cluster)
        answer = await client.get(f"{RECORDS}?filter=tag%20=%20x")
        assert (answer.status_code, answer.json()["code"], answer.json()["position"]) == (400, "INVALID_FILTER", 6)

    ClusterBuilder().nodes(1).gateway().run(main)
