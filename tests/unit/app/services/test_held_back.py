"""`GET /messages/{messageId}` names the limit that keeps a message from going out. Whole nodes on virtual time."""

from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

TENANTS = ["a", "a", "a", "b", None, None]


class Sent:
    """A group with these settings, and messages of the tenants, whose keys are the same."""

    def __init__(self, client: httpx2.AsyncClient, ids: list[str]) -> None:
        self.client, self.ids = client, ids

    @classmethod
    async def to(cls, cluster: Cluster, mode: str, settings: dict[str, Any]) -> "Sent":
        await cluster.in_sync(await cluster.topic(replicas=len(cluster.nodes)))
        client = client_of(cluster.gateways[0])
        assert (await client.put("/groups/workers", json={"mode": mode, "settings": settings})).status_code == 201
        messages = [
            {"body": number, **({} if each is None else {"key": each, "headers": {"tenant": each}})}
            for number, each in enumerate(TENANTS)
        ]
        answer = await client.post("/messages", json={"queue": "orders", "messages": messages})
        return cls(client, [item["messageId"] for item in answer.json()["results"]])

    async def receive(self, count: int, **query: str) -> list[Any]:
        asked = {"queue": "orders", "group": "workers", "max": count, **query}
        return list((await self.client.get("/messages", params=asked)).json()["messages"])

    async def limits(self) -> list[str | None]:
        """Of each message that waits, in their order."""
        limits = []
        for message_id in self.ids:
            [group] = (await self.client.get(f"/messages/{message_id}")).json()["groups"]
            if group["state"] == "waiting":
                limits.append(group.get("limit"))
        return limits


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize(
    ("settings", "taken", "limits"),
    [
        ({}, 2, [None] * 4),
        ({"maxInFlight": 3}, 2, [None] * 4),
        ({"maxInFlight": 2}, 2, ["maxInFlight"] * 4),
        ({"maxInFlightPerKey": 1}, 1, ["maxInFlightPerKey"] * 2 + [None] * 3),
        ({"maxInFlightPerKey": 1}, 3, ["maxInFlightPerKey"] * 2 + [None]),
        ({"fairByHeader": "tenant", "maxInFlightPerHeader": 1}, 2, ["maxInFlightPerHeader"] * 2 + [None] * 2),
        ({"maxInFlightPerConsumer": 2}, 2, ["maxInFlightPerConsumer"] * 4),
        ({"maxInFlightPerConsumer": 3}, 2, [None] * 4),
    ],
)
def test_the_limit_is_named_of_what_it_keeps_back_and_of_nothing_else(
    nodes: int, settings: dict[str, Any], taken: int, limits: list[str | None]
) -> None:
    async def main(cluster: Cluster) -> None:
        sent = await Sent.to(cluster, "shared", settings)
        leased = await sent.receive(taken)
        assert len(leased) == taken
        assert await sent.limits() == limits
        await sent.client.post("/ack", json={"receipts": [each["receipt"] for each in leased]})
        assert set(await sent.limits()) == {None}, "there is room again"

    ClusterBuilder().nodes(nodes).gateway().run(main)


def test_a_consumer_with_room_is_room_for_the_group() -> None:
    async def main(cluster: Cluster) -> None:
        sent = await Sent.to(cluster, "keyOrdered", {"maxInFlightPerConsumer": 1})
        await sent.receive(1, consumer="full")
        assert await sent.limits() == ["maxInFlightPerConsumer"] * 5
        [other] = await sent.receive(1, consumer="other")
        await sent.client.post("/ack", json={"receipt": other["receipt"]})
        assert set(await sent.limits()) == {None}

    ClusterBuilder().nodes(1).gateway().run(main)


def test_an_exclusive_group_has_its_limit_too() -> None:
    async def main(cluster: Cluster) -> None:
        sent = await Sent.to(cluster, "exclusive", {"maxInFlight": 2})
        assert len(await sent.receive(6, consumer="c", waitSeconds="10")) == 2
        assert await sent.limits() == ["maxInFlight"] * 4

    ClusterBuilder().nodes(1).gateway().run(main)
