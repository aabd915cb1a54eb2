"""What a gateway knows of a member that receives by it, and since when it is not so any more. Virtual time."""

import asyncio
import contextlib
from typing import Any

import httpx2
import pytest

from app.auth.principal import ANYONE
from app.calls.receive import ReceiveCommand
from app.services import watched_assignments
from app.services.membership import GroupMembership
from app.services.registry import Services
from app.services.watched_assignments import HEARD_MS_MAX, WATCH_MS_MAX
from cluster.catalog.group_admin import GroupAdmin
from cluster.model.values import GroupMode, GroupSettings
from tests.sim.environment import SimEntropy
from tests.support.cluster import Cluster, ClusterBuilder, client_of

NODES = [1, 3]
ON_ITS_WAY_MS = 50
"""From the coordinator to a gateway."""


class ForEver:
    """The caller waits for the answer."""

    is_gone = False

    async def wait(self, work: Any) -> Any:
        return await work


async def made(cluster: Cluster, *, session_timeout_ms: int = 6_000) -> list[httpx2.AsyncClient]:
    """A client of each gateway; a topic with messages, and the exclusive group "workers"."""
    await cluster.in_sync(await cluster.topic("orders", replicas=len(cluster.nodes)))
    groups = GroupAdmin(cluster.store, cluster.gateways[0].metadata, clock=cluster.clock, entropy=SimEntropy("group"))
    settings = GroupSettings(session_timeout_ms=session_timeout_ms)
    await groups.create("workers", mode=GroupMode.EXCLUSIVE, settings=settings)
    await cluster.until(lambda: all(each.metadata.group("workers") is not None for each in cluster.gateways))
    clients = [client_of(gateway) for gateway in cluster.gateways]
    for number in range(100):
        await clients[0].post("/messages", json={"queue": "orders", "body": number})
    return clients


