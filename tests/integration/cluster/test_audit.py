"""The audit log while its leader is killed, again and again: each act that was answered is there, and none twice."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.internal_topics import AUDIT_TOPIC
from cluster.model.values import PartitionState, Topic
from tests.support.etcd_store import etcd_store
from tests.support.real_cluster import RealCluster, RealClusterOptions, running_real_cluster
from tests.support.waiting import poll_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.faults,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

KILLS = 3
MORE_ACTS = 5
PATIENCE_S = 60


class Acts:
    """One administrator at each gateway, who does one thing after the other. `answered` are those that were done, by
    their request ids; `refused` those that were not, as they could not be recorded."""

    def __init__(self, cluster: RealCluster, session: aiohttp.ClientSession) -> None:
        self._urls = cluster.gateway_urls
        self._session = session
        self.answered: list[str] = []
        self.refused: list[str] = []

    async def go_on(self, number: int) -> None:
        serial = 0
        while True:
            serial += 1
            name = f"{number}-{serial}"
            body = {"config": {"ttlMs": 10_000_000 - serial}}
            url = f"{self._urls[number]}/topics/orders?allowDataLoss=true"
            async with self._session.patch(url, json=body, headers={"X-Request-Id": name}) as answer:
                found = await answer.json()
                if answer.status == 200:
                    self.answered.append(name)
                else:
                    assert found["code"] in {"AUDIT_UNAVAILABLE", "CONFLICT", "UNAVAILABLE", "OUTCOME_UNKNOWN"}, found
                    self.refused.append(name)

    async def more(self) -> None:
        """Until some more are done."""
        goal = len(self.answered) + MORE_ACTS

        async def are_done() -> bool:
            return len(self.answered) >= goal

        await poll_until(are_done, seconds=PATIENCE_S, what="acts go on")


async def records_of(session: aiohttp.ClientSession, url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = 0
    while True:
        async with session.get(f"{url}/audit?max=1000&after={after}") as answer:
            assert answer.status == 200, await answer.text()
            page = await answer.json()
        found += page["records"]
        after = page["next"]
        if page["atEnd"]:
            return found


async def leader_of(store: Any) -> int:
    topic = decode(Topic, (await store.get(keys.topic(AUDIT_TOPIC))).value)
    state = decode(PartitionState, (await store.get(keys.partition(topic.id, 0))).value)
    return int(state.leader)


@pytest.mark.parametrize("mode", ["on", "required"])
async def test_leaders_of_the_audit_log_are_killed(tmp_path: Path, etcd_program: Path, mode: str) -> None:
    options = RealClusterOptions(gateway_environment={"ACKLOG_AUDIT": mode, "ACKLOG_AUDIT_TIMEOUT_MS": "20000"})
    async with running_real_cluster(tmp_path, etcd_program, options) as cluster, aiohttp.ClientSession() as session:
        async with session.put(f"{cluster.gateway_urls[0]}/topics/orders", json={"partitions": 1}) as answer:
            assert answer.status == 201
        store = etcd_store(*cluster.etcd.endpoints)
        acts = Acts(cluster, session)
        workers = [asyncio.create_task(acts.go_on(number)) for number in range(len(cluster.gateway_urls))]
        try:
            for _ in range(KILLS):
                await acts.more()
                victim = await leader_of(store)
                await cluster.nodes[victim].kill()
                await acts.more()
                await cluster.nodes[victim].start()
                await acts.more()
        finally:
            for worker in workers:
                worker.cancel()
            ended = await asyncio.gather(*workers, return_exceptions=True)
            await store.close()
        assert all(isinstance(each, asyncio.CancelledError) for each in ended), ended

        async def is_all_there() -> bool:
            found = await records_of(session, cluster.gateway_urls[0])
            outcomes = Counter(
                each["requestId"] for each in found if each.get("requestId") and each["result"] != "intended"
            )
            intended = Counter(each["id"] for each in found if each["result"] == "intended")
            assert set(outcomes.values()) | set(intended.values()) <= {1}
            return set(acts.answered) <= set(outcomes)

        await poll_until(is_all_there, seconds=PATIENCE_S, what="a record of each act")
