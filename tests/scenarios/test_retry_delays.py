"""How long a message that failed rests before it comes back, as a consumer sees it: groups of every mode, on one node
and on three, on virtual time."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx2
import pytest

from tests.support.cluster import Cluster, ClusterBuilder, client_of

LATE_MS = 100
"""So much later than due a message is with a consumer that waits for it, at most."""

SOONER_MS = 20
"""A delay begins before the answer that says so is here."""

MORE = {"maxAttempts": 20, "visibilityMs": 60_000}
every_mode = pytest.mark.parametrize("mode", ["shared", "keyOrdered", "exclusive"])
on_one_node_and_three = pytest.mark.parametrize("nodes", [1, 3])


class Failing:
    """A consumer of group `workers` that fails with all it gets."""

    def __init__(self, cluster: Cluster, client: httpx2.AsyncClient) -> None:
        self._clock = cluster.clock
        self._client = client

    async def begin(self, mode: str, settings: dict[str, Any], *, messages: int = 1) -> None:
        bodies = [{"body": number, "key": f"k{number}"} for number in range(messages)]
        for method, path, body in (
            ("PUT", "/topics/orders", {"partitions": 1}),
            ("PUT", "/groups/workers", {"mode": mode, "settings": MORE | settings}),
            ("POST", "/messages", {"queue": "orders", "messages": bodies}),
        ):
            answer = await self._client.request(method, path, json=body)
            assert answer.status_code < 300, answer.text

    async def receive(self) -> tuple[int, list[dict[str, Any]]]:
        """When something came, and what."""
        while True:
            answer = await self._client.get("/messages?queue=orders&group=workers&consumer=c&max=100&waitSeconds=10")
            assert answer.status_code == 200, answer.text
            if answer.json()["messages"]:
                return self._clock.monotonic_ms(), answer.json()["messages"]

    async def fail(self, messages: list[dict[str, Any]], **how: float) -> int:
        """When that was answered."""
        answer = await self._client.post("/nack", json={"receipts": [each["receipt"] for each in messages], **how})
        assert (answer.status_code, answer.json()["results"][0]["status"]) == (200, "returned"), answer.text
        return self._clock.monotonic_ms()

    async def acknowledge(self, messages: list[dict[str, Any]]) -> None:
        answer = await self._client.post("/ack", json={"receipts": [each["receipt"] for each in messages]})
        assert answer.json()["failed"] == 0, answer.text

    async def change(self, settings: dict[str, Any]) -> None:
        answer = await self._client.patch("/groups/workers", json={"settings": settings})
        assert answer.status_code == 200, answer.text
        await self._clock.sleep(500)  # until every node has heard of it

    async def fails_and_rests(self, delays_ms: Sequence[int]) -> None:
        """The one message comes back after so long each time it fails."""
        _, messages = await self.receive()
        for attempt, delay_ms in enumerate(delays_ms, start=1):
            failed_ms = await self.fail(messages)
            back_ms, messages = await self.receive()
            assert delay_ms <= back_ms - failed_ms + SOONER_MS <= delay_ms + LATE_MS, f"after attempt {attempt}"
            assert [each["attempt"] for each in messages] == [attempt + 1]


def with_failing(nodes: int, test: Callable[[Failing], Awaitable[None]]) -> None:
    async def main(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            await test(Failing(cluster, client))

    ClusterBuilder().nodes(nodes).gateway().run(main)


@on_one_node_and_three
@every_mode
@pytest.mark.parametrize(
    ("settings", "delays_ms"),
    [
        ({"retryDelaysMs": [0, 700, 2_500]}, [0, 700, 2_500, 2_500, 2_500]),
        ({"retryBackoffMinMs": 400, "retryBackoffMaxMs": 2_000}, [400, 800, 1_600, 2_000, 2_000]),
        ({"retryBackoffMinMs": 900, "retryBackoffMaxMs": 900}, [900, 900, 900]),
    ],
    ids=["a list, and its last from then on", "doubling, up to the longest", "fixed"],
)
def test_delays(nodes: int, mode: str, settings: dict[str, Any], delays_ms: list[int]) -> None:
    async def test(failing: Failing) -> None:
        await failing.begin(mode, settings | {"retryJitter": 0})
        await failing.fails_and_rests(delays_ms)

    with_failing(nodes, test)


@on_one_node_and_three
@every_mode
def test_who_fails_with_a_delay_of_his_own_and_what_is_changed_meanwhile(nodes: int, mode: str) -> None:
    async def test(failing: Failing) -> None:
        await failing.begin(mode, {"retryDelaysMs": [5_000, 600, 6_000], "retryJitter": 0})
        _, messages = await failing.receive()
        for how, changed, delay_ms in (
            ({"delaySeconds": 1.5}, {}, 1_500),
            ({}, {}, 600),  # it was the second failure all the same
            ({"delaySeconds": 0}, {}, 0),
            ({}, {"retryDelaysMs": [300]}, 300),
            ({}, {"retryDelaysMs": None, "retryBackoffMinMs": 800, "retryBackoffMaxMs": 1_100}, 1_100),
        ):
            if changed:
                await failing.change(changed)
            failed_ms = await failing.fail(messages, **how)
            back_ms, messages = await failing.receive()
            assert delay_ms <= back_ms - failed_ms + SOONER_MS <= delay_ms + LATE_MS, (how, changed)

    with_failing(nodes, test)


@on_one_node_and_three
@every_mode
def test_what_failed_together_comes_back_apart(nodes: int, mode: str) -> None:
    """By the jitter: each within the part of its delay that is left to chance."""

    async def test(failing: Failing) -> None:
        await failing.begin(mode, {"retryDelaysMs": [4_000], "retryJitter": 0.5}, messages=12)
        _, messages = await failing.receive()
        assert len(messages) == 12
        failed_ms = await failing.fail(messages)
        gaps_ms: list[int] = []
        while len(gaps_ms) < 12:
            back_ms, messages = await failing.receive()
            gaps_ms += [back_ms - failed_ms] * len(messages)
            await failing.acknowledge(messages)
        assert min(gaps_ms) >= 2_000 - SOONER_MS
        assert max(gaps_ms) <= 4_000 + LATE_MS
        assert max(gaps_ms) - min(gaps_ms) >= 1_000

    with_failing(nodes, test)