async def join(client: httpx2.AsyncClient, member: str, **fields: Any) -> Any:
    answer = await client.put(f"/groups/workers/members/{member}", json={"topics": ["orders"], **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def receive(client: httpx2.AsyncClient, consumer: str, **query: Any) -> Any:
    """The answer, whatever it is; what it brings is done."""
    params = {"queue": "orders", "group": "workers", "consumer": consumer, "max": 1, **query}
    answer = (await client.get("/messages", params=params)).json()
    if answer.get("messages"):
        await client.post("/ack", json={"receipts": [each["receipt"] for each in answer["messages"]]})
    return answer


@pytest.mark.parametrize("nodes", NODES)
def test_who_has_left_by_another_gateway_gets_nothing_more(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        here, there = await made(cluster)
        epoch = (await join(here, "ada"))["memberEpoch"]
        for _ in range(3):
            assert (await receive(here, "ada", memberEpoch=epoch))["messages"]
        assert (await there.delete("/groups/workers/members/ada")).status_code == 204
        await cluster.clock.sleep(ON_ITS_WAY_MS)
        assert (await receive(here, "ada", memberEpoch=epoch))["code"] == "MEMBER_UNKNOWN"
        await cluster.clock.sleep(2 * WATCH_MS_MAX)
        assert (await here.get("/groups/workers/members")).json()["members"] == [], "nobody joins without asking"

    ClusterBuilder().nodes(nodes).gateway().gateway().run(main)


@pytest.mark.parametrize("nodes", NODES)
def test_whose_name_another_process_takes_gets_nothing_more(nodes: int) -> None:
    async def main(cluster: Cluster) -> None:
        here, there = await made(cluster)
        epoch = (await join(here, "ada", instanceId="a"))["memberEpoch"]
        assert (await receive(here, "ada", memberEpoch=epoch))["messages"]
        await join(there, "ada", instanceId="b")
        await cluster.clock.sleep(ON_ITS_WAY_MS)
        assert (await receive(here, "ada", memberEpoch=epoch))["code"] == "MEMBER_FENCED"

    ClusterBuilder().nodes(nodes).gateway().gateway().run(main)


def test_who_steps_out_is_not_kept_there_by_what_it_received_before() -> None:
    async def main(cluster: Cluster) -> None:
        here, there = await made(cluster)
        epoch = (await join(here, "ada", static=True, instanceId="a"))["memberEpoch"]
        for _ in range(3):
            assert (await receive(here, "ada", memberEpoch=epoch))["messages"]
        left = await there.delete("/groups/workers/members/ada?comesBack=true&instanceId=a")
        assert left.status_code == 204, left.text
        await cluster.clock.sleep(ON_ITS_WAY_MS)
        await join(there, "ada", static=True, instanceId="b")
        assert (await receive(here, "ada", memberEpoch=epoch))["code"] == "MEMBER_FENCED"

    ClusterBuilder().nodes(1).gateway().gateway().run(main)


def test_a_session_lasts_from_the_last_receive_on() -> None:
    async def main(cluster: Cluster) -> None:
        [client] = await made(cluster, session_timeout_ms=1_000)
        epoch = (await join(client, "ada"))["memberEpoch"]
        for pause_ms in (0, 900, 50, 950, 200, 950):
            await cluster.clock.sleep(pause_ms)
            assert (await receive(client, "ada", memberEpoch=epoch))["messages"], pause_ms
        await cluster.clock.sleep(1_000 + 250 + ON_ITS_WAY_MS)
        assert (await receive(client, "ada", memberEpoch=epoch))["code"] == "MEMBER_UNKNOWN"

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_busy_member_costs_two_heartbeats_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(cluster: Cluster) -> None:
        [client] = await made(cluster)
        beats: list[int] = []
        heartbeat = GroupMembership.heartbeat

        async def counted(*arguments: Any, **named: Any) -> Any:
            beats.append(cluster.clock.monotonic_ms())
            return await heartbeat(*arguments, **named)

        monkeypatch.setattr(GroupMembership, "heartbeat", counted)
        begun_ms = cluster.clock.monotonic_ms()
        for _ in range(60):
            assert (await receive(client, "ada"))["messages"]
            await cluster.clock.sleep(50)
        took_ms = cluster.clock.monotonic_ms() - begun_ms
        assert len(beats) <= 2 + took_ms // WATCH_MS_MAX

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_gateway_that_does_not_hear_the_coordinator_goes_by_what_it_knows_for_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(cluster: Cluster) -> None:
        [client] = await made(cluster)
        await receive(client, "ada")

        async def unheard(*_arguments: Any, **_named: Any) -> Any:
            await asyncio.get_running_loop().create_future()

        monkeypatch.setattr(GroupMembership, "heartbeat", unheard)
        begun_ms = answered_ms = cluster.clock.monotonic_ms()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(10):
                while (await receive(client, "ada"))["messages"]:
                    answered_ms = cluster.clock.monotonic_ms()
                    await cluster.clock.sleep(20)
        assert HEARD_MS_MAX <= answered_ms - begun_ms <= WATCH_MS_MAX + HEARD_MS_MAX

    ClusterBuilder().nodes(1).gateway().run(main)


def test_so_many_members_are_watched_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(cluster: Cluster) -> None:
        [client] = await made(cluster)
        services = Services(cluster.gateways[0].gateway)
        monkeypatch.setattr(watched_assignments, "MEMBERS_KNOWN_MAX", 2)
        for consumer in ("ada", "bob", "eve"):
            command = ReceiveCommand(("orders",), "workers", consumer, 10, 1_000_000, 0, None, False)
            await services.receive.receive(command, ANYONE, ForEver())
        watched = services.receive._exclusive._assignments._watches
        assert [name for _, name, _, _ in watched] == ["bob", "eve"]
        assert (await receive(client, "ada"))["memberEpoch"]
        await cluster.clock.sleep(4 * WATCH_MS_MAX)
        assert not watched, "who receives nothing more is not watched"

    ClusterBuilder().nodes(1).gateway().run(main)
