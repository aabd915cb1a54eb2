"""A real Prometheus beside a real cluster: every panel of the dashboards shows something, and alerts fire for a fault
and stop with it."""

import asyncio
from pathlib import Path

import pytest

from docs.dashboards import CERTIFICATES, DASHBOARDS
from tests.integration.cluster.gateways import Gateways
from tests.support.impatient_rules import impatient
from tests.support.prometheus_process import BINARY, PrometheusProcess, running_prometheus
from tests.support.real_cluster import RealCluster
from tests.support.waiting import poll_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(BINARY is None, reason="Prometheus (Debian's package prometheus) is not installed"),
]

PATIENCE_S = 90
CHOICES = {"$topic": "watched", "$group": "watchers", "$__rate_interval": "30s"}


def metrics_urls(cluster: RealCluster) -> list[str]:
    return [process.url for process in [*cluster.nodes.values(), *cluster.gateways.values()]]


async def test_every_panel_shows_something(shared_cluster: RealCluster, tmp_path: Path) -> None:
    gateways = Gateways(shared_cluster.gateway_urls)

    def use() -> None:
        """Something of all that dashboards show: sends, receives, failures, messages that are not done."""
        gateways.request("POST", "/messages", {"queue": "watched", "messages": [{"body": n} for n in range(5)]})
        gateways.request("POST", "/messages", {"queue": "watched", "body": 1, "partition": 10_000})
        got = gateways.request("GET", "/messages?queue=watched&group=watchers&max=3").document["messages"]
        for message in got[:2]:
            gateways.request("POST", "/nack", {"receipt": message["receipt"], "delaySeconds": 0})

    await asyncio.to_thread(gateways.request, "PUT", "/topics/watched", {"partitions": 2})
    await asyncio.to_thread(gateways.request, "PUT", "/groups/watchers", {})
    with running_prometheus(tmp_path, metrics_urls(shared_cluster)) as prometheus:
        queries = {
            (board.name, panel.title): as_chosen(panel.query)
            for board in DASHBOARDS
            for panel in board.panels
            if panel.title != CERTIFICATES  # of which a cluster in clear has none; seen in tests/integration/alerts
        }

        async def empty() -> list[tuple[str, str]] | None:
            await asyncio.to_thread(use)
            missing = [
                place for place, query in queries.items() if not await asyncio.to_thread(shows, prometheus, query)
            ]
            queries_left.update(missing=missing)
            return None if missing else [("none", "")]

        queries_left: dict[str, list[tuple[str, str]]] = {}
        try:
            await poll_until(empty, seconds=PATIENCE_S, what="a sample of every panel")
        except AssertionError:
            pytest.fail(f"panels that show nothing: {queries_left}")


def as_chosen(query: str) -> str:
    for variable, value in CHOICES.items():
        query = query.replace(variable, value)
    return query


def shows(prometheus: PrometheusProcess, query: str) -> bool:
    """Whether a panel has anything to draw; NaN is nothing."""
    return any(sample["value"][1] != "NaN" for sample in prometheus.query(query))


@pytest.mark.faults
async def test_alerts_fire_for_a_node_that_is_gone_and_stop_when_it_is_back(
    shared_cluster: RealCluster, tmp_path: Path
) -> None:
    """The rules as they are, but for their patience."""
    cluster = shared_cluster
    gateways = Gateways(cluster.gateway_urls)
    await asyncio.to_thread(gateways.request, "PUT", "/topics/alerted", {"partitions": 4})
    rules = impatient(tmp_path / "alerts.yaml")
    expected = {"AcklogNodeMissing", "AcklogPartitionsUnderReplicated"}
    with running_prometheus(tmp_path / "prometheus", metrics_urls(cluster), rules=rules) as prometheus:

        async def seen() -> bool:
            return bool(prometheus.query("count(acklog_node_info) == 3"))  # who was never seen is not missed

        async def fires() -> bool:
            return expected <= prometheus.firing()

        async def rests() -> bool:
            return not expected & prometheus.firing()

        await poll_until(seen, seconds=PATIENCE_S, what="a scrape of three nodes")
        assert await rests()
        process = cluster.nodes[3]
        await cluster.kill([process])
        try:
            await poll_until(fires, seconds=PATIENCE_S, what=f"{expected} fire")
        finally:
            await process.start()
        await poll_until(rests, seconds=PATIENCE_S, what=f"{expected} are over")
